// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/checkers/r2_visible.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "tests/sim/hub_node.h"
#include "tests/sim/process.h"

namespace tensorhub::fault {

R2Visible::Members R2Visible::MembersOf(const WorkerKey& key) const {
  Members members;
  for (const hub::WorkerView& view : scene_.hub->core().Workers(scene_.hub->NowMs())) {
    const WorkerKey& other = view.worker.key;
    if (other.model != key.model || other.group != key.group) continue;
    members[other.rank] = view.worker.incarnation;
  }
  return members;
}

void R2Visible::OnHubStart() {
  published_.merge(earlier_);
  earlier_ = std::exchange(published_, {});
}

void R2Visible::OnHubStep(const HubStep& step) {
  const auto* publish = std::get_if<hub::PublishOp>(&step.event);
  if (publish != nullptr && !IsRefused(step, publish->call)) {
    published_.try_emplace({step.from->number(), publish->generation},
                           Publish{MembersOf(publish->worker.key), scene_.agenda.now()});
  }
  // What it published in an earlier life of the hub, it reports. A publish that it repeats, since
  // it has not heard the answer, counts as of now.
  const auto* opened = std::get_if<hub::SessionOpened>(&step.event);
  if (opened != nullptr && IsWelcome(step)) {
    came_.try_emplace(step.from->number(), scene_.agenda.now());
  }
  if (opened != nullptr && opened->holding && opened->holding->published) {
    const std::pair key(step.from->number(), opened->holding->generation);
    published_.try_emplace(key, earlier_[key]);
  }
  for (const hub::Effect& effect : step.effects) {
    // The mark, which is kept, and what a model's watchers are told.
    if (const auto* rows = std::get_if<hub::Persist>(&effect)) {
      for (const auto& [model, row] : rows->models) {
        if (row && !seen_.contains(row->publication)) OnVisible(model, row->latest, false);
      }
    }
    const auto* change = std::get_if<hub::ModelChange>(&effect);
    if (change == nullptr || change->kind != hub::ModelChange::Kind::kVersionVisible) continue;
    OnVisible(change->model, change->version, IsGone(step, *change));
  }
}

// It came and went in one step: its publishers are not listed any more, so that it cannot be told
// who they were.
bool R2Visible::IsGone(const HubStep& step, const hub::ModelChange& visible) {
  return std::any_of(step.effects.begin(), step.effects.end(), [&](const hub::Effect& effect) {
    const auto* change = std::get_if<hub::ModelChange>(&effect);
    return change != nullptr && change->kind == hub::ModelChange::Kind::kVersionGone &&
           change->model == visible.model && change->version == visible.version &&
           change->revision > visible.revision;
  });
}

void R2Visible::OnVisible(const std::string& model, Version version, bool gone) {
  const auto views = scene_.hub->core().Versions(model);
  const auto view = std::find_if(views.begin(), views.end(),
                                 [version](const auto& v) { return v.version == version; });
  if (view == views.end() || !seen_.insert(view->publication).second || gone) return;
  std::map<std::string, Members> publishers;
  std::map<std::string, std::map<Rank, Publish>> publishes;
  for (const hub::ReferenceView& reference : scene_.hub->core().References(model, version)) {
    const Process* process = FindProcess(scene_, reference.worker.incarnation);
    if (process == nullptr) continue;
    const auto found = published_.find({process->number(), reference.generation});
    if (found == published_.end()) continue;
    publishers[reference.group][reference.worker.key.rank] = reference.worker.incarnation;
    publishes[reference.group][reference.worker.key.rank] = found->second;
  }
  for (const auto& [group, ranks] : publishers) {
    if (ranks.size() == view->world_size && IsOneEpoch(ranks, publishes[group])) return;
  }
  scene_.Fail("R2", absl::StrCat("version ", version, " of ", model,
                                 " became visible, and no group had published it whole"));
}

// A hub that began anew may have had a process beside it that an earlier one had replaced by the
// publisher, which was only cut off.
bool R2Visible::IsOneEpoch(const Members& publishers,
                           const std::map<Rank, Publish>& publishes) const {
  return std::all_of(publishes.begin(), publishes.end(), [&](const auto& rank) {
    const Publish& publish = rank.second;
    return std::all_of(publish.beside.begin(), publish.beside.end(), [&](const auto& member) {
      const Incarnation publisher = publishers.at(member.first);
      const bool outlived = Came(member.second) < Came(publisher) && Came(publisher) < publish.at;
      return publisher == member.second || outlived;
    });
  });
}

Nanos R2Visible::Came(Incarnation incarnation) const {
  const Process* process = FindProcess(scene_, incarnation);
  const auto came = process == nullptr ? came_.end() : came_.find(process->number());
  return came == came_.end() ? kNever : came->second;
}

}  // namespace tensorhub::fault
