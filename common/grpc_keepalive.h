// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How the two ends of a connection with the hub find out that the other's host has vanished. Header
// only, so that common links no gRPC.

#ifndef TENSORHUB_COMMON_GRPC_KEEPALIVE_H_
#define TENSORHUB_COMMON_GRPC_KEEPALIVE_H_

#include <grpc/grpc.h>

namespace tensorhub {

// What a link that is not known yet may take to answer: a fast one always does within.
constexpr int kAnswerMs = 5'000;
// What the longest may: a round trip of 5 s, behind a queue of 6 s, and one segment lost.
constexpr int kLongestAnswerMs = 60'000;

// `set(name, value)` sets an argument of a channel or server. Who is cut off shows after 10 s and
// `answer_ms`, or, if bytes were under way, after `answer_ms`: gRPC has the kernel give a
// connection up whose bytes are not acknowledged for so long, also one that only begins. The server
// tolerates a ping per 5 s (rpc_server.cc), which has to stay below this.
template <typename Set>
void SetKeepalive(const Set& set, int answer_ms) {
  set(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, answer_ms);
  set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
}

// An attempt to connect takes two round trips, and more with TLS. gRPC gives it no less time than
// the pause between attempts.
template <typename Set>
void SetConnecting(const Set& set, int answer_ms) {
  set(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  set(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 4 * answer_ms);
}

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_GRPC_KEEPALIVE_H_
