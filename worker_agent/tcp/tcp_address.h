// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where a worker takes connections over TCP, and who answers there.

#ifndef TENSORHUB_WORKER_AGENT_TCP_TCP_ADDRESS_H_
#define TENSORHUB_WORKER_AGENT_TCP_TCP_ADDRESS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tensorhub::agent {

// Random bytes, other ones for each transport of each process: they tell two workers apart that
// have one address, at the same time or one after the other. Only whom the hub tells an address
// knows them, so that nobody else is let in.
inline constexpr size_t kIdentityBytes = 16;

struct TcpAddress {
  std::string identity;
  std::string host;  // 4 or 16 bytes, as they travel
  uint16_t port = 0;
  bool operator==(const TcpAddress&) const = default;
};

std::string NewIdentity();

std::string Encode(const TcpAddress& address);
// INVALID_ARGUMENT: not what Encode makes.
absl::StatusOr<TcpAddress> DecodeTcpAddress(std::string_view bytes);

// "10.0.3.7:7100", "[fd00::1]:7100".
std::string TextOf(const TcpAddress& address);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_TCP_TCP_ADDRESS_H_
