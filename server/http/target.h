// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The target of a request, R9: path and query come from whoever reaches the port.

#ifndef TENSORHUB_SERVER_HTTP_TARGET_H_
#define TENSORHUB_SERVER_HTTP_TARGET_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tensorhub::http {

// Without the escapes of percent; INVALID_ARGUMENT for one that is none. `plus_is_space`: in
// queries.
absl::StatusOr<std::string> Unescaped(std::string_view text, bool plus_is_space);

// The part of a target before the '?', and behind it.
std::string_view PathOf(std::string_view target);
std::string_view QueryOf(std::string_view target);

// The parameters of a query.
class Parameters {
 public:
  // INVALID_ARGUMENT for one that is not `known`, that comes twice, or that cannot be read.
  static absl::StatusOr<Parameters> Parse(std::string_view query,
                                          const std::vector<std::string>& known);

  std::optional<std::string> Text(const std::string& name) const;
  // None if it is left out; INVALID_ARGUMENT if it is not a number from `least` to `most`.
  absl::StatusOr<std::optional<uint64_t>> Number(const std::string& name, uint64_t least,
                                                 uint64_t most) const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace tensorhub::http

#endif  // TENSORHUB_SERVER_HTTP_TARGET_H_
