// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// `tensorhub-sim trace`: a hash of all effects of the cores, seed by seed, to hold one build
// against another.

#ifndef TENSORHUB_TOOLS_SIM_TRACE_H_
#define TENSORHUB_TOOLS_SIM_TRACE_H_

#include <cstdint>
#include <ostream>

#include "absl/status/status.h"
#include "common/cli/flags.h"

namespace tensorhub::sim {

class TraceVerb {
 public:
  // Before parsing; the flags' targets are members.
  void AddFlags(cli::Command& command);
  // One line per seed. INVALID_ARGUMENT: the flags; DATA_LOSS: a rule was broken.
  absl::Status Run(std::ostream& out) const;

 private:
  uint64_t seed_ = 1;
  uint64_t seeds_ = 40;
  double seconds_ = 600;
};

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_TRACE_H_
