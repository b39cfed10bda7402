// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Makes the plan's faults happen, and heals what they did.

#ifndef TENSORHUB_TESTS_SIM_NEMESIS_H_
#define TENSORHUB_TESTS_SIM_NEMESIS_H_

#include <memory>
#include <vector>

#include "tests/sim/group.h"
#include "tests/sim/scene.h"

namespace tensorhub::fault {

class Nemesis {
 public:
  Nemesis(Scene& scene, const std::vector<std::unique_ptr<Group>>& groups)
      : scene_(scene), groups_(groups) {}

  void Start();
  // Everything runs, reaches everything, and is as fast as it can.
  void Heal();

 private:
  using Fault = void (Nemesis::*)();
  void Every(Nanos mean, Fault fault);
  Process* AnyLive();
  // `end` happens later, if nothing was healed before.
  void Later(Nanos after, Action end);

  void BreakSession();
  void CutFromHub();
  void CutFromHub(Process& process);
  void BreakPeers();
  void CutFromPeer();
  void CrashWorker();
  void SupplantWorker();
  void CrashHub();
  void StormHub();
  void RestartHub(uint64_t times);
  void StopWorker();
  void StopHub();
  void JumpClock();
  void DrainWorker();
  void SendStranger();
  void RotMemory();

  Scene& scene_;
  const std::vector<std::unique_ptr<Group>>& groups_;
  uint64_t round_ = 0;  // raised by every start and heal
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_NEMESIS_H_
