// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A hash of everything that the cores of one run want done, in order: the hub's and the agents'
// effects, with what they say and when. Equal hashes of a seed before and after a change show that
// the change moved code, and no decision.

#ifndef TENSORHUB_TESTS_SIM_EFFECT_TRACE_H_
#define TENSORHUB_TESTS_SIM_EFFECT_TRACE_H_

#include <cstdint>

#include "common/time.h"
#include "server/core/effects.h"
#include "worker_agent/core/effects.h"

namespace tensorhub::fault {

class EffectTrace {
 public:
  void Note(TimeMs now, const hub::Effects& effects);
  // Of that process, by its own clock.
  void Note(uint32_t process, TimeMs now, const agent::Effects& effects);
  uint64_t hash() const { return hash_; }

 private:
  uint64_t hash_ = 1;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_EFFECT_TRACE_H_
