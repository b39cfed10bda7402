// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R7: an orderly unpublish does not lose a version that is wanted: the newest ones of a model, and
// those that are pinned. Whoever would take the last copy of a shard with it waits until somebody
// else keeps one, and is asked to make one in host memory if it can.
//
// Who keeps a shard is not noted down but seen from the references, so that it cannot differ from
// them: whoever holds it whole, lives, is not on its way out, and is stable. A keeper that wants
// its buffers back has to ask, like everybody, and then is the one that waits.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "server/core/state.h"

namespace tensorhub::hub {

// R7, its one place: whether the holder may give its shard up.
bool Hub::State::MayGo(const Worker& leaver) const {
  const Publication& publication = PublicationOf(leaver);
  const Sharding& own = *leaver.reference->sharding;
  // A part of a version is nobody's last copy of the whole.
  if (!own.full) return true;
  if (KeptBy(models_.at(publication.model), publication).empty()) return true;
  // Nobody can fetch it from these any more: a shard has gone with a worker that died.
  if (!recovering_ && !own.whole()) return true;
  return IsKept(*leaver.reference->shard, leaver) || IsKeptElsewhere(publication, leaver);
}

// Another worker than the leaver keeps it.
bool Hub::State::IsKept(const Shard& shard, const Worker& leaver) const {
  bool spot = false;
  for (const auto& [serial, holder] : shard.holders) {
    if (holder == &leaver || !HoldsWhole(*holder) || holder->absent) continue;
    const bool own = GoesWith(*holder, leaver);
    if (own ? IsLeaving(*holder) || TakesMemory(leaver) : IsGoing(*holder)) continue;
    if (own || holder->stable) return true;  // its own copy is as good as itself
    spot = true;
  }
  return spot && !recovering_ && !HasStable(leaver.id.key.model);
}

// Groups that have cut it in another way keep all of it.
bool Hub::State::IsKeptElsewhere(const Publication& publication, const Worker& leaver) const {
  bool kept = false;
  ForEachSharding(publication, [&](const Sharding& other) {
    if (!other.full || !other.whole() || &other == leaver.reference->sharding) return;
    kept |= std::all_of(other.shards.begin(), other.shards.end(),
                        [&](const auto& entry) { return IsKept(entry.second, leaver); });
  });
  return kept;
}

// Where no stable worker exists that stays, those that may vanish have to do.
bool Hub::State::HasStable(const std::string& model) const {
  for (auto it = workers_.lower_bound({model, "", 0});
       it != workers_.end() && it->first.model == model; ++it) {
    if (it->second.alive && it->second.stable && !IsGoing(it->second)) return true;
  }
  return false;
}

// Whether a worker in `leavers_` still waits.
bool Hub::State::AwaitsKeeper(const Worker* leaver) const {
  if (leaver == nullptr || !HoldsWhole(*leaver)) return false;
  return leaver->withdrawn || IsPending(*leaver, OpKind::kUnpublish);
}

// The holder goes on serving meanwhile. `drain_ms` is for both: for a keeper to appear, and for
// the readers to go.
void Hub::State::AwaitKeeper(Worker& leaver, TimeMs drain_ms) {
  if (drain_ms <= 0) return KeeperDeadline(leaver);
  calls_.SetDeadline(leaver, drain_ms);
  leavers_.insert(leaver.serial);
  AwaitOn(leaver);
}

// Somebody reads it, or makes a copy, or is only doubted.
bool Hub::State::MayBecomeKept(const Worker& leaver) const {
  if (CopierFor(leaver)) return true;
  const auto any = [&](const Shard& shard) {
    return std::any_of(shard.holders.begin(), shard.holders.end(), [&](const auto& holder) {
      const Worker& other = *holder.second;
      if (&other == &leaver) return false;
      return other.reference->state == ReferenceState::kFilling ||
             (HoldsWhole(other) && other.absent);
    });
  };
  bool may = any(*leaver.reference->shard);
  ForEachSharding(PublicationOf(leaver), [&](const Sharding& other) {
    if (!other.full || &other == leaver.reference->sharding) return;
    if (other.world_size == 0 || other.shards.size() != other.world_size) return;
    may |= std::all_of(other.shards.begin(), other.shards.end(), [&](const auto& entry) {
      return IsKept(entry.second, leaver) || any(entry.second);
    });
  });
  return may;
}

// The first of each group asks for all its ranks.
void Hub::State::AskAfterRecovery() {
  const std::set<Serial> leavers = std::exchange(leavers_, {});
  for (const Serial serial : leavers) {
    Worker* leaver = FindRow(serial);
    if (!AwaitsKeeper(leaver)) continue;
    leavers_.insert(serial);
    if (MayGo(*leaver)) continue;
    MayBecomeKept(*leaver) ? AskForCopies(*leaver) : KeeperDeadline(*leaver);
  }
  retention_changed_ = true;
}

// Somebody became a keeper, or a version that was wanted is not any more.
void Hub::State::SettleLeavers() {
  retention_changed_ = false;
  const std::set<Serial> leavers = leavers_;
  for (const Serial serial : leavers) {
    Worker* leaver = FindRow(serial);
    const bool waits = AwaitsKeeper(leaver);
    if (waits && !MayGo(*leaver)) {
      AwaitOn(*leaver);
      continue;
    }
    if (waits && !IsPending(*leaver, OpKind::kUnpublish)) {  // who keeps it now may cease to
      leaver->succession.copier.clear();
      continue;
    }
    leavers_.erase(serial);
    if (!waits) {
      AnswerWithout(leaver);
      continue;
    }
    const TimeMs left_ms = leaver->op.deadline - now_;
    calls_.ClearDeadline(*leaver);
    BeginDrain(*leaver, left_ms);
  }
}

// If there is anybody to wait for, or still is.
void Hub::State::AwaitOn(Worker& leaver) {
  if (recovering_) return;
  if (!MayBecomeKept(leaver)) return KeeperDeadline(leaver);
  if (leaver.succession.copier.empty()) AskForCopies(leaver);
}

// What it held has gone in another way.
void Hub::State::AnswerWithout(Worker* leaver) {
  if (leaver == nullptr || leaver->reference || !IsPending(*leaver, OpKind::kUnpublish)) return;
  AnswerUnpublish(*leaver, 0);
}

// The leaver's time is up, or there is nobody to wait for; readers that it has left may need the
// rest.
void Hub::State::KeeperDeadline(Worker& leaver) {
  if (!IsPending(leaver, OpKind::kUnpublish)) return;
  if (!leaver.withdrawn) leavers_.erase(leaver.serial);
  const TimeMs left_ms = std::max<TimeMs>(leaver.op.deadline - now_, 0);
  calls_.ClearDeadline(leaver);
  if (!HoldsWhole(leaver)) return AnswerWithout(&leaver);
  if (leaver.op.leaving || MayGo(leaver)) return BeginDrain(leaver, left_ms);
  const VersionNumber version = leaver.reference->version;
  const std::string what =
      absl::StrCat("version ", version, " of ", leaver.id.key.model, ", rank ", leaver.id.key.rank);
  calls_.Finish(
      leaver, absl::ResourceExhaustedError(absl::StrCat(what, " is wanted (", WhyNotKept(leaver))));
}

std::string Hub::State::WhyNotKept(const Worker& leaver) const {
  const Publication& publication = PublicationOf(leaver);
  const std::string by = absl::StrJoin(KeptBy(models_.at(publication.model), publication), ", ");
  if (recovering_) {
    return absl::StrCat(by, "), and the server is recovering: who else holds it is not known yet; ",
                        "unpublish again in a few seconds, or with force");
  }
  const std::string& no_copy = leaver.succession.no_copy;
  return absl::StrCat(
      by, "), and nobody else that is stable holds it whole; ",
      no_copy.empty() ? "allow copies in host memory, " : "no copy was made (" + no_copy + "); ",
      "retain fewer versions, or unpublish with force");
}

void Hub::State::RetentionChanged(const std::string& name) {
  retention_changed_ = true;
  for (auto it = workers_.lower_bound({name, "", 0});
       it != workers_.end() && it->first.model == name; ++it) {
    ReleaseIfUnwanted(it->second);
  }
}

}  // namespace tensorhub::hub
