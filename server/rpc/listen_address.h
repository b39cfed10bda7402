// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// HOST:PORT, and why one cannot listen there. gRPC only says that it failed, in log lines of its
// own; so this is tried out before gRPC is asked.

#ifndef TENSORHUB_SERVER_RPC_LISTEN_ADDRESS_H_
#define TENSORHUB_SERVER_RPC_LISTEN_ADDRESS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tensorhub::rpc {

struct ListenAddress {
  std::string host;  // without brackets
  uint16_t port = 0;

  // "0.0.0.0:7070", "[::1]:0", "localhost:7070". INVALID_ARGUMENT otherwise.
  static absl::StatusOr<ListenAddress> Parse(std::string_view text);
  std::string ToString() const;  // with brackets where needed
  bool operator==(const ListenAddress&) const = default;
};

// Binds to each address that the host name stands for, and lets go again. UNAVAILABLE, in one line
// that names address, reason and remedy, if one of them is taken or none can be had.
absl::Status TryToListen(const ListenAddress& address);

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_LISTEN_ADDRESS_H_
