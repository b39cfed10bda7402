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
  if (!scene_.hub->has_rows()) terms_.clear();
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
        if (!row) continue;
        const bool seen = seen_.contains(row->publication);
        if (!seen) OnVisible(model, row->latest, IsGone(step, model, row->latest, /*since=*/0));
        OnTerms(model, row->terms);
      }
    }
    if (const auto* reply = std::get_if<hub::Reply>(&effect)) {
      const auto* decision = std::get_if<hub::FetchDecision>(&reply->payload);
      const auto* published = std::get_if<hub::PublishReply>(&reply->payload);
      if (decision == nullptr && published == nullptr) continue;
      const CallRecord& record = scene_.hub->call(reply->call);
      const std::string& model = record.process->identity().key.model;
      // Asked to compare, it has published nothing yet.
      const bool compares = published != nullptr && published->compare;
      if (compares) published_.erase({record.process->number(), record.generation});
      if (decision != nullptr) OnDecided(model, *decision);
      if (published != nullptr && reply->status.ok()) OnPublished(model, *published);
    }
    const auto* change = std::get_if<hub::ModelChange>(&effect);
    if (change == nullptr || change->kind != hub::ModelChange::Kind::kVersionVisible) continue;
    const bool gone = IsGone(step, change->model, change->version, change->revision);
    OnVisible(change->model, change->version, gone);
  }
}

// It came and went in one step: its publishers are not listed any more, so that it cannot be told
// who they were.
bool R2Visible::IsGone(const HubStep& step, const std::string& model, VersionNumber version,
                       uint64_t since) {
  return std::any_of(step.effects.begin(), step.effects.end(), [&](const hub::Effect& effect) {
    const auto* change = std::get_if<hub::ModelChange>(&effect);
    return change != nullptr && change->kind == hub::ModelChange::Kind::kVersionGone &&
           change->model == model && change->version == version && change->revision > since;
  });
}

// R2: of two with one number each was whole once, though one has superseded the other by now.
void R2Visible::OnVisible(const std::string& model, VersionNumber version, bool gone) {
  for (const hub::VersionView& view : scene_.hub->core().Versions(model)) {
    const bool published = view.state != hub::VersionState::kPublishing;
    if (!published || view.version != version || !seen_.insert(view.publication).second) continue;
    if (!gone) CheckPublished(model, view);
  }
}

void R2Visible::CheckPublished(const std::string& model, const hub::VersionView& view) {
  std::map<std::string, Members> publishers;
  std::map<std::string, std::map<Rank, Publish>> publishes;
  for (const hub::ReferenceView& reference : scene_.hub->core().References(model, view.version)) {
    const Process* process = FindProcess(scene_, reference.worker.incarnation);
    if (process == nullptr || reference.publication != view.publication) continue;
    const auto found = published_.find({process->number(), reference.generation});
    if (found == published_.end()) continue;
    publishers[reference.group][reference.worker.key.rank] = reference.worker.incarnation;
    publishes[reference.group][reference.worker.key.rank] = found->second;
  }
  for (const auto& [group, ranks] : publishers) {
    if (ranks.size() == view.world_size && IsOneEpoch(ranks, publishes[group])) return;
  }
  scene_.Fail("R2", absl::StrCat("version ", view.version, " of ", model,
                                 " became visible, and no group had published it whole"));
}

void R2Visible::OnTerms(const std::string& model, const std::vector<Term>& terms) {
  const std::map<TermNumber, VersionNumber>& known = terms_[model];
  const TermNumber before = known.empty() ? 0 : known.rbegin()->first;
  const TermNumber now = terms.empty() ? 0 : terms.back().number;
  if (now >= before) return;
  scene_.Fail("R2", absl::StrCat("the term of ", model, " falls from ", before, " to ", now));
}

// A late answer may speak of what a hub without rows has forgotten.
void R2Visible::OnPublished(const std::string& model, const hub::PublishReply& reply) {
  if (reply.compare) return;
  published_in_.try_emplace(reply.publication, reply.term.number);
  if (reply.visible && reply.term.number > 0) terms_[model][reply.term.number] = reply.term.since;
}

// One that is repeated may have been made before.
void R2Visible::OnDecided(const std::string& model, const hub::FetchDecision& decision) {
  if (!decided_.insert(decision.transaction).second) return;
  const auto published = published_in_.find(decision.publication);
  const TermNumber in = published == published_in_.end() ? decision.term.number : published->second;
  for (const auto& [number, since] : terms_[model]) {
    if (number <= in || since > decision.version) continue;
    scene_.Fail("R2",
                absl::StrCat("a fetch of ", model, " is decided on version ", decision.version,
                             " of term ", in, ", which term ", number, " supersedes"));
  }
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
