// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/checkers/r8_recovery.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "absl/strings/str_cat.h"
#include "tests/sim/process.h"

namespace tensorhub::fault {
namespace {

// Of the worker's clock, beyond its time-out: the calls that settle a verb, and its own sends.
// libros/include/tensorhub/ros.h: "drain_timeout and two seconds".
constexpr TimeMs kUnpublishMs = 2000;
constexpr TimeMs kFetchMs = 4000;
constexpr TimeMs kLeaveMs = 4000;
constexpr TimeMs kSlackMs = 200;
// How long after it was asked for a new term may begin.
constexpr Nanos kTermCounts = 60 * kSecond;

TimeMs BoundOf(const agent::Verb& verb) {
  if (const auto* publish = std::get_if<agent::PublishVerb>(&verb)) return publish->timeout_ms;
  if (const auto* unpublish = std::get_if<agent::UnpublishVerb>(&verb)) {
    return unpublish->drain_ms + kUnpublishMs;
  }
  if (const auto* fetch = std::get_if<agent::FetchVerb>(&verb)) return fetch->timeout_ms + kFetchMs;
  return std::get<agent::LeaveVerb>(verb).drain_ms + kLeaveMs;
}

// The version from which on a new term supersedes, if one begins.
std::optional<VersionNumber> TermBegunIn(const HubStep& step) {
  for (const hub::Effect& effect : step.effects) {
    const auto* change = std::get_if<hub::ModelChange>(&effect);
    const bool begun = change != nullptr && change->kind == hub::ModelChange::Kind::kTermBegun;
    if (begun) return change->version;
  }
  return std::nullopt;
}

}  // namespace

// The mark and the decisions are durable: a hub that has its rows answers from them what it decided
// in an earlier life.
void R8Recovery::OnHubStart() {
  newest_.clear();
  grace_end_ = scene_.hub->NowMs() + scene_.hub->lease_ms();
  if (scene_.hub->has_rows()) return;
  awaited_.clear();
  latest_.clear();
  asked_.clear();
}

// Whom it awaited itself, it has waited for in vain by the end of its own recovery.
void R8Recovery::OnHubEnd() {
  if (!scene_.hub->core().Status().recovering) awaited_.clear();
  for (const hub::WorkerView& view : scene_.hub->core().Workers(scene_.hub->NowMs())) {
    awaited_.try_emplace(view.worker.key, view.worker.incarnation);
  }
}

void R8Recovery::OnRecovers(const HubStep& step) {
  if (awaited_.empty()) return;
  const auto* opened = std::get_if<hub::SessionOpened>(&step.event);
  const auto it = opened == nullptr ? awaited_.end() : awaited_.find(opened->worker.key);
  const bool comes = it != awaited_.end() && IsWelcome(step);
  if (comes && SpeaksFor(*step.from, *opened, it->second)) awaited_.erase(it);
  if (step.now >= grace_end_) awaited_.clear();
  if (awaited_.empty() || scene_.hub->core().Status().recovering) return;
  scene_.Fail("R8", absl::StrCat("the recovery has ended, and ", ToString(awaited_.begin()->first),
                                 ", which was there before, has not reported"));
}

// Itself, or one that has come after it: it is not waited for then.
bool R8Recovery::SpeaksFor(const Process& comer, const hub::SessionOpened& opened,
                           Incarnation awaited) {
  if (!opened.resumed || opened.worker.incarnation == awaited) return true;
  const Process* before = FindProcess(scene_, awaited);
  return before != nullptr && came_[comer.number()] > came_[before->number()];
}

void R8Recovery::OnHubStep(const HubStep& step) {
  OnAsked(step);
  OnRecovers(step);
  if (const auto* opened = std::get_if<hub::SessionOpened>(&step.event)) {
    OnReported(step, *opened);
    OnComes(step, *opened);
  }
  if (const auto* publish = std::get_if<hub::PublishOp>(&step.event);
      publish && publish->supersede) {
    supersedes_[publish->worker.key.model][publish->version] = scene_.agenda.now();
  }
  for (const hub::Effect& effect : step.effects) {
    const auto* reply = std::get_if<hub::Reply>(&effect);
    if (reply == nullptr || !reply->status.ok()) continue;
    const CallRecord& record = scene_.hub->call(reply->call);
    if (const auto* decision = std::get_if<hub::FetchDecision>(&reply->payload)) {
      const bool latest = record.selector.kind == VersionSelector::Kind::kLatest;
      if (latest) OnLatest(record, decision->version);
    } else if (const auto* wait = std::get_if<hub::WaitReply>(&reply->payload)) {
      OnLatest(record, wait->version);
    } else if (const auto* published = std::get_if<hub::PublishReply>(&reply->payload)) {
      if (published->visible) OnVisible(record);
    }
  }
}

void R8Recovery::OnVisible(const CallRecord& record) {
  VersionNumber& latest = latest_[record.process->identity().key.model];
  latest = record.supersede ? std::min(latest, record.version) : std::max(latest, record.version);
}

void R8Recovery::OnAsked(const HubStep& step) {
  const auto* join = std::get_if<hub::JoinFetchOp>(&step.event);
  if (join == nullptr || IsRefused(step, join->call)) return;
  Asked& asked = asked_[step.from->number()];
  const bool late_or_again = join->op <= asked.op;
  if (!late_or_again) asked = {join->op, latest_[join->worker.key.model]};
}

void R8Recovery::OnLatest(const CallRecord& record, VersionNumber version) {
  const Process& process = *record.process;
  const std::string& model = process.identity().key.model;
  const Asked& asked = asked_[process.number()];
  const bool early = asked.op == record.op && asked.latest <= version;
  VersionNumber& latest = latest_[model];
  const bool superseded =
      std::any_of(supersedes_[model].begin(), supersedes_[model].end(), [&](const auto& asked_for) {
        return asked_for.first <= version && scene_.agenda.now() - asked_for.second < kTermCounts;
      });
  if (version < latest && early) return;
  if (version < latest && !superseded) {
    scene_.Fail("R8", absl::StrCat(process.name(), " is given version ", version,
                                   " as the latest; it was ", latest));
  }
  latest = version;
}

// Whoever holds a version that it knows to be visible brings the mark back. Who only publishes in a
// later term brings that term: it supersedes what others have reported, and nobody knows what stood
// before it.
void R8Recovery::OnReported(const HubStep& step, const hub::SessionOpened& opened) {
  const auto& holding = opened.holding;
  const std::optional<VersionNumber> begins = TermBegunIn(step);
  if (!holding || !holding->complete || !(holding->visible || !holding->published)) {
    VersionNumber& latest = latest_[opened.worker.key.model];
    if (begins && latest >= *begins) latest = 0;
    return;
  }
  for (const hub::Effect& effect : step.effects) {
    if (std::holds_alternative<hub::CloseSession>(effect)) return;
    const auto* directive = std::get_if<hub::Directive>(&effect);
    if (directive == nullptr || directive->session != opened.session) continue;
    if (std::holds_alternative<hub::Dropped>(directive->body)) return;
    if (std::holds_alternative<hub::Superseded>(directive->body)) return;
  }
  // And the term in which it was published.
  VersionNumber& latest = latest_[opened.worker.key.model];
  latest = begins ? std::min(latest, holding->version) : std::max(latest, holding->version);
}

void R8Recovery::BeforeHubStep(const hub::Event& event) {
  const auto* opened = std::get_if<hub::SessionOpened>(&event);
  if (opened == nullptr) return;
  there_ = 0;
  for (const hub::WorkerView& view : scene_.hub->core().Workers(scene_.hub->NowMs())) {
    if (view.worker.key == opened->worker.key) there_ = view.worker.incarnation;
  }
}

// Of two processes of a rank only the newer one speaks, in whichever life of the hub it came, and
// whichever is back first. Whom this life has seen replaced speaks no more, whoever else is there.
// Of one that was adopted nobody says when it came: numbers of two hubs do not compare.
void R8Recovery::OnComes(const HubStep& step, const hub::SessionOpened& opened) {
  const uint32_t number = step.from->number();
  const bool welcome = IsWelcome(step);
  const Id128& mine = scene_.hub->identity().store_id;
  const bool of_another = mine && opened.known_store && opened.known_store != mine;
  if (of_another) adopted_.insert(number);
  if (welcome && !opened.resumed) newest_[opened.worker.key] = came_[number] = ++comers_;
  if (!welcome && came_[number] < newest_[opened.worker.key]) return;
  const Process* there = FindProcess(scene_, there_);
  if (there == nullptr || there == step.from || !opened.resumed) return;
  if (adopted_.contains(number) || adopted_.contains(there->number())) return;
  const bool newer = came_[number] > came_[there->number()];
  if (newer == welcome) return;
  scene_.Fail("R8",
              absl::StrCat(step.from->name(), welcome ? " takes the place of " : " gives way to ",
                           there->name(), ", which came ", newer ? "before" : "after", " it"));
}

void R8Recovery::CheckVerbsEnd() {
  const Nanos now = scene_.agenda.now();
  for (const auto& process : scene_.processes) {
    if (!process->node().running() || process->idle()) continue;
    const TimeMs bound = BoundOf(process->verb()) + kSlackMs;
    if (process->NowMs() - process->verb_asked_ms() <= bound) continue;
    // Its deadline may have passed while it was stopped; then the verb is settled from here on.
    if (now - process->node().disturbed_at() < (kFetchMs + kSlackMs) * kMillisecond) continue;
    scene_.Fail("R8", absl::StrCat(process->name(), ": verb ", process->verb().index(),
                                   " has not ended within ", bound, " ms"));
  }
}

void R8Recovery::CheckListed(const Process& process) {
  const WorkerKey& key = process.identity().key;
  const auto holding = process.Report().holding;
  const auto views = scene_.hub->core().References(key.model, std::nullopt);
  const auto view = std::find_if(views.begin(), views.end(), [&](const auto& reference) {
    return reference.worker == process.identity();
  });
  const bool listed = view != views.end();
  const bool holds = holding && holding->complete;
  if (holds && !listed) {
    return scene_.Fail("R8", absl::StrCat(process.name(), " holds version ", holding->version,
                                          ", and the hub has forgotten it"));
  }
  if (!holding && listed) {
    return scene_.Fail(
        "R8",
        absl::StrCat(process.name(), " holds nothing, and the hub lists version ", view->version));
  }
  if (!holds) return;
  const bool whole = view->state == hub::ReferenceState::kComplete ||
                     view->state == hub::ReferenceState::kPublishing;
  if (whole && view->version == holding->version && view->generation == holding->generation) return;
  scene_.Fail("R8",
              absl::StrCat(process.name(), " holds version ", holding->version, " in generation ",
                           holding->generation, ", and the hub lists ", view->version, " in ",
                           view->generation, " as ", std::string(hub::ToString(view->state))));
}

void R8Recovery::CheckSettled() {
  for (const auto& process : scene_.processes) {
    if (!process->node().running() || !process->link().up()) continue;
    if (process->idle()) CheckListed(*process);
  }
}

}  // namespace tensorhub::fault
