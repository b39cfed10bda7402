// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R7: an orderly unpublish does not lose a version that is wanted: the newest ones of a model, and
// those that are pinned. Whoever would take the last copy of a shard with it waits until somebody
// else keeps one, and is asked to make one in host memory if it can.
//
// A keeper of a shard is whoever holds it whole, lives, is not on its way out, and is stable. A
// keeper that wants its buffers back has to ask, like everybody, and then is the one that waits.

#include "server/core/retention.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"

namespace tensorhub::hub {

bool Retention::MayGo(const Worker& leaver) const {
  const Publication& publication = PublicationOf(leaver);
  const Sharding& own = *leaver.reference->sharding;
  // A part of a version is nobody's last copy of the whole.
  if (!own.full) return true;
  if (KeptBy(publication).empty()) return true;
  // Nobody can fetch it from these any more: a shard has gone with a worker that died.
  if (!turn_.recovering() && !own.whole()) return true;
  return IsKept(*leaver.reference->shard, leaver) || IsKeptElsewhere(publication, leaver);
}

// Another worker than the leaver keeps it.
bool Retention::IsKept(const Shard& shard, const Worker& leaver) const {
  bool spot = false;
  for (const auto& [serial, holder] : shard.holders) {
    if (holder == &leaver || !HoldsWhole(*holder) || holder->absent) continue;
    const bool own = GoesWith(*holder, leaver);
    if (own ? IsLeaving(*holder) || TakesMemory(leaver) : IsGoing(*holder)) continue;
    if (own || holder->stable) return true;  // its own copy is as good as itself
    spot = true;
  }
  return spot && !turn_.recovering() && !HasStable(leaver.id.key.model);
}

// Groups that have cut it in another way keep all of it.
bool Retention::IsKeptElsewhere(const Publication& publication, const Worker& leaver) const {
  bool kept = false;
  ForEachSharding(publication, [&](const Sharding& other) {
    if (!other.full || !other.whole() || &other == leaver.reference->sharding) return;
    kept |= std::all_of(other.shards.begin(), other.shards.end(),
                        [&](const auto& entry) { return IsKept(entry.second, leaver); });
  });
  return kept;
}

// Where no stable worker exists that stays, those that may vanish have to do.
bool Retention::HasStable(const std::string& model) const {
  const std::map<WorkerKey, Worker>& workers = roster_.workers();
  for (auto it = workers.lower_bound({model, "", 0});
       it != workers.end() && it->first.model == model; ++it) {
    if (it->second.alive && it->second.stable && !IsGoing(it->second)) return true;
  }
  return false;
}

// Whether a worker in `leavers_` still waits.
bool Retention::AwaitsKeeper(const Worker* leaver) {
  if (leaver == nullptr || !HoldsWhole(*leaver)) return false;
  return leaver->withdrawn || IsPending(*leaver, OpKind::kUnpublish);
}

std::optional<Retention::Departure> Retention::AwaitKeeper(Worker& leaver, TimeMs drain_ms) {
  if (drain_ms <= 0) return KeeperDeadline(leaver);
  calls_.SetDeadline(leaver, drain_ms);
  leavers_.insert(leaver.serial);
  return AwaitOn(leaver);
}

// Somebody reads it, or makes a copy, or is only doubted.
bool Retention::MayBecomeKept(const Worker& leaver) const {
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

void Retention::BeginRound() {
  TH_CHECK(round_.empty() && !after_recovery_);
  changed_ = false;
  round_ = leavers_;
}

void Retention::BeginRoundAfterRecovery() {
  TH_CHECK(round_.empty() && !after_recovery_);
  round_ = std::exchange(leavers_, {});
  after_recovery_ = true;
}

std::optional<Retention::Departure> Retention::NextDeparture() {
  while (!round_.empty()) {
    const Serial serial = *round_.begin();
    round_.erase(round_.begin());
    const auto departure = after_recovery_ ? LookAfterRecovery(serial) : Look(serial);
    if (departure) return departure;
  }
  if (std::exchange(after_recovery_, false)) KeepersChanged();
  return std::nullopt;
}

std::optional<Retention::Departure> Retention::LookAfterRecovery(Serial serial) {
  Worker* leaver = roster_.FindRow(serial);
  if (!AwaitsKeeper(leaver)) return std::nullopt;
  leavers_.insert(serial);
  if (MayGo(*leaver)) return std::nullopt;
  if (!MayBecomeKept(*leaver)) return KeeperDeadline(*leaver);
  AskForCopies(*leaver);
  return std::nullopt;
}

// Somebody became a keeper, or a version that was wanted is not any more.
std::optional<Retention::Departure> Retention::Look(Serial serial) {
  Worker* leaver = roster_.FindRow(serial);
  const bool waits = AwaitsKeeper(leaver);
  if (waits && !MayGo(*leaver)) return AwaitOn(*leaver);
  if (waits && !IsPending(*leaver, OpKind::kUnpublish)) {  // who keeps it now may cease to
    leaver->succession.copier.clear();
    return std::nullopt;
  }
  leavers_.erase(serial);
  if (!waits) return AnswerWithout(leaver);
  const TimeMs left_ms = leaver->op.deadline - turn_.now();
  calls_.ClearDeadline(*leaver);
  return Departure{leaver, left_ms};
}

// If there is anybody to wait for, or still is.
std::optional<Retention::Departure> Retention::AwaitOn(Worker& leaver) {
  if (turn_.recovering()) return std::nullopt;
  if (!MayBecomeKept(leaver)) return KeeperDeadline(leaver);
  if (leaver.succession.copier.empty()) AskForCopies(leaver);
  return std::nullopt;
}

// What it held has gone in another way.
std::optional<Retention::Departure> Retention::AnswerWithout(Worker* leaver) {
  if (leaver == nullptr || leaver->reference || !IsPending(*leaver, OpKind::kUnpublish)) {
    return std::nullopt;
  }
  return Departure{leaver, std::nullopt};
}

std::optional<Retention::Departure> Retention::KeeperDeadline(Worker& leaver) {
  if (!IsPending(leaver, OpKind::kUnpublish)) return std::nullopt;
  if (!leaver.withdrawn) leavers_.erase(leaver.serial);
  const TimeMs left_ms = std::max<TimeMs>(leaver.op.deadline - turn_.now(), 0);
  calls_.ClearDeadline(leaver);
  if (!HoldsWhole(leaver)) return AnswerWithout(&leaver);
  if (leaver.op.leaving || MayGo(leaver)) return Departure{&leaver, left_ms};
  const VersionNumber version = leaver.reference->version;
  const std::string what =
      absl::StrCat("version ", version, " of ", leaver.id.key.model, ", rank ", leaver.id.key.rank);
  calls_.Finish(
      leaver, absl::ResourceExhaustedError(absl::StrCat(what, " is wanted (", WhyNotKept(leaver))));
  return std::nullopt;
}

std::string Retention::WhyNotKept(const Worker& leaver) const {
  const Publication& publication = PublicationOf(leaver);
  const std::string by = absl::StrJoin(KeptBy(publication), ", ");
  if (turn_.recovering()) {
    return absl::StrCat(by, "), and the server is recovering: who else holds it is not known yet; ",
                        "unpublish again in a few seconds, or with force");
  }
  const std::string& no_copy = leaver.succession.no_copy;
  const std::string remedy = !no_copy.empty() ? absl::StrCat("no copy was made (", no_copy, "); ")
                             : leaver.offers_copies
                                 ? "give a copy in host memory more time (drain_timeout), "
                                 : "allow copies in host memory, ";
  return absl::StrCat(by, "), and nobody else that is stable holds it whole; ", remedy,
                      "retain fewer versions, or unpublish with force");
}

void Retention::WantedChanged(const std::string& name) {
  KeepersChanged();
  roster_.ForEachOf(name, [&](const Worker& worker) { ReleaseIfUnwanted(worker); });
}

void Retention::CheckInvariants() const {
  pins_.CheckInvariants();
  for (const auto& [name, model] : catalog_.models()) {
    TH_CHECK(pins_.Of(name).size() <= options_.limits.pins);
  }
  TH_CHECK(turn_.recovering() || !pins_.FirstEnd() ||
           turn_.HasTimer({*pin_timer_, Timer::Kind::kPins, 0, 0}));
  TH_CHECK(round_.empty() && !after_recovery_);
}

}  // namespace tensorhub::hub
