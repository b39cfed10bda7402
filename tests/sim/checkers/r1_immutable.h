// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R1: one publication behind a number while somebody holds it, one content behind a publication.

#ifndef TENSORHUB_TESTS_SIM_CHECKERS_R1_IMMUTABLE_H_
#define TENSORHUB_TESTS_SIM_CHECKERS_R1_IMMUTABLE_H_

#include <map>
#include <string>

#include "tests/sim/checkers/hub_step.h"
#include "tests/sim/hub_node.h"

namespace tensorhub::fault {

class R1Immutable {
 public:
  explicit R1Immutable(Scene& scene) : scene_(scene) {}
  void OnHubStart() { holders_.clear(); }
  void OnHubStep(const HubStep& step);
  void OnVerbDone(const Process& process, const agent::VerbDone& done);

 private:
  // Whom the hub has told that its reference stands, and who has said nothing else since.
  struct Holder {
    Contents::Number number;
    PublicationId publication;
    TermNumber term = 0;
    bool visible = true;
  };
  void Forget(const Process* process);
  void ForgetDropped(const hub::Effect& effect);
  void CheckAlike(const Process& process, const PublicationId& visible);
  void ForgetTheDead();
  void OnEvent(const HubStep& step);
  void OnPublished(const CallRecord& record, const hub::PublishReply& reply);
  void OnDecided(const CallRecord& record, const hub::FetchDecision& decision);
  void OnFetched(const CallRecord& record, const hub::FinishReadReply& reply);
  void Learn(const Contents::Number& number, const PublicationId& id);

  Scene& scene_;
  std::map<uint32_t, Holder> holders_;  // by process
  std::map<uint32_t, Holder> decided_;  // likewise: what it fetches
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_CHECKERS_R1_IMMUTABLE_H_
