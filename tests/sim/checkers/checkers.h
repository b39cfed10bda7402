// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The rules of docs/protocol, each held against what crosses the borders of the cores: one
// checker a rule.

#ifndef TENSORHUB_TESTS_SIM_CHECKERS_CHECKERS_H_
#define TENSORHUB_TESTS_SIM_CHECKERS_CHECKERS_H_

#include "tests/sim/checkers/assignments.h"
#include "tests/sim/checkers/hub_step.h"
#include "tests/sim/checkers/r1_immutable.h"
#include "tests/sim/checkers/r2_visible.h"
#include "tests/sim/checkers/r3_mutable.h"
#include "tests/sim/checkers/r4_not_torn.h"
#include "tests/sim/checkers/r5_replication.h"
#include "tests/sim/checkers/r6_group.h"
#include "tests/sim/checkers/r7_retained.h"
#include "tests/sim/checkers/r8_recovery.h"
#include "tests/sim/checkers/r9_bounded.h"

namespace tensorhub::fault {

class Checkers {
 public:
  // `looks_inside`: the hub's own invariants are looked at, too.
  Checkers(Scene& scene, bool looks_inside)
      : looks_inside_(looks_inside),
        assignments_(scene),
        r1_(scene),
        r2_(scene),
        r3_(scene, assignments_),
        r4_(scene),
        r5_(scene, assignments_),
        r6_(scene),
        r7_(scene),
        r8_(scene),
        r9_(scene) {}

  bool looks_inside() const { return looks_inside_; }

  void OnHubStart() {
    assignments_.OnHubStart();
    r1_.OnHubStart();
    r2_.OnHubStart();
    r3_.OnHubStart();
    r6_.OnHubStart();
    r7_.OnHubStart();
    r8_.OnHubStart();
  }
  // The hub is about to crash.
  void OnHubEnd() { r8_.OnHubEnd(); }
  void BeforeHubStep(const hub::Event& event) {
    r7_.BeforeHubStep(event);
    r8_.BeforeHubStep(event);
  }
  void OnHubStep(const HubStep& step) {
    assignments_.OnHubStep(step);
    r1_.OnHubStep(step);
    r2_.OnHubStep(step);
    r3_.OnHubStep(step);
    r5_.OnHubStep(step);
    r6_.OnHubStep(step);
    r7_.OnHubStep(step);
    r8_.OnHubStep(step);
  }
  void OnWord(const Process& process, ControlWord before) { r4_.OnWord(process, before); }
  void OnFrame(const Process& from, const Process& to, const std::string& header) {
    r9_.OnFrame(from, to, header);
  }
  void OnVerbDone(const Process& process, const agent::VerbDone& done) {
    r1_.OnVerbDone(process, done);
    r4_.OnVerbDone(process, done);
  }

  // About once a second.
  void OnSecond() { r8_.CheckVerbsEnd(); }
  void CheckSettled() {
    r7_.CheckSettled();
    r8_.CheckSettled();
    r9_.CheckSettled();
  }
  void CheckEmpty() { r9_.CheckEmpty(); }

 private:
  const bool looks_inside_;
  Assignments assignments_;
  R1Immutable r1_;
  R2Visible r2_;
  R3Mutable r3_;
  R4NotTorn r4_;
  R5Replication r5_;
  R6Group r6_;
  R7Retained r7_;
  R8Recovery r8_;
  R9Bounded r9_;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_CHECKERS_CHECKERS_H_
