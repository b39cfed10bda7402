// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/checkers/r6_group.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "common/remedy.h"
#include "tests/sim/process.h"

namespace tensorhub::fault {

// Transactions are not durable: what a restarted hub makes of one rests on what its ranks report.
void R6Group::OnHubStart() {
  for (auto& [id, transaction] : transactions_) transaction.of_this_life = false;
}

void R6Group::OnHubStep(const HubStep& step) {
  if (const auto* finish = std::get_if<hub::FinishReadOp>(&step.event)) {
    OnFinish(*step.from, *finish);
  }
  // All ranks are told their decision in one event.
  for (const hub::Effect& effect : step.effects) {
    const auto* reply = std::get_if<hub::Reply>(&effect);
    if (reply == nullptr) continue;
    const CallRecord& record = scene_.hub->call(reply->call);
    if (const auto* decision = std::get_if<hub::FetchDecision>(&reply->payload)) {
      OnDecided(record, *decision);
    } else if (std::holds_alternative<hub::FinishReadReply>(reply->payload)) {
      OnOutcome(record, reply->status);
    }
  }
}

void R6Group::OnFinish(const Process& from, const hub::FinishReadOp& finish) {
  const auto found = transactions_.find(finish.transaction);
  if (found == transactions_.end() || !finish.result.ok()) return;
  const auto member = found->second.members.find(from.identity().key.rank);
  const bool is_member =
      member == found->second.members.end() || member->second == from.identity().incarnation;
  if (is_member) found->second.finished.insert(from.identity().key.rank);
}

void R6Group::OnDecided(const CallRecord& record, const hub::FetchDecision& decision) {
  const WorkerIdentity& rank = record.process->identity();
  Transaction& transaction = transactions_[decision.transaction];
  if (transaction.members.empty()) {
    transaction.publication = decision.publication;
    transaction.group = rank.key.group;
  }
  if (transaction.publication != decision.publication || transaction.group != rank.key.group) {
    scene_.Fail("R6", absl::StrCat("the ranks of ", rank.key.group,
                                   " were given different versions in one fetch"));
  }
  transaction.members[rank.key.rank] = rank.incarnation;
}

void R6Group::OnOutcome(const CallRecord& record, const absl::Status& status) {
  const auto found = transactions_.find(record.transaction);
  if (found == transactions_.end() || !found->second.of_this_life) return;
  // Of a call that arrives late, when the fetch was acknowledged and is forgotten; or forgotten
  // because too many workers are dead.
  if (!record.process->link().Awaits(record.op) || absl::IsUnknown(status)) return;
  Transaction& transaction = found->second;
  const std::string& group = transaction.group;
  if (transaction.succeeded && *transaction.succeeded != status.ok()) {
    scene_.Fail("R6", absl::StrCat("a fetch of ", group, " succeeded for one rank and failed for ",
                                   record.process->name(), ": ", status.ToString()));
  }
  transaction.succeeded = status.ok();
  const bool outage = IsOutage(status);
  if (!status.ok() && transaction.outage.value_or(outage) != outage) {
    scene_.Fail("R6", absl::StrCat("a fetch of ", group, " ended by an outage for some ranks, and ",
                                   record.process->name(), " heard: ", status.ToString()));
  }
  if (!status.ok()) transaction.outage = outage;
  if (status.ok() && transaction.finished.size() < record.process->world_size()) {
    scene_.Fail("R6", absl::StrCat("a fetch of ", group, " succeeded, and only ",
                                   transaction.finished.size(), " ranks had finished"));
  }
}

}  // namespace tensorhub::fault
