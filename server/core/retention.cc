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
namespace {

constexpr uint32_t kKeepLatestMax = 1024;

bool Holds(const Worker& worker) {
  return worker.alive && worker.reference && worker.reference->state == ReferenceState::kComplete;
}

// The memory of a copy ends with the process in which it was made.
bool GoesWith(const Worker& copy, const Worker& leaver) {
  return copy.copy_of == leaver.id.key.group && copy.id.key.rank == leaver.id.key.rank;
}

}  // namespace

void Hub::State::On(const RetainOp& op) {
  const auto model = models_.find(op.model);
  if (model == models_.end()) return Answer(op.call, UnknownModel(op.model));
  if (op.keep_latest > kKeepLatestMax) {
    return Answer(op.call, absl::InvalidArgumentError(absl::StrCat("keep_latest ", op.keep_latest,
                                                                   " is above ", kKeepLatestMax)));
  }
  model->second.keep_latest = op.keep_latest;
  RetentionChanged(op.model);
  Answer(op.call, absl::OkStatus());
}

void Hub::State::On(const PinOp& op) { Answer(op.call, Pin(op)); }

absl::Status Hub::State::Pin(const PinOp& op) {
  const auto found = models_.find(op.model);
  if (found == models_.end()) return UnknownModel(op.model);
  if (const auto problem = NameProblem(op.name)) {
    return absl::InvalidArgumentError(absl::StrCat("the pin's name ", *problem));
  }
  Model& model = found->second;
  const auto wanted = FindExact(op.model, model, op.version);
  if (!wanted.ok()) return wanted.status();
  ForgetPassedPins(model);
  const bool is_new = !model.pins.contains(op.name);
  if (is_new && model.pins.size() >= options_.limits.pins) {
    return absl::ResourceExhaustedError(
        absl::StrCat(op.model, " has its ", options_.limits.pins, " pins already"));
  }
  const TimeMs lasting = std::min(op.ttl_ms, kTimeoutMsMax);
  model.pins[op.name] = {op.version, lasting > 0 ? now_ + lasting : 0};
  RetentionChanged(op.model);  // the pin may have held another version before
  return absl::OkStatus();
}

void Hub::State::On(const UnpinOp& op) {
  const auto model = models_.find(op.model);
  if (model == models_.end()) return Answer(op.call, UnknownModel(op.model));
  if (model->second.pins.erase(op.name) == 0) {
    return Answer(op.call, absl::NotFoundError(
                               absl::StrCat(op.model, " has no pin named \"", op.name, "\"")));
  }
  RetentionChanged(op.model);
  Answer(op.call, absl::OkStatus());
}

absl::Status Hub::State::UnknownModel(const std::string& model) const {
  return absl::NotFoundError(absl::StrCat("model \"", model, "\": nobody has joined it"));
}

void Hub::State::ForgetPassedPins(Model& model) {
  std::erase_if(model.pins, [this](const auto& pin) { return HasPassed(pin.second); });
}

// Why the version must not be lost; nothing if it may be.
std::vector<std::string> Hub::State::KeptBy(const Model& model,
                                            const Publication& publication) const {
  std::vector<std::string> why;
  if (!publication.visible) return why;
  uint32_t newer = 0;
  for (auto it = model.visible.rbegin();
       it != model.visible.rend() && it->first > publication.version; ++it) {
    if (++newer >= model.keep_latest) break;
  }
  if (newer < model.keep_latest) why.emplace_back("latest");
  for (const auto& [name, pin] : model.pins) {
    if (pin.version == publication.version && !HasPassed(pin)) why.push_back("pin " + name);
  }
  return why;
}

Model& Hub::State::EnsureModel(const std::string& name) {
  const auto [model, is_new] = models_.try_emplace(name);
  if (is_new) model->second.keep_latest = options_.keep_latest;
  return model->second;
}

// R7, its one place: whether the holder may give its shard up.
bool Hub::State::MayGo(const Worker& leaver) const {
  const Publication& publication = *FindPublication(leaver.id.key.model, leaver.reference->version);
  if (KeptBy(models_.at(publication.model), publication).empty()) return true;
  // Nobody can fetch it any more: a shard has gone with a worker that died.
  if (!recovering_ && !publication.listed()) return true;
  bool spot = false;
  for (const auto& [serial, holder] : leaver.reference->shard->holders) {
    if (holder == &leaver || !Holds(*holder) || holder->absent) continue;
    const bool own = GoesWith(*holder, leaver);
    if (own && leaver.op.leaving) continue;
    if (own || holder->stable) return true;  // its own copy is as good as itself
    spot = true;
  }
  return spot && !recovering_ && !HasStable(publication.model);
}

// Where no stable worker exists, those that may vanish have to do.
bool Hub::State::HasStable(const std::string& model) const {
  for (auto it = workers_.lower_bound({model, "", 0});
       it != workers_.end() && it->first.model == model; ++it) {
    if (it->second.alive && it->second.stable) return true;
  }
  return false;
}

