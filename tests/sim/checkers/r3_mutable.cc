// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/checkers/r3_mutable.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "tests/sim/gets.h"
#include "tests/sim/hub_node.h"
#include "tests/sim/process.h"

namespace tensorhub::fault {

// By its lease, by its own word, or by the hub's.
void R3Mutable::OnListed(const HubStep& step) {
  if (step.from != nullptr) {
    const uint32_t from = step.from->number();
    const auto* answer = std::get_if<hub::ProbeAnswer>(&step.event);
    const bool late = heard_.contains(from) && step.now - heard_[from] >= scene_.hub->lease_ms();
    const bool opened = std::holds_alternative<hub::SessionOpened>(step.event);
    // It may be listed anew, until its call is repeated.
    if (late || (opened && unlisted_.contains(from))) closed_.erase(from);
    if (late || opened || (answer != nullptr && !answer->holds)) unlisted_.insert(from);
    if (std::visit(
            [](const auto& e) {
              return requires { e.session; };
            },
            step.event)) {
      heard_[from] = step.now;
    }
  }
  for (const hub::Effect& effect : step.effects) {
    if (const auto* close = std::get_if<hub::CloseSession>(&effect)) {
      unlisted_.insert(scene_.hub->stream(close->session).process->number());
    } else if (const auto* directive = std::get_if<hub::Directive>(&effect)) {
      const uint32_t process = scene_.hub->stream(directive->session).process->number();
      if (std::holds_alternative<hub::Dropped>(directive->body)) unlisted_.insert(process);
    } else if (const auto* reply = std::get_if<hub::Reply>(&effect)) {
      const auto* published = std::get_if<hub::PublishReply>(&reply->payload);
      const bool lists = (published != nullptr && !published->compare) ||
                         std::holds_alternative<hub::FinishReadReply>(reply->payload);
      if (reply->status.ok() && lists) {
        unlisted_.erase(scene_.hub->call(reply->call).process->number());
      }
    }
  }
}

void R3Mutable::OnHubStep(const HubStep& step) {
  OnListed(step);
  const std::set<Incarnation> aside = std::exchange(aside_, ThoseAside());
  for (const hub::Effect& effect : step.effects) {
    if (const auto* reply = std::get_if<hub::Reply>(&effect)) {
      const auto* done = std::get_if<hub::UnpublishReply>(&reply->payload);
      const CallRecord& record = scene_.hub->call(reply->call);
      if (done != nullptr && reply->status.ok() && done->drained) {
        OnDrained(step, *record.process, record.generation);
      }
    } else if (const auto* directive = std::get_if<hub::Directive>(&effect)) {
      const auto* assign = std::get_if<hub::Assign>(&directive->body);
      const Process& reader = *scene_.hub->stream(directive->session).process;
      // A reader that was away when it was assigned hears of it now; it has counted since then.
      const bool was_away =
          std::holds_alternative<hub::SessionOpened>(step.event) && step.from == &reader;
      if (assign != nullptr && !was_away && assignments_.IsNew(*assign, reader.number())) {
        OnAssigned(reader.identity().incarnation, *assign);
        const Incarnation source = assign->source.incarnation;
        // Before the step and after it: so also in between, but for what the worker itself says.
        const bool stood = aside.contains(source) && aside_.contains(source);
        if (stood && (step.from == nullptr || step.from->identity().incarnation != source)) {
          scene_.Fail("R3", absl::StrCat(reader.name(), " is assigned to ",
                                         FindProcess(scene_, source)->name(),
                                         ", which is out of service, and not alone"));
        }
      }
    }
  }
  // Whose time was up in this step, or whose source had gone, was led somewhere before.
  if (const auto* unpublish = std::get_if<hub::UnpublishOp>(&step.event)) {
    OnUnpublish(*step.from, *unpublish);
  }
}

// By what is listed, and by whom an operator has withdrawn.
std::set<Incarnation> R3Mutable::ThoseAside() const {
  std::set<Incarnation> withdrawn;
  std::set<std::string> models;
  for (const hub::WorkerView& view : scene_.hub->core().Workers(scene_.hub->NowMs())) {
    if (!view.withdrawn) continue;
    withdrawn.insert(view.worker.incarnation);
    models.insert(view.worker.key.model);
  }
  std::set<Incarnation> aside;
  for (const std::string& model : models) {
    const auto held = scene_.hub->core().References(model, std::nullopt);
    for (const hub::ReferenceView& one : held) {
      if (!withdrawn.contains(one.worker.incarnation)) continue;
      const bool other = std::any_of(held.begin(), held.end(), [&](const auto& each) {
        return each.state == hub::ReferenceState::kComplete &&
               !withdrawn.contains(each.worker.incarnation) &&
               each.publication == one.publication && each.sharding.id == one.sharding.id &&
               each.worker.key.rank == one.worker.key.rank;
      });
      if (other) aside.insert(one.worker.incarnation);
    }
  }
  return aside;
}

// A call that is too late closes nothing.
void R3Mutable::OnUnpublish(const Process& source, const hub::UnpublishOp& unpublish) {
  const std::string& model = source.identity().key.model;
  for (const hub::ReferenceView& view : scene_.hub->core().References(model, std::nullopt)) {
    if (view.worker != source.identity() || view.generation != unpublish.generation) continue;
    const bool drains = view.state == hub::ReferenceState::kDraining;
    if (drains) closed_[source.number()] = unpublish.generation;
  }
}

void R3Mutable::OnAssigned(Incarnation reader, const hub::Assign& assign) {
  const Process* source = FindProcess(scene_, assign.source.incarnation);
  const auto closed = closed_.find(source->number());
  if (closed == closed_.end() || closed->second != assign.generation) return;
  scene_.Fail("R3", absl::StrCat(FindProcess(scene_, reader)->name(), " is assigned to ",
                                 source->name(), ", which is draining"));
}

// What is under way there, whatever was said of it.
void R3Mutable::CheckNoGets(const HubStep& step, const Process& source, Generation generation) {
  for (const Process* reader : scene_.gets->ReadersOf(source, generation)) {
    if (reader->node().dead()) continue;
    if (step.now - assignments_.HeardAt(reader->number()) >= scene_.hub->lease_ms()) continue;
    scene_.Fail("R3", absl::StrCat(source.name(), " hears that its readers are gone, and ",
                                   reader->name(), " has a get under way there"));
  }
}

// A reader that has been silent for a lease does not count any more.
void R3Mutable::OnDrained(const HubStep& step, const Process& source, Generation generation) {
  if (unlisted_.contains(source.number())) return;
  CheckNoGets(step, source, generation);
  for (const auto& [number, reader] : assignments_.readers()) {
    if (step.now - assignments_.HeardAt(number) >= scene_.hub->lease_ms()) continue;
    // A recovering hub that has given it another source does not know of the one before.
    if (reader.restored && reader.moves > 0) continue;
    for (const auto& [assignment, place] : reader.places) {
      if (place.source != source.identity() || place.generation != generation) continue;
      scene_.Fail("R3", absl::StrCat(source.name(), " hears that its readers are gone, and ",
                                     scene_.processes[number]->name(), " was told to read there"));
    }
  }
}

}  // namespace tensorhub::fault
