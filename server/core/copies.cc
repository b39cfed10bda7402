// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R7: who makes a copy of what a worker is the last to keep, in host memory. A copy is a worker of
// its own, which fetches like any other: here it is only asked for, and released.

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

// For one that an operator takes out of service, whose time is not limited. One that takes longer
// is given up, as one that fails. Longer: a rank whose group's others make none has its memory, and
// its turn, for so long in vain. Shorter: slow links make none.
constexpr TimeMs kDrainCopyMs = 15'000;

}  // namespace

// The group that was asked, or that would be: its own; for who leaves, and takes its memory along,
// another one, the same for all ranks. One that was asked can until it is refused (NoCopiesBy).
std::optional<GroupKey> Hub::State::CopierFor(const Worker& leaver) const {
  const std::string& model = leaver.id.key.model;
  if (!leaver.succession.copier.empty()) return GroupKey{model, leaver.succession.copier};
  if (!TakesMemory(leaver)) {
    const GroupKey own{model, leaver.id.key.group};
    const bool can =
        IsAsked(own, leaver) ? MayAsk(own, leaver) : CanCopy(own, leaver, /*stable=*/false);
    return can ? std::optional(own) : std::nullopt;
  }
  const bool stable = HasStable(model);
  for (const Serial serial : leavers_) {
    const Worker* other = FindRow(serial);
    const bool same = AwaitsKeeper(other) && !other->succession.copier.empty() &&
                      other->reference->publication == leaver.reference->publication;
    if (!same) continue;
    const GroupKey asked{model, other->succession.copier};
    const bool can = TakesMemory(*other) ? MayAsk(asked, leaver) : CanCopy(asked, leaver, stable);
    if (can) return asked;
  }
  for (auto it = groups_.lower_bound({model, ""}); it != groups_.end() && it->first.model == model;
       ++it) {
    if (CanCopy(it->first, leaver, stable)) return it->first;
  }
  return std::nullopt;
}

// A copy ends with its process.
bool Hub::State::MayAsk(const GroupKey& group, const Worker& leaver) const {
  return group.group != leaver.copy_of && !leaver.succession.refused.contains(group.group);
}

// All ranks of a group can, or it cannot: a copy is read as a group, too (R6). A rank that has
// given its shard up before, or never had it, reads it from whoever keeps it.
bool Hub::State::CanCopy(const GroupKey& group, const Worker& leaver, bool stable) const {
  const bool own = group.group == leaver.id.key.group;
  if (!MayAsk(group, leaver)) return false;
  for (Rank rank = 0; rank < leaver.world_size; ++rank) {
    const Worker* other = FindWorker({group.model, group.group, rank});
    if (other == nullptr || !other->alive || !other->offers_copies || IsLeaving(*other)) {
      return false;
    }
    if (own && !TakesMemory(leaver)) continue;
    if (own || other->withdrawn) return false;
    const bool fits = other->world_size == leaver.world_size && other->copy_of.empty();
    if (!fits || (stable && !other->stable)) return false;
  }
  return true;
}

// Another rank has asked the group, for the same.
bool Hub::State::IsAsked(const GroupKey& copier, const Worker& leaver) const {
  return std::any_of(leavers_.begin(), leavers_.end(), [&](Serial serial) {
    const Worker* other = FindRow(serial);
    return other != &leaver && AwaitsKeeper(other) && other->id.key.model == copier.model &&
           other->succession.copier == copier.group &&
           other->reference->publication == leaver.reference->publication;
  });
}

// The workers that wait for a copy which this group makes.
std::vector<Worker*> Hub::State::LeaversOf(const GroupKey& copier) const {
  std::vector<Worker*> waiting;
  for (const Serial serial : leavers_) {
    Worker* leaver = FindRow(serial);
    const bool by_it = AwaitsKeeper(leaver) && leaver->id.key.model == copier.model &&
                       leaver->succession.copier == copier.group;
    if (by_it) waiting.push_back(leaver);
  }
  return waiting;
}

