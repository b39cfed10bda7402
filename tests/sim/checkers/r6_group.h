// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R6: a group's fetch is one transaction: one version for all ranks, and one outcome, which is a
// success only if every rank has finished. All ranks hear alike whether to wait an outage out. That
// a success means whole buffers is checked with R4.

#ifndef TENSORHUB_TESTS_SIM_CHECKERS_R6_GROUP_H_
#define TENSORHUB_TESTS_SIM_CHECKERS_R6_GROUP_H_

#include <map>
#include <optional>
#include <set>

#include "tests/sim/checkers/hub_step.h"
#include "tests/sim/hub_node.h"

namespace tensorhub::fault {

class R6Group {
 public:
  explicit R6Group(Scene& scene) : scene_(scene) {}
  void OnHubStart();
  void OnHubStep(const HubStep& step);

 private:
  struct Transaction {
    PublicationId publication;
    std::string group;
    std::map<Rank, Incarnation> members;
    std::set<Rank> finished;  // said so
    std::optional<bool> succeeded;
    std::optional<bool> outage;  // of a failure (R8)
    bool of_this_life = true;
  };
  void OnFinish(const Process& from, const hub::FinishReadOp& finish);
  void OnDecided(const CallRecord& record, const hub::FetchDecision& decision);
  void OnOutcome(const CallRecord& record, const absl::Status& status);

  Scene& scene_;
  std::map<TransactionId, Transaction> transactions_;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_CHECKERS_R6_GROUP_H_
