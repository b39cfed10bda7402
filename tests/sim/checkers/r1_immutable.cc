// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/checkers/r1_immutable.h"

#include <set>
#include <variant>

#include "absl/strings/str_cat.h"
#include "tests/sim/process.h"

namespace tensorhub::fault {

void R1Immutable::Forget(const Process* process) {
  if (process != nullptr) holders_.erase(process->number());
}

// Whatever may end a reference, rightly or not, ends what is known of it here.
void R1Immutable::OnEvent(const HubStep& step) {
  const auto* answer = std::get_if<hub::ProbeAnswer>(&step.event);
  const bool ends = std::holds_alternative<hub::SessionOpened>(step.event) ||
                    std::holds_alternative<hub::SessionClosed>(step.event) ||
                    std::holds_alternative<hub::UnpublishOp>(step.event) ||
                    std::holds_alternative<hub::BeginReadOp>(step.event) ||
                    std::holds_alternative<hub::LeaveOp>(step.event) ||
                    (answer != nullptr && !answer->holds);
  if (ends) Forget(step.from);
}

void R1Immutable::ForgetDropped(const hub::Effect& effect) {
  if (const auto* close = std::get_if<hub::CloseSession>(&effect)) {
    Forget(scene_.hub->stream(close->session).process);
  } else if (const auto* directive = std::get_if<hub::Directive>(&effect)) {
    const Process* process = scene_.hub->stream(directive->session).process;
    if (std::holds_alternative<hub::Dropped>(directive->body)) Forget(process);
    const auto* visible = std::get_if<hub::Visible>(&directive->body);
    if (process != nullptr && visible != nullptr) CheckAlike(*process, visible->publication);
    const auto holder = visible == nullptr || process == nullptr ? holders_.end()
                                                                 : holders_.find(process->number());
    if (holder == holders_.end() || holder->second.publication != visible->publication) return;
    holder->second.visible = true;
  }
}

// What several ranks have is the same at all of them, or else no version.
void R1Immutable::CheckAlike(const Process& process, const PublicationId& visible) {
  const auto holding = process.Report().holding;
  if (!process.unlike() || !holding || holding->publication != visible) return;
  if (!holding->published) return;
  scene_.Fail("R1", absl::StrCat("version ", holding->version, " is visible, and ", process.name(),
                                 " has published other bytes of what all ranks have"));
}

// Who is dropped makes room for who is answered in the same event; and who is answered may be
// dropped by the end of it.
void R1Immutable::OnHubStep(const HubStep& step) {
  OnEvent(step);
  for (const hub::Effect& effect : step.effects) ForgetDropped(effect);
  for (const hub::Effect& effect : step.effects) {
    ForgetDropped(effect);
    const auto* reply = std::get_if<hub::Reply>(&effect);
    if (reply == nullptr || !reply->status.ok()) continue;
    const CallRecord& record = scene_.hub->call(reply->call);
    if (const auto* published = std::get_if<hub::PublishReply>(&reply->payload)) {
      OnPublished(record, *published);
    } else if (const auto* decision = std::get_if<hub::FetchDecision>(&reply->payload)) {
      OnDecided(record, *decision);
    } else if (const auto* fetched = std::get_if<hub::FinishReadReply>(&reply->payload)) {
      OnFetched(record, *fetched);
    }
  }
}

// One whose lease has ended holds nothing that binds the hub. It may have been told that its
// reference stands after its session had ended, so that no event of its own says so.
void R1Immutable::ForgetTheDead() {
  std::set<Incarnation> alive;
  for (const hub::WorkerView& view : scene_.hub->core().Workers(scene_.hub->NowMs())) {
    alive.insert(view.worker.incarnation);
  }
  std::erase_if(holders_, [&](const auto& holder) {
    return !alive.contains(scene_.processes[holder.first]->identity().incarnation);
  });
}

void R1Immutable::OnPublished(const CallRecord& record, const hub::PublishReply& reply) {
  if (reply.compare) return;  // nothing is published yet
  const Process& process = *record.process;
  // An answer may be late, or repeated: whoever is dead or has given it up meanwhile shows nobody
  // any bytes.
  if (process.node().dead() || process.memory().word().generation != record.generation) return;
  const Contents::Number number{process.identity().key.model, record.version};
  ForgetTheDead();
  // R2: those that would begin a term are rivals until one is whole. Published again without
  // saying so, it is one still.
  const auto before = holders_.find(process.number());
  const bool again = before != holders_.end() && !before->second.visible &&
                     before->second.publication == reply.publication;
  const bool visible = reply.visible || !(record.supersede || again);
  for (const auto& [other, holder] : holders_) {
    if (other == process.number() || holder.number != number) continue;
    if (holder.publication == reply.publication) continue;
    if (holder.term != reply.term.number || !holder.visible || !visible) continue;
    scene_.Fail("R1",
                absl::StrCat("version ", number.second, " of ", number.first, " is ",
                             ToHex(reply.publication), " for ", process.name(), " and ",
                             ToHex(holder.publication), " for ", scene_.processes[other]->name()));
  }
  holders_[process.number()] = {number, reply.publication, reply.term.number, visible};
  // All contents of an empty shard are the same, and who publishes again what it fetched of one may
  // not know what it is.
  if (record.content == 0 || process.memory().chunking().count() == 0) return;
  const auto problem = scene_.contents.Bind(reply.publication, {number, record.content});
  if (problem) scene_.Fail("R1", *problem);
}

// Whoever is told that it has published holds what later fetches of that publication get.
void R1Immutable::OnVerbDone(const Process& process, const agent::VerbDone& done) {
  if (!done.status.ok() || !std::holds_alternative<agent::PublishVerb>(process.verb())) return;
  const auto holding = process.Report().holding;
  if (!holding || process.publishing() == 0 || process.memory().chunking().count() == 0) return;
  const Contents::Number number{process.identity().key.model, holding->version};
  const auto problem = scene_.contents.Bind(holding->publication, {number, process.publishing()});
  if (problem) scene_.Fail("R1", absl::StrCat(process.name(), ": ", *problem));
}

void R1Immutable::OnDecided(const CallRecord& record, const hub::FetchDecision& decision) {
  const Contents::Number number{record.process->identity().key.model, decision.version};
  decided_[record.process->number()] = {number, decision.publication, decision.term.number};
  const Contents::Publication* known = scene_.contents.Find(decision.publication);
  if (known == nullptr) return Learn(number, decision.publication);
  if (known->number == number) return;
  scene_.Fail("R1", absl::StrCat("publication ", ToHex(decision.publication), " is version ",
                                 known->number.second, " and ", number.second));
}

// An outcome stands, also for one whose buffers are not listed any more.
void R1Immutable::OnFetched(const CallRecord& record, const hub::FinishReadReply&) {
  const auto found = decided_.find(record.process->number());
  if (found == decided_.end()) return;
  const Contents::Number& number = found->second.number;
  for (const hub::ReferenceView& view :
       scene_.hub->core().References(number.first, number.second)) {
    if (view.worker != record.process->identity()) continue;
    if (view.publication != found->second.publication) continue;
    holders_[record.process->number()] = found->second;
  }
}

// No publisher heard its answer: then those that hold it say what it is.
void R1Immutable::Learn(const Contents::Number& number, const PublicationId& id) {
  for (const hub::ReferenceView& view :
       scene_.hub->core().References(number.first, number.second)) {
    if (view.publication != id) continue;
    const Process* process = FindProcess(scene_, view.worker.incarnation);
    const ContentId content = process == nullptr ? 0 : process->Published(view.generation);
    if (content == 0 || process->memory().word().generation != view.generation) continue;
    if (process->memory().chunking().count() == 0) continue;
    if (const auto problem = scene_.contents.Bind(id, {number, content})) {
      scene_.Fail("R1", *problem);
    }
  }
}

}  // namespace tensorhub::fault
