// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R2: which processes a group consists of. A version is whole only within one group epoch. What is
// published belongs to the epoch in which the hub recorded it, and goes with it unless it has
// become visible. Workers are told the epochs and report them, so that they survive the hub.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/state.h"

namespace tensorhub::hub {

// Before the worker is listed as there. An epoch ends when the group's processes are others: one
// has replaced another, or is new where the group was there before, or comes (back) from another
// epoch. The ranks of a group that is new come one after the other, and belong together.
void Hub::State::JoinEpoch(Worker& worker, const SessionOpened& event, bool replaces) {
  if (worker.alive) return;
  const WorkerKey& key = event.worker.key;
  const GroupKey name{key.model, key.group};
  Group& group = GroupOf(key);
  const bool unseen = worker.number == 0;  // by this life
  const bool fresh = unseen && !event.resumed;
  const GroupEpoch told = unseen ? ReportedEpoch(event) : worker.epoch_known;
  group.is_older |= unseen && event.resumed;
  const bool older = replaces || group.is_older || group.epoch.hub_epoch < options_.hub_epoch;
  const bool anew = fresh && older;
  // This hub has seen all that became of the group since, and ended what was unfinished.
  const bool followed = !unseen && told.hub_epoch == options_.hub_epoch;
  // Whether it belongs to those who are there shows at the end of a recovery (SettleEpoch). That it
  // replaces another process, which may have left by then, does not.
  const bool unknown = !recovering_ && IsFromUnknownEpoch(name, told);
  const bool strange = !fresh && !followed && (replaces || unknown);
  if (anew) BeginEpoch(name, NewEpoch(), absl::StrCat(ToString(key), " started anew"));
  if (strange) {
    BeginEpoch(name, NewEpoch(), absl::StrCat(ToString(key), " came back from another epoch"));
  }
  RaiseEpoch(name, told, absl::StrCat("another rank of ", key.group, " started anew"));
  worker.epoch_known = fresh || !recovering_ ? group.epoch : told;
}

// Whether nothing says that it belongs to those who are there. Where nobody is, it brings a higher
// number along.
bool Hub::State::IsFromUnknownEpoch(const GroupKey& group, GroupEpoch told) {
  bool alone = true;
  ForEachLive(group, [&](const Worker&) { alone = false; });
  const GroupEpoch epoch = groups_.at(group).epoch;
  return told == GroupEpoch{} || told < epoch || (told != epoch && !alone);
}

// The number of its first word to any life: the group's at that time. A rank's next process raises
// it, or comes to a life that is later than all of them.
GroupEpoch Hub::State::JoinedEpoch(const SessionOpened& event) {
  const WorkerKey& key = event.worker.key;
  return event.resumed ? Known(key, event.joined_epoch) : GroupOf(key).epoch;
}

// The group's, when it came or when it published. That it published in a life says nothing of the
// group's.
GroupEpoch Hub::State::ReportedEpoch(const SessionOpened& event) {
  const WorkerKey& key = event.worker.key;
  const GroupEpoch came = Known(key, event.epoch);
  if (!event.holding || event.holding->epoch.count == 0) return came;
  return std::max(came, Known(key, event.holding->epoch));
}

// R9: of this life counts only what was told this group, and there is no later one.
GroupEpoch Hub::State::Known(const WorkerKey& key, GroupEpoch reported) {
  const bool told = reported.hub_epoch < options_.hub_epoch || reported <= GroupOf(key).epoch;
  return told ? reported : GroupEpoch{};
}

// What is published in this life is later than whatever the group tells of earlier ones, and
// earlier than whatever this one makes.
GroupEpoch Hub::State::EpochOfPublish(const WorkerKey& key) {
  return std::max(GroupOf(key).epoch, GroupEpoch{options_.hub_epoch, 0});
}

void Hub::State::RaiseEpoch(const GroupKey& group, GroupEpoch to, const std::string& why) {
  GroupEpoch& epoch = groups_[group].epoch;
  if (to <= epoch) return;
  epoch = to;
  ForEachLive(group, [&](Worker& worker) { EndUnfinished(worker, to, absl::AbortedError(why)); });
}

// Processes that are there are in the new epoch.
void Hub::State::BeginEpoch(const GroupKey& group, GroupEpoch epoch, const std::string& why) {
  RaiseEpoch(group, epoch, why);
  ForEachLive(group, [&](Worker& worker) {
    worker.epoch_known = epoch;
    if (!worker.epoch_sent_this_heartbeat) TellEpoch(worker);
  });
}

// When all ranks of a large group start anew, one after the other, each is told once per heartbeat.
void Hub::State::TellEpoch(Worker& worker) {
  worker.epoch_sent_this_heartbeat = worker.epoch_sent != worker.epoch_known;
  if (!worker.epoch_sent_this_heartbeat) return;
  worker.epoch_sent = worker.epoch_known;
  Send(worker, GroupChanged{worker.epoch_known});
}

bool Hub::State::AllWereTold(const GroupKey& group) {
  const GroupEpoch epoch = groups_.at(group).epoch;
  bool all = true;
  ForEachLive(group, [&](const Worker& worker) {
    all &= worker.epoch_known == epoch && worker.epoch_known != GroupEpoch{};
  });
  return all;
}

// At the end of a recovery. Who is in the group's latest epoch has been told so. One that has not
// may have been replaced before the restart, and must not complete what the others published beside
// its successor. What waits is published only now.
void Hub::State::SettleEpoch(const GroupKey& group) {
  if (AllWereTold(group)) return;
  const GroupEpoch epoch = NewEpoch();
  ForEachLive(group, [&](Worker& worker) { worker.op.epoch = epoch; });
  BeginEpoch(group, epoch,
             absl::StrCat("not every rank of ", group.group,
                          " that is here after the server's restart is known to have been",
                          " in the group before; publish again"));
}

// Ends what the worker has unfinished of an earlier epoch than that.
void Hub::State::EndUnfinished(Worker& worker, GroupEpoch epoch, const absl::Status& reason) {
  const bool publishing = worker.reference &&
                          worker.reference->state == ReferenceState::kPublishing &&
                          worker.reference->epoch < epoch;
  const bool pending = IsPending(worker, OpKind::kPublish);
  const bool waits = pending && worker.op.deferred && worker.op.epoch < epoch;
  if (publishing) return DropPublishing(worker, reason);
  if (waits) calls_.Finish(worker, reason);
}

// What is not whole, and will not be.
void Hub::State::DropPublishing(Worker& worker, const absl::Status& reason) {
  Send(worker, Dropped{worker.reference->generation, reason});
  if (IsPending(worker, OpKind::kPublish)) calls_.Finish(worker, reason);
  // The worker frees its buffers when it hears of that; a publish of them that it sent before, or
  // repeats, must not list them.
  worker.generation = std::max(worker.generation, worker.reference->generation + 1);
  RemoveReference(worker);
}

// This worker may not have heard that what it published is over. After the grace, whoever reports
// such a thing has been away for longer than its reference stood.
bool Hub::State::IsOfEarlierEpoch(const Worker& worker, const Holding& holding) {
  const Model& model = models_.at(worker.id.key.model);
  if (holding.seen() || IsVisibleAs(model, holding.version, holding.publication)) return false;
  const WorkerKey& key = worker.id.key;
  return !recovering_ || Known(key, holding.epoch) < GroupOf(key).epoch;
}

}  // namespace tensorhub::hub
