// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// `tensorhub-sim replay`: what a server recorded (`tensorhub-server --record`), applied to the same
// core again. Every effect has to be what it was then; `--at` stops on the way and shows the state.

#ifndef TENSORHUB_TOOLS_SIM_REPLAY_H_
#define TENSORHUB_TOOLS_SIM_REPLAY_H_

#include <chrono>
#include <optional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "common/cli/flags.h"

namespace tensorhub::sim {

class ReplayVerb {
 public:
  // Before parsing; the flags' targets are members.
  void AddFlags(cli::Command& command);
  // INVALID_ARGUMENT: the flags, or no such record. DATA_LOSS: the first step that is damaged, or
  // of which something else came than then.
  absl::Status Run(bool json, std::ostream& out) const;

 private:
  std::string file_;
  std::optional<std::chrono::milliseconds> at_;
};

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_REPLAY_H_
