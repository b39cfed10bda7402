// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/effect_trace.h"

#include "common/structural_hash.h"

namespace tensorhub::fault {

void EffectTrace::Note(TimeMs now, const hub::Effects& effects) {
  hash_ = Mix(Mix(hash_, static_cast<uint64_t>(now)), StructuralHash(effects));
}

void EffectTrace::Note(uint32_t process, TimeMs now, const agent::Effects& effects) {
  hash_ = Mix(Mix(hash_ + process, static_cast<uint64_t>(now)), StructuralHash(effects));
}

}  // namespace tensorhub::fault
