// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One simulated world: its clock, what is to happen in it, and its network. A run depends on what
// is put in and on nothing else; `trace` proves it.

#ifndef TENSORHUB_TOOLS_SIM_WORLD_H_
#define TENSORHUB_TOOLS_SIM_WORLD_H_

#include <functional>
#include <vector>

#include "tools/sim/event_queue.h"
#include "tools/sim/fill_network.h"

namespace tensorhub::sim {

class World {
 public:
  using Action = std::function<void()>;

  // As FillNetwork's.
  explicit World(double ahead_bytes = 0) : network_(ahead_bytes) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Nanos now() const { return now_; }
  FillNetwork& network() { return network_; }

  // Not before now.
  void At(Nanos time, Action action);
  void After(Nanos delay, Action action) { At(now_ + delay, std::move(action)); }
  // Called once for each fill that becomes whole.
  void OnWhole(std::function<void(FillId)> action) { on_whole_ = std::move(action); }

  // Until nothing is left to happen, `done` says so (asked after each instant), or `end` is past.
  void Run(Nanos end, const std::function<bool()>& done);

  // Mixes a fact into the trace; two runs alike have equal ones.
  void Note(uint64_t fact);
  uint64_t trace() const { return trace_; }

 private:
  Nanos now_ = 0;
  EventQueue<Action> actions_;
  FillNetwork network_;
  std::function<void(FillId)> on_whole_;
  std::vector<FillId> whole_;
  uint64_t trace_ = 0xcbf29ce484222325u;
};

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_WORLD_H_