// Unless another rank has asked before. While recovering, others may still say that they keep it.
void Hub::State::AskForCopies(Worker& leaver) {
  const std::optional<GroupKey> copier = CopierFor(leaver);
  if (recovering_ || !copier) return;
  leaver.succession.copier = copier->group;
  if (IsAsked(*copier, leaver)) return;
  ForEachLive(*copier, [&](const Worker& rank) { AskForCopy(rank, leaver); });
}

void Hub::State::AskForCopy(const Worker& rank, const Worker& leaver) {
  const Reference& wanted = *leaver.reference;
  const TimeMs within_ms =
      IsPending(leaver, OpKind::kUnpublish) ? leaver.op.deadline - now_ : kDrainCopyMs;
  Send(rank, MakeCopy{wanted.publication, wanted.version, within_ms});
}

// The rank's session has broken, and perhaps with it what it was asked.
void Hub::State::AskAgain(const Worker& rank) {
  if (recovering_) return;
  for (const Worker* leaver : LeaversOf({rank.id.key.model, rank.id.key.group})) {
    AskForCopy(rank, *leaver);
  }
}

// One rank's failure is that of the whole copy.
void Hub::State::On(const CopyFailed& event) {
  const Worker* worker = FindSession(event.session);
  if (worker == nullptr) return;
  NoCopyBy(worker->id.key, event.version, std::string(event.reason.message()));
}

// Whatever it was asked for.
void Hub::State::NoCopiesBy(const WorkerKey& rank, const std::string& why) {
  std::set<VersionNumber> versions;
  for (const Worker* leaver : LeaversOf({rank.model, rank.group})) {
    versions.insert(leaver->reference->version);
  }
  for (const VersionNumber version : versions) NoCopyBy(rank, version, why);
}

// Another group is asked, if there is one: when all that this event causes is known, since the rank
// may be in the middle of being replaced.
void Hub::State::NoCopyBy(const WorkerKey& rank, VersionNumber version, const std::string& reason) {
  const std::string why = absl::StrCat("rank ", rank.rank, ": ", reason);
  for (Worker* leaver : LeaversOf({rank.model, rank.group})) {
    if (!AwaitsKeeper(leaver) || leaver->reference->version != version) continue;
    Say(LogLine::Level::kWarning, absl::StrCat(ToString(leaver->id.key), " waits for a copy of ",
                                               version, " that is not made: ", why));
    leaver->succession.no_copy = why;
    leaver->succession.refused.insert(std::exchange(leaver->succession.copier, {}));
    retention_changed_ = true;
  }
  RefuseCopy(rank, version, why);
}

// The ranks that have joined wait for one that will not.
void Hub::State::RefuseCopy(const WorkerKey& of, VersionNumber version, const std::string& why) {
  for (auto it = groups_.lower_bound({of.model, ""});
       it != groups_.end() && it->first.model == of.model; ++it) {
    if (it->second.forming.empty()) continue;
    const auto& [rank, join] = *it->second.forming.begin();
    const Worker* copy = FindWorker({of.model, it->first.group, rank});
    const VersionSelector exact{VersionSelector::Kind::kExact, version};
    if (copy == nullptr || copy->copy_of != of.group || !(join.selector == exact)) continue;
    RefuseForming(it->first, it->second, absl::AbortedError(why));
  }
}

// A rank that was asked twice joins once more with the copy that has been made meanwhile; the
// others would never come. While recovering, those that wait for it may not have said so yet.
bool Hub::State::IsAwaited(const Worker& copy, const VersionSelector& selector) const {
  if (copy.copy_of.empty() || !HoldsWhole(copy) || recovering_) return true;
  const std::vector<Worker*> waiting = LeaversOf({copy.id.key.model, copy.copy_of});
  return std::any_of(waiting.begin(), waiting.end(), [&](const Worker* leaver) {
    return leaver->reference->version == selector.version;
  });
}

// A copy that nobody wants any more gives its memory back. R8: while recovering, nothing is
// released.
void Hub::State::ReleaseIfUnwanted(const Worker& copy) {
  if (copy.copy_of.empty() || !HoldsWhole(copy) || recovering_) return;
  const Model& model = models_.at(copy.id.key.model);
  const Publication& publication = PublicationOf(copy);
  if (KeptBy(model, publication).empty()) Send(copy, ReleaseCopy{copy.reference->generation});
}

}  // namespace tensorhub::hub
