// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R2: which processes a group consists of. A version is whole only within one group epoch. What is
// published belongs to the epoch in which the hub heard of it, and goes with it unless it has
// become visible. Workers are told the epochs and report them, so that they survive the hub.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/state.h"

namespace tensorhub::hub {

// One that is unknown to this life, and knows no earlier one, has started anew: where the group was
// there before, it may have replaced one that this life has not seen. The ranks of a group that is
// new come one after the other, and belong together.
void Hub::State::JoinEpoch(const SessionOpened& event, bool unknown) {
  const WorkerKey& key = event.worker.key;
  Group& group = GroupOf(key);
  group.is_older |= unknown && event.resumed;
  const bool begins = unknown && !event.resumed;
  const bool anew = begins && (group.is_older || group.epoch.life < options_.life);
  const std::string who = anew ? ToString(key) : absl::StrCat("another rank of ", key.group);
  RaiseEpoch({key.model, key.group}, anew ? NewEpoch() : TellsOf(event),
             absl::AbortedError(absl::StrCat(who, " started anew")));
}

// The number of its first word to any life: the group's at that time. A rank's next process raises
// it, or comes to a life that is later than all of them.
GroupEpoch Hub::State::CameIn(const SessionOpened& event) {
  const WorkerKey& key = event.worker.key;
  return event.resumed ? Known(key, event.came_in) : GroupOf(key).epoch;
}

// The group's, when it came or when it published. That it published in a life says nothing of the
// group's.
GroupEpoch Hub::State::TellsOf(const SessionOpened& event) {
  const WorkerKey& key = event.worker.key;
  const GroupEpoch came = Known(key, event.epoch);
  if (!event.holding || event.holding->epoch.count == 0) return came;
  return std::max(came, Known(key, event.holding->epoch));
}

// R9: of this life counts only what was told this group, and there is no later one.
GroupEpoch Hub::State::Known(const WorkerKey& key, GroupEpoch reported) {
  const bool told = reported.life < options_.life || reported <= GroupOf(key).epoch;
  return told ? reported : GroupEpoch{};
}

// What is published in this life is later than whatever the group tells of earlier ones, and
// earlier than whatever this one makes.
GroupEpoch Hub::State::EpochOfPublish(const WorkerKey& key) {
  return std::max(GroupOf(key).epoch, GroupEpoch{options_.life, 0});
}

void Hub::State::RaiseEpoch(const GroupKey& group, GroupEpoch to, const absl::Status& reason) {
  GroupEpoch& epoch = groups_[group].epoch;
  if (to <= epoch) return;
  epoch = to;
  ForEachLive(group, [&](Worker& worker) { EndUnfinished(worker, to, reason); });
}

// At the end of a recovery. The rank that started anew last comes back with the number that it was
// given. If nobody has, that rank's older process may be here, or be on its way, and must not
// complete what the others published beside its successor. What waits is published only now.
void Hub::State::RaiseIfNobodyBroughtIt(const GroupKey& key, const Group& group) {
  if (group.epoch == GroupEpoch{} || group.epoch.life == options_.life) return;
  bool brought = false;
  ForEachLive(key, [&](const Worker& worker) { brought |= worker.came_in == group.epoch; });
  if (brought) return;
  const GroupEpoch to = NewEpoch();
  ForEachLive(key, [&](Worker& worker) { worker.op.epoch = to; });
  RaiseEpoch(key, to,
             absl::AbortedError(absl::StrCat("the rank of ", key.group,
                                             " that started anew last did not come back after "
                                             "the server's restart; publish again")));
}

// Of an earlier epoch than that.
void Hub::State::EndUnfinished(Worker& worker, GroupEpoch epoch, const absl::Status& reason) {
  const bool publishing = worker.reference &&
                          worker.reference->state == ReferenceState::kPublishing &&
                          worker.reference->epoch < epoch;
  const bool pending = IsPending(worker, OpKind::kPublish);
  const bool waits = pending && worker.op.deferred && worker.op.epoch < epoch;
  if (publishing) Send(worker, Dropped{worker.reference->generation, reason});
  if (pending && (publishing || waits)) Finish(worker, reason);
  if (!publishing) return;
  // The worker frees its buffers when it hears of that; a publish of them that it sent before, or
  // repeats, must not list them.
  worker.generation = std::max(worker.generation, worker.reference->generation + 1);
  RemoveReference(worker);
}

// This worker may not have heard that what it published is over. After the grace, whoever reports
// such a thing has been away for longer than its reference stood.
bool Hub::State::IsOfEarlierEpoch(const Worker& worker, const Holding& holding) {
  const Model& model = models_.at(worker.id.key.model);
  const auto visible = model.visible.find(holding.version);
  const bool was_visible = visible != model.visible.end() && visible->second == holding.publication;
  if (!holding.published || holding.visible || was_visible) return false;
  const WorkerKey& key = worker.id.key;
  return !recovering_ || Known(key, holding.epoch) < GroupOf(key).epoch;
}

}  // namespace tensorhub::hub
