// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with many things at once: an error names the first ten and counts the rest.

#ifndef TENSORHUB_COMMON_REFUSALS_H_
#define TENSORHUB_COMMON_REFUSALS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace tensorhub {

class Refusals {
 public:
  static constexpr size_t kNamedMax = 10;

  // 'tensor "w" is of F32 here': the thing, quoted as Shown() does, and what is wrong with it.
  void Add(std::string_view tensor, const std::string& why);
  bool empty() const { return count_ == 0; }
  // "HEAD: FIRST; SECOND; and 7 more; REMEDY", or OK if there is nothing.
  absl::Status ToStatus(absl::StatusCode code, std::string_view head,
                        std::string_view remedy) const;

 private:
  std::vector<std::string> named_;
  size_t count_ = 0;
};

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_REFUSALS_H_
