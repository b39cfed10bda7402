// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/world.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace tensorhub::sim {

void World::At(Nanos time, Action action) {
  TH_CHECK(time >= now_);
  actions_.Push(time, std::move(action));
}

void World::Note(uint64_t fact) {
  constexpr uint64_t kPrime = 0x100000001b3u;  // FNV-1a, by words
  trace_ = (trace_ ^ fact) * kPrime;
  trace_ = (trace_ ^ static_cast<uint64_t>(now_)) * kPrime;
}

// In one instant the network's part comes first, then the actions, then what these did to it.
void World::Run(Nanos end, const std::function<bool()>& done) {
  while (!done()) {
    const std::optional<Nanos> flows = network_.NextTime();
    const std::optional<Nanos> action = actions_.NextTime();
    if (!flows && !action) return;
    const Nanos next = std::min(flows.value_or(INT64_MAX), action.value_or(INT64_MAX));
    if (next > end) return;
    now_ = next;
    whole_.clear();
    network_.Advance(now_, whole_);
    for (const FillId fill : whole_) {
      Note(fill);
      if (on_whole_) on_whole_(fill);
    }
    while (actions_.NextTime() == now_) actions_.Pop().second();
  }
}

}  // namespace tensorhub::sim
