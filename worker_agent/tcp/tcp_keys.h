// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// By what an event of TcpMessages tells whose it is; connections are counted from there on.

#ifndef TENSORHUB_WORKER_AGENT_TCP_TCP_KEYS_H_
#define TENSORHUB_WORKER_AGENT_TCP_TCP_KEYS_H_

#include <cstdint>

namespace tensorhub::agent {

inline constexpr uint64_t kListenerKey = 1;
inline constexpr uint64_t kAlarmKey = 2;

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_TCP_TCP_KEYS_H_
