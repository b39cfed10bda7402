// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How the two ends of a connection with the hub find out that the other's host has vanished. Header
// only, so that common links no gRPC.

#ifndef TENSORHUB_COMMON_GRPC_KEEPALIVE_H_
#define TENSORHUB_COMMON_GRPC_KEEPALIVE_H_

#include <grpc/grpc.h>

namespace tensorhub {

// `set(name, value)` sets an argument of a channel or server. Who is cut off shows after 15 s at
// the latest. The server tolerates a ping per 5 s (rpc_server.cc), which has to stay below this.
template <typename Set>
void SetKeepalive(const Set& set) {
  set(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
}

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_GRPC_KEEPALIVE_H_
