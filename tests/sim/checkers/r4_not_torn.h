// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R4: a generation is raised before the first byte changes and never used again; within one the
// count never falls; what it counts is, cell for cell, the publication's content.

#ifndef TENSORHUB_TESTS_SIM_CHECKERS_R4_NOT_TORN_H_
#define TENSORHUB_TESTS_SIM_CHECKERS_R4_NOT_TORN_H_

#include "common/ids.h"
#include "tests/sim/scene.h"
#include "worker_agent/core/effects.h"

namespace tensorhub::fault {

class R4NotTorn {
 public:
  explicit R4NotTorn(Scene& scene) : scene_(scene) {}
  // The control word was stored.
  void OnWord(const Process& process, ControlWord before);
  void OnVerbDone(const Process& process, const agent::VerbDone& done);

 private:
  Scene& scene_;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_CHECKERS_R4_NOT_TORN_H_
