// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How much of a message a receiver lets come in advance. Header only, so that common links no gRPC.

#ifndef TENSORHUB_COMMON_GRPC_FLOW_CONTROL_H_
#define TENSORHUB_COMMON_GRPC_FLOW_CONTROL_H_

#include <grpc/grpc.h>

namespace tensorhub {

// `set(name, value)` sets an argument of a channel or server. Each receiver of large messages needs
// them: gRPC 1.51 measures the bandwidth to size its window, and once in a while forgets to tell
// the sender, who then waits for the next keepalive ping, 10 s later.
template <typename Set>
void SetFlowControl(const Set& set) {
  set(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // Instead of what would have been measured: 4 MiB fill a gigabit link 30 ms long.
  set(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 4 << 20);
}

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_GRPC_FLOW_CONTROL_H_