// The holder goes on serving meanwhile. `drain_ms` is for both: for a keeper to appear, and for
// the readers to go.
void Hub::State::AwaitKeeper(Worker& leaver, TimeMs drain_ms) {
  SetDeadline(leaver, drain_ms);
  if (!recovering_ && !MayBecomeKept(leaver)) return KeeperDeadline(leaver);
  leavers_.insert(leaver.serial);
  AskForCopies(leaver);
}

// Somebody reads it, or makes a copy, or is only doubted.
bool Hub::State::MayBecomeKept(const Worker& leaver) const {
  if (leaver.offers_copies && !leaver.op.leaving) return true;
  const auto& holders = leaver.reference->shard->holders;
  return std::any_of(holders.begin(), holders.end(), [&leaver](const auto& holder) {
    const Worker& other = *holder.second;
    if (&other == &leaver) return false;
    return other.reference->state == ReferenceState::kFilling || (Holds(other) && other.absent);
  });
}

// All ranks of the group make theirs: a copy is read as a group, too (R6). While recovering, others
// may still say that they keep it.
void Hub::State::AskForCopies(const Worker& leaver) {
  if (leaver.op.leaving || recovering_ || AskedBefore(leaver)) return;
  const Reference& wanted = *leaver.reference;
  ForEachLive({leaver.id.key.model, leaver.id.key.group}, [&](const Worker& rank) {
    if (!rank.offers_copies || !Holds(rank)) return;
    if (rank.reference->publication != wanted.publication) return;
    Send(rank, MakeCopy{wanted.publication, wanted.version});
  });
}

// By another rank that waits.
bool Hub::State::AskedBefore(const Worker& leaver) const {
  const WorkerKey& key = leaver.id.key;
  return std::any_of(leavers_.begin(), leavers_.end(), [&](Serial serial) {
    const Worker* other = FindRow(serial);
    return other != nullptr && other != &leaver && other->reference &&
           other->id.key.group == key.group && other->id.key.model == key.model &&
           other->reference->publication == leaver.reference->publication;
  });
}

// The first of each group asks for all its ranks.
void Hub::State::AskAfterRecovery() {
  const std::set<Serial> leavers = std::exchange(leavers_, {});
  for (const Serial serial : leavers) {
    const Worker* leaver = FindRow(serial);
    if (leaver == nullptr || !IsPending(*leaver, OpKind::kUnpublish) || !Holds(*leaver)) continue;
    if (!MayGo(*leaver)) AskForCopies(*leaver);
    leavers_.insert(serial);
  }
  retention_changed_ = true;
}

// Somebody became a keeper, or a version that was wanted is not any more.
void Hub::State::SettleLeavers() {
  retention_changed_ = false;
  const std::set<Serial> leavers = leavers_;
  for (const Serial serial : leavers) {
    Worker* leaver = FindRow(serial);
    const bool waits =
        leaver != nullptr && IsPending(*leaver, OpKind::kUnpublish) && Holds(*leaver);
    if (waits && !MayGo(*leaver)) continue;
    leavers_.erase(serial);
    if (!waits) {
      AnswerWithout(leaver);
      continue;
    }
    const TimeMs left_ms = leaver->op.deadline - now_;
    ClearDeadline(*leaver);
    BeginDrain(*leaver, left_ms);
  }
}

// What it held has gone in another way.
void Hub::State::AnswerWithout(Worker* leaver) {
  if (leaver == nullptr || leaver->reference || !IsPending(*leaver, OpKind::kUnpublish)) return;
  Finish(*leaver, absl::OkStatus(), UnpublishReply{true, 0});
}

void Hub::State::KeeperDeadline(Worker& leaver) {
  leavers_.erase(leaver.serial);
  ClearDeadline(leaver);
  if (!Holds(leaver)) return AnswerWithout(&leaver);
  if (MayGo(leaver)) return BeginDrain(leaver, 0);
  const Version version = leaver.reference->version;
  const std::string what =
      absl::StrCat("version ", version, " of ", leaver.id.key.model, ", rank ", leaver.id.key.rank);
  if (leaver.op.leaving) {
    Say(LogLine::Level::kWarning, absl::StrCat(what, " is lost: ", ToString(leaver.id.key),
                                               " leaves, and nobody else keeps it"));
    return BeginDrain(leaver, 0);
  }
  Finish(leaver,
         absl::ResourceExhaustedError(absl::StrCat(
             what, " is wanted (",
             absl::StrJoin(KeptBy(models_.at(leaver.id.key.model), PublicationOf(leaver)), ", "),
             "), and nobody else that is stable holds it whole; allow copies in host "
             "memory, retain fewer versions, or unpublish with force")));
}

// Copies that nobody wants any more give their memory back.
void Hub::State::RetentionChanged(const std::string& name) {
  retention_changed_ = true;
  const Model& model = models_.at(name);
  for (auto it = workers_.lower_bound({name, "", 0});
       it != workers_.end() && it->first.model == name; ++it) {
    const Worker& worker = it->second;
    if (worker.copy_of.empty() || !Holds(worker)) continue;
    const Publication& publication = model.held.at(worker.reference->version);
    if (KeptBy(model, publication).empty()) Send(worker, ReleaseCopy{worker.reference->generation});
  }
}

}  // namespace tensorhub::hub
