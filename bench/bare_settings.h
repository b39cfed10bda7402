// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How much a bare transfer keeps under way: what the agent does, unless somebody wants to know what
// else is possible.

#ifndef TENSORHUB_BENCH_BARE_SETTINGS_H_
#define TENSORHUB_BENCH_BARE_SETTINGS_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "worker_agent/core/agent_core.h"

namespace tensorhub::bench {

struct BareSettings {
  uint64_t bytes = 0;
  uint64_t frame_bytes = agent::CoreOptions().frame_bytes;
  uint64_t window_bytes = agent::CoreOptions().window_bytes;
  uint64_t send_ahead_bytes = agent::CoreOptions().send_ahead_bytes;
  std::string ToText() const {
    return absl::StrCat("bytes=", bytes, " frame=", frame_bytes, " window=", window_bytes,
                        " ahead=", send_ahead_bytes);
  }
};

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_BARE_SETTINGS_H_
