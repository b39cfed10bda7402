// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// HOST:PORT, as who listens is told it.

#ifndef TENSORHUB_COMMON_LISTEN_ADDRESS_H_
#define TENSORHUB_COMMON_LISTEN_ADDRESS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tensorhub {

struct ListenAddress {
  std::string host;  // without brackets
  uint16_t port = 0;

  // "0.0.0.0:7070", "[::1]:0", "localhost:7070". INVALID_ARGUMENT otherwise.
  static absl::StatusOr<ListenAddress> Parse(std::string_view text);
  std::string ToString() const;  // with brackets where needed
  bool operator==(const ListenAddress&) const = default;
};

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_LISTEN_ADDRESS_H_
