// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a process keeps in host memory of what its worker was the last to hold (R7): worker_agent's
// host_copies.cc, without its threads. A copy is a worker of its own, whose owner this is; here it
// has a Process of its own, which dies with the one that keeps it.

#ifndef TENSORHUB_TESTS_SIM_COPIES_H_
#define TENSORHUB_TESTS_SIM_COPIES_H_

#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "tests/sim/place.h"
#include "tests/sim/scene.h"

namespace tensorhub::fault {

class Copies {
 public:
  // Of `keeper`, which lives at `place`; place.copies at a time.
  Copies(Scene& scene, const Place& place, Process& keeper)
      : scene_(scene), place_(place), keeper_(keeper) {}

  void Make(VersionNumber version, TimeMs within_ms);
  // All leave together, but those that nobody wants: they go at once.
  void Leave(TimeMs drain_ms, const Action& done);
  void Kill(bool told);
  std::vector<Process*> running() const;
  bool making() const { return making_ || !to_make_.empty(); }

 private:
  struct Copy {
    Process* process = nullptr;
    bool released = false;
    bool release_again = false;  // said while it was being given up
  };

  void MakeNext();
  void Begin(VersionNumber version, Nanos deadline);
  void Connect(VersionNumber version, Nanos deadline);
  void Fetch(VersionNumber version, Nanos deadline);
  void Made(VersionNumber version, const absl::Status& status);
  bool Has(VersionNumber version) const;
  void Release(VersionNumber version, Process& process);
  void GiveUp(VersionNumber version, Process& process);
  void Leave(Process& process, TimeMs drain_ms, const Action& done);
  void LeaveWhenIdle(Process& process, TimeMs drain_ms, const Action& done);
  void Drop(Process& process, bool told);

  Scene& scene_;
  const Place& place_;
  Process& keeper_;
  std::deque<Place> places_;
  std::map<VersionNumber, Nanos> to_make_;  // until then
  bool making_ = false;
  bool leaving_ = false;
  std::map<VersionNumber, Copy> copies_;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_COPIES_H_
