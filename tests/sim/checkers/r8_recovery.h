// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R8: `latest` goes down only in a new term; every verb ends within its bound; and once everything
// is healed and has had its time, the hub lists what the living hold, and nothing else.

#ifndef TENSORHUB_TESTS_SIM_CHECKERS_R8_RECOVERY_H_
#define TENSORHUB_TESTS_SIM_CHECKERS_R8_RECOVERY_H_

#include <map>
#include <set>
#include <string>

#include "tests/sim/checkers/hub_step.h"
#include "tests/sim/hub_node.h"

namespace tensorhub::fault {

class R8Recovery {
 public:
  explicit R8Recovery(Scene& scene) : scene_(scene) {}
  void OnHubStart();
  void OnHubEnd();
  void BeforeHubStep(const hub::Event& event);
  void OnHubStep(const HubStep& step);
  // About once a second.
  void CheckVerbsEnd();
  // Nothing is under way, and nothing has gone wrong for longer than a lease and a grace.
  void CheckSettled();

 private:
  void OnVisible(const CallRecord& record);
  void OnAsked(const HubStep& step);
  void OnLatest(const CallRecord& record, VersionNumber version);
  void OnReported(const HubStep& step, const hub::SessionOpened& opened);
  void OnComes(const HubStep& step, const hub::SessionOpened& opened);
  void OnRecovers(const HubStep& step);
  bool SpeaksFor(const Process& comer, const hub::SessionOpened& opened, Incarnation awaited);
  void CheckListed(const Process& process);

  Scene& scene_;
  // By model: a new term with this version was asked for, and when last. Its publisher may never
  // hear that it began.
  std::map<std::string, std::map<VersionNumber, Nanos>> supersedes_;
  // By model: the mark, as durable as the hub's rows. A hub without any knows what is reported.
  std::map<std::string, VersionNumber> latest_;
  // By process, of its newest fetch: the mark when the hub first heard it. What is answered later,
  // to a repetition say, may have been decided then.
  struct Asked {
    OpId op = 0;
    VersionNumber latest = 0;
  };
  std::map<uint32_t, Asked> asked_;
  // By process: how many had come anew before it did.
  std::map<uint32_t, uint64_t> came_;
  std::set<uint32_t> adopted_;  // that ever asked to be
  uint64_t comers_ = 0;
  std::map<WorkerKey, uint64_t> newest_;  // of those that came in this life of the hub
  // Who was there when the hub ended and has not come to its present life, while absence proves
  // nothing there: for a lease, or until all of them have come.
  std::map<WorkerKey, Incarnation> awaited_;
  TimeMs grace_end_ = 0;  // of the hub's clock
  // Who has the place, within its lease, that somebody comes to in this step; 0: nobody.
  Incarnation there_ = 0;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_CHECKERS_R8_RECOVERY_H_
