// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/checkers/r7_retained.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"
#include "tests/sim/hub_node.h"
#include "tests/sim/process.h"

namespace tensorhub::fault {

std::optional<hub::ReferenceState> R7Retained::StateOf(const Asked& asked) const {
  for (const auto& view : scene_.hub->core().References(asked.worker.key.model, asked.version)) {
    if (view.worker == asked.worker && view.generation == asked.generation) return view.state;
  }
  return std::nullopt;
}

void R7Retained::BeforeHubStep(const hub::Event& event) {
  for (auto& [incarnation, asked] : asked_) asked.was_wanted = IsWanted(asked);
  const auto* op = std::get_if<hub::UnpublishOp>(&event);
  if (op == nullptr || scene_.plan.keep_latest == 0) return;
  OpId& newest = newest_[op->worker.incarnation];
  if (op->op < newest) return;  // late; the hub refuses it
  newest = op->op;
  asked_.erase(op->worker.incarnation);
  if (op->leaving) {
    leaving_.insert(op->worker.incarnation);
  } else {
    leaving_.erase(op->worker.incarnation);
  }
  if (op->force || op->leaving) return;
  for (const auto& view : scene_.hub->core().References(op->worker.key.model, std::nullopt)) {
    const bool same = view.worker == op->worker && view.generation == op->generation;
    if (!same || view.state != hub::ReferenceState::kComplete) continue;
    Asked asked{op->worker, op->generation, view.version, view.publication, view.sharding.id};
    asked.was_wanted = IsWanted(asked);
    asked_[op->worker.incarnation] = asked;
  }
}

void R7Retained::OnHubStep(const HubStep& step) {
  for (auto it = asked_.begin(); it != asked_.end();) {
    const Asked asked = it->second;
    const auto state = StateOf(asked);
    if (state == hub::ReferenceState::kComplete) {
      ++it;
      continue;
    }
    it = asked_.erase(it);
    const bool let_go = state || (HearsOfIt(step, asked, scene_) && !IsItsOwnWord(step, asked));
    if (let_go) OnLetGo(asked);
  }
}

// Without readers it is all over at once; what went without an answer went in another way.
bool R7Retained::HearsOfIt(const HubStep& step, const Asked& asked, const Scene& scene) {
  return std::any_of(step.effects.begin(), step.effects.end(), [&](const hub::Effect& effect) {
    const auto* reply = std::get_if<hub::Reply>(&effect);
    return reply != nullptr && std::holds_alternative<hub::UnpublishReply>(reply->payload) &&
           scene.hub->call(reply->call).process->identity() == asked.worker;
  });
}

// It has given its buffers up without the hub, and says so while its unpublish waits.
bool R7Retained::IsItsOwnWord(const HubStep& step, const Asked& asked) {
  if (step.from == nullptr || step.from->identity() != asked.worker) return false;
  if (const auto* answer = std::get_if<hub::ProbeAnswer>(&step.event)) {
    return !answer->holds && answer->generation >= asked.generation;
  }
  const auto* opened = std::get_if<hub::SessionOpened>(&step.event);
  return opened != nullptr && (!opened->holding || opened->holding->generation != asked.generation);
}

// One whose time was up when a shard was lost may go, though it be brought back in the same step.
void R7Retained::OnLetGo(const Asked& asked) {
  if (!asked.was_wanted || !IsWanted(asked) || IsKept(asked)) return;
  scene_.Fail("R7", absl::StrCat(FindProcess(scene_, asked.worker.incarnation)->name(),
                                 " may give up version ", asked.version,
                                 ", which is the newest, and nobody else keeps its shard"));
}

// Of this term.
bool R7Retained::IsNewest(const std::string& model, const PublicationId& publication) const {
  const auto models = scene_.hub->core().Models();
  const auto of_model = std::find_if(models.begin(), models.end(),
                                     [&](const auto& view) { return view.model == model; });
  if (of_model == models.end() || !of_model->has_latest) return false;
  const auto versions = scene_.hub->core().Versions(model);
  return std::any_of(versions.begin(), versions.end(), [&](const auto& view) {
    return view.publication == publication && view.version == of_model->latest &&
           view.state != hub::VersionState::kSuperseded &&
           view.state != hub::VersionState::kPublishing;
  });
}

// The newest, of a sharding that has all of it, with all its other shards.
bool R7Retained::IsWanted(const Asked& asked) const {
  const WorkerKey& key = asked.worker.key;
  const Process& process = *FindProcess(scene_, asked.worker.incarnation);
  if (!IsNewest(key.model, asked.publication) || !IsFull(process)) return false;
  std::set<Rank> whole = {key.rank};
  for (const auto& view : scene_.hub->core().References(key.model, asked.version)) {
    const bool same = view.publication == asked.publication && view.sharding.id == asked.sharding;
    if (!same || view.state != hub::ReferenceState::kComplete) continue;
    whole.insert(view.worker.key.rank);
  }
  return whole.size() == process.world_size();
}

// The same shard, by another; or all shards of another sharding that has everything.
bool R7Retained::IsKept(const Asked& asked) const {
  const WorkerKey& key = asked.worker.key;
  const bool has_stable = HasStable(key.model);
  std::map<ShardingId, std::set<Rank>> kept;
  for (const auto& view : scene_.hub->core().References(key.model, asked.version)) {
    const bool other = view.worker != asked.worker && view.publication == asked.publication;
    if (!other || view.state != hub::ReferenceState::kComplete) continue;
    if (leaving_.contains(view.worker.incarnation)) continue;
    const Process& keeper = *FindProcess(scene_, view.worker.incarnation);
    const bool copy = keeper.copy_of() == key.group && view.worker.key.rank == key.rank;
    // Its own copy is as good as itself.
    if (IsWithdrawn(view.worker) && !copy) continue;
    if (has_stable && keeper.spot() && !copy) continue;
    std::set<Rank>& ranks = kept[view.sharding.id];
    ranks.insert(view.worker.key.rank);
    const bool same_cut = view.sharding.id == asked.sharding;
    if (same_cut && ranks.contains(key.rank)) return true;
    if (!same_cut && ranks.size() == keeper.world_size() && IsFull(keeper)) return true;
  }
  return false;
}

// Its group's cells are all that the publishers' are.
bool R7Retained::IsFull(const Process& process) const {
  if (process.cells() == nullptr) return true;
  std::set<uint32_t> own;
  std::set<uint32_t> all;
  for (const auto& other : scene_.processes) {
    const bool counts =
        other->identity().key.model == process.identity().key.model && other->cells() != nullptr;
    if (!counts) continue;
    if (other->sharding() == 0) all.insert(other->cells()->begin(), other->cells()->end());
    if (other->sharding() != process.sharding()) continue;
    own.insert(other->cells()->begin(), other->cells()->end());
  }
  return own == all;
}

// Memory that is lent for copies comes back.
void R7Retained::CheckSettled() {
  for (const auto& process : scene_.processes) {
    if (process->copy_of().empty() || !process->node().running()) continue;
    const auto holding = process->Report().holding;
    if (!holding || !holding->complete) continue;
    if (IsNewest(process->identity().key.model, holding->publication)) continue;
    scene_.Fail("R7", absl::StrCat(process->name(), " is still there, and nobody wants version ",
                                   holding->version));
  }
}

// One that stays.
bool R7Retained::HasStable(const std::string& model) const {
  const auto workers = scene_.hub->core().Workers(scene_.hub->NowMs());
  return std::any_of(workers.begin(), workers.end(), [&](const auto& view) {
    const Process* process = FindProcess(scene_, view.worker.incarnation);
    return view.worker.key.model == model && process != nullptr && !process->spot() &&
           !view.withdrawn && !leaving_.contains(view.worker.incarnation);
  });
}

bool R7Retained::IsWithdrawn(const WorkerIdentity& worker) const {
  const auto workers = scene_.hub->core().Workers(scene_.hub->NowMs());
  return std::any_of(workers.begin(), workers.end(), [&](const hub::WorkerView& view) {
    return view.worker == worker && view.withdrawn;
  });
}

}  // namespace tensorhub::fault
