// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R7: who makes a copy of what a worker is the last to keep, in host memory. A copy is a worker of
// its own, which fetches like any other: here it is only asked for, and released.

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/retention.h"

namespace tensorhub::hub {
namespace {

// For one that an operator takes out of service, whose time is not limited. One that takes longer
// is given up, as one that fails. Longer: a rank whose group's others make none has its memory, and
// its turn, for so long in vain. Shorter: slow links make none.
constexpr TimeMs kDrainCopyMs = 15'000;

}  // namespace

// The group that was asked, or that would be: its own; for who leaves, and takes its memory along,
// another one, the same for all ranks. One that was asked can until it is refused (NoCopyBy).
std::optional<GroupKey> Retention::CopierFor(const Worker& leaver) const {
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
    const Worker* other = roster_.FindRow(serial);
    const bool same = AwaitsKeeper(other) && !other->succession.copier.empty() &&
                      other->reference->publication == leaver.reference->publication;
    if (!same) continue;
    const GroupKey asked{model, other->succession.copier};
    const bool can = TakesMemory(*other) ? MayAsk(asked, leaver) : CanCopy(asked, leaver, stable);
    if (can) return asked;
  }
  const std::map<GroupKey, Group>& groups = groups_.groups();
  for (auto it = groups.lower_bound({model, ""}); it != groups.end() && it->first.model == model;
       ++it) {
    if (CanCopy(it->first, leaver, stable)) return it->first;
  }
  return std::nullopt;
}

// A copy ends with its process.
bool Retention::MayAsk(const GroupKey& group, const Worker& leaver) {
  return group.group != leaver.copy_of && !leaver.succession.refused.contains(group.group);
}

// All ranks of a group can, or it cannot: a copy is read as a group, too (R6). A rank that has
// given its shard up before, or never had it, reads it from whoever keeps it.
bool Retention::CanCopy(const GroupKey& group, const Worker& leaver, bool stable) const {
  const bool own = group.group == leaver.id.key.group;
  if (!MayAsk(group, leaver)) return false;
  for (Rank rank = 0; rank < leaver.world_size; ++rank) {
    const Worker* other = roster_.FindWorker({group.model, group.group, rank});
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
bool Retention::IsAsked(const GroupKey& copier, const Worker& leaver) const {
  return std::any_of(leavers_.begin(), leavers_.end(), [&](Serial serial) {
    const Worker* other = roster_.FindRow(serial);
    return other != &leaver && AwaitsKeeper(other) && other->id.key.model == copier.model &&
           other->succession.copier == copier.group &&
           other->reference->publication == leaver.reference->publication;
  });
}

// The workers that wait for a copy which this group makes.
std::vector<Worker*> Retention::LeaversOf(const GroupKey& copier) const {
  std::vector<Worker*> waiting;
  for (const Serial serial : leavers_) {
    Worker* leaver = roster_.FindRow(serial);
    const bool by_it = AwaitsKeeper(leaver) && leaver->id.key.model == copier.model &&
                       leaver->succession.copier == copier.group;
    if (by_it) waiting.push_back(leaver);
  }
  return waiting;
}

// Unless another rank has asked before. While recovering, others may still say that they keep it.
void Retention::AskForCopies(Worker& leaver) {
  const std::optional<GroupKey> copier = CopierFor(leaver);
  if (turn_.recovering() || !copier) return;
  leaver.succession.copier = copier->group;
  if (IsAsked(*copier, leaver)) return;
  roster_.ForEachLive(*copier, [&](const Worker& rank) { AskForCopy(rank, leaver); });
}

void Retention::AskForCopy(const Worker& rank, const Worker& leaver) {
  const Reference& wanted = *leaver.reference;
  const TimeMs within_ms =
      IsPending(leaver, OpKind::kUnpublish) ? leaver.op.deadline - turn_.now() : kDrainCopyMs;
  turn_.Send(rank, MakeCopy{wanted.publication, wanted.version, within_ms});
}

void Retention::AskAgain(const Worker& rank) {
  if (turn_.recovering()) return;
  for (const Worker* leaver : LeaversOf({rank.id.key.model, rank.id.key.group})) {
    AskForCopy(rank, *leaver);
  }
}

std::set<VersionNumber> Retention::CopiesAskedOf(const GroupKey& copier) const {
  std::set<VersionNumber> versions;
  for (const Worker* leaver : LeaversOf(copier)) versions.insert(leaver->reference->version);
  return versions;
}

Retention::VoidCopy Retention::NoCopyBy(const WorkerKey& rank, VersionNumber version,
                                        const std::string& reason) {
  const std::string why = absl::StrCat("rank ", rank.rank, ": ", reason);
  for (Worker* leaver : LeaversOf({rank.model, rank.group})) {
    if (leaver->reference->version != version) continue;
    turn_.Say(LogLine::Level::kWarning,
              absl::StrCat(ToString(leaver->id.key), " waits for a copy of ", version,
                           " that is not made: ", why));
    leaver->succession.no_copy = why;
    leaver->succession.refused.insert(std::exchange(leaver->succession.copier, {}));
    KeepersChanged();
  }
  return {JoinedFor(rank, version), absl::AbortedError(why)};
}

// Groups of copies whose ranks wait for one that will not come.
std::vector<GroupKey> Retention::JoinedFor(const WorkerKey& of, VersionNumber version) const {
  std::vector<GroupKey> joined;
  const std::map<GroupKey, Group>& groups = groups_.groups();
  for (auto it = groups.lower_bound({of.model, ""});
       it != groups.end() && it->first.model == of.model; ++it) {
    if (it->second.forming.empty()) continue;
    const auto& [rank, join] = *it->second.forming.begin();
    const Worker* copy = roster_.FindWorker({of.model, it->first.group, rank});
    const VersionSelector exact{VersionSelector::Kind::kExact, version};
    if (copy == nullptr || copy->copy_of != of.group || !(join.selector == exact)) continue;
    joined.push_back(it->first);
  }
  return joined;
}

void Retention::AskOthersThan(const Worker& withdrawn) {
  const WorkerKey& key = withdrawn.id.key;
  for (Worker* leaver : LeaversOf({key.model, key.group})) {
    if (leaver->id.key.group == key.group) continue;
    leaver->succession.no_copy = absl::StrCat(ToString(key), " is taken out of service");
    leaver->succession.copier.clear();
  }
}

// A rank that was asked twice joins once more with the copy that has been made meanwhile; the
// others would never come. While recovering, those that wait for it may not have said so yet.
bool Retention::IsAwaited(const Worker& copy, const VersionSelector& selector) const {
  if (copy.copy_of.empty() || !HoldsWhole(copy) || turn_.recovering()) return true;
  const std::vector<Worker*> waiting = LeaversOf({copy.id.key.model, copy.copy_of});
  return std::any_of(waiting.begin(), waiting.end(), [&](const Worker* leaver) {
    return leaver->reference->version == selector.version;
  });
}

// R8: while recovering, nothing is released.
void Retention::ReleaseIfUnwanted(const Worker& copy) {
  if (copy.copy_of.empty() || !HoldsWhole(copy) || turn_.recovering()) return;
  if (!KeptBy(PublicationOf(copy)).empty()) return;
  turn_.Send(copy, ReleaseCopy{copy.reference->generation});
}

}  // namespace tensorhub::hub
