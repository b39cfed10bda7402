// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/checkers/assignments.h"

#include <algorithm>
#include <variant>

#include "tests/sim/hub_node.h"
#include "tests/sim/process.h"

namespace tensorhub::fault {
namespace {

bool IsNamed(const hub::OpenFetch& fetch, AssignmentNumber number) {
  return number == fetch.assignment ||
         std::any_of(fetch.streams.begin(), fetch.streams.end(),
                     [number](const hub::OpenStream& each) { return each.assignment == number; });
}

}  // namespace

const Assignments::Place* Assignments::Current(uint32_t process) const {
  const auto found = readers_.find(process);
  if (found == readers_.end() || !found->second.running) return nullptr;
  const auto place = found->second.places.find(found->second.last);
  return place == found->second.places.end() ? nullptr : &place->second;
}

void Assignments::OnHubStep(const HubStep& step) {
  new_.clear();
  OnEvent(step);
  for (const hub::Effect& effect : step.effects) {
    if (const auto* close = std::get_if<hub::CloseSession>(&effect)) {
      // The worker's own later session may have taken over.
      const Process* process = scene_.hub->stream(close->session).process;
      if (process->link().session() == close->session) readers_.erase(process->number());
      continue;
    }
    const auto* directive = std::get_if<hub::Directive>(&effect);
    if (directive == nullptr) continue;
    const uint32_t process = scene_.hub->stream(directive->session).process->number();
    if (const auto* abort = std::get_if<hub::AbortRead>(&directive->body)) {
      const auto found = readers_.find(process);
      if (found != readers_.end() && found->second.transaction == abort->transaction) {
        found->second.running = false;
      }
    }
    const auto* assign = std::get_if<hub::Assign>(&directive->body);
    if (assign == nullptr) continue;
    Reader& reader = readers_[process];
    if (reader.transaction != assign->transaction) {
      reader = Reader{};
      reader.transaction = assign->transaction;
    }
    if (assign->assignment < reader.last && !assign->ranges) continue;
    const bool again = assign->assignment <= reader.last;  // said before, in another session
    reader.places[assign->assignment] = {assign->source, assign->generation, assign->tier,
                                         assign->publication};
    if (again) continue;
    reader.last = assign->assignment;
    ++reader.moves;
    new_.insert({process, assign->assignment});
  }
  // What was due came before the event.
  const auto* finish = std::get_if<hub::FinishReadOp>(&step.event);
  if (finish == nullptr || step.from == nullptr) return;
  EndWith(*step.from, finish->transaction);
  std::erase_if(new_, [&](const auto& made) { return made.first == step.from->number(); });
}

void Assignments::OnEvent(const HubStep& step) {
  if (step.from == nullptr) return;
  const Process& from = *step.from;
  const auto found = readers_.find(from.number());
  // Only what is said in a session keeps a lease; that it ends is not said.
  const bool renews = std::visit(
      [](const auto& e) {
        constexpr bool kEnd = std::is_same_v<std::decay_t<decltype(e)>, hub::SessionClosed>;
        return !kEnd && requires { e.session; };
      },
      step.event);
  if (renews) OnHeard(from, step.now);
  if (const auto* opened = std::get_if<hub::SessionOpened>(&step.event)) {
    OnOpened(step, *opened);
  } else if (const auto* released = std::get_if<hub::SourceReleased>(&step.event)) {
    const bool all = released->assignment == kAllAssignments;
    if (all) return EndWith(from, released->transaction);
    Release(from, released->transaction, released->assignment);
  } else if (const auto* failed = std::get_if<hub::SourceFailed>(&step.event)) {
    if (found != readers_.end()) found->second.complained = true;
    Release(from, failed->transaction, failed->assignment);
  } else if (std::holds_alternative<hub::SourceSilent>(step.event)) {
    if (found != readers_.end()) found->second.complained = true;
  } else if (const auto* finish = std::get_if<hub::FinishReadOp>(&step.event)) {
    finished_[from.number()] = finish->transaction;
  } else if (const auto* begin = std::get_if<hub::BeginReadOp>(&step.event)) {
    EndOthers(from, begin->transaction);
  } else if (std::holds_alternative<hub::JoinFetchOp>(step.event) ||
             std::holds_alternative<hub::PublishOp>(step.event)) {
    EndAborted(from);
  } else if (std::holds_alternative<hub::LeaveOp>(step.event)) {
    readers_.erase(from.number());
  }
}

// After a silence of a lease its reference has gone, and its readers count there no more.
void Assignments::OnHeard(const Process& from, TimeMs now) {
  const auto before = heard_.find(from.number());
  const bool ended = before != heard_.end() && now - before->second >= scene_.hub->lease_ms();
  heard_[from.number()] = now;
  if (!ended) return;
  for (auto& [number, reader] : readers_) {
    std::erase_if(reader.places,
                  [&](const auto& place) { return place.second.source == from.identity(); });
  }
}

// It says itself what it reads. What it was told before and does not mention, it has left, or has
// never turned to.
void Assignments::OnOpened(const HubStep& step, const hub::SessionOpened& opened) {
  const bool refused = std::any_of(step.effects.begin(), step.effects.end(), [&](const auto& e) {
    const auto* close = std::get_if<hub::CloseSession>(&e);
    return close != nullptr && close->session == opened.session;
  });
  if (refused) return;
  // Its predecessor reads no more.
  std::erase_if(readers_, [&](const auto& reader) {
    const WorkerIdentity& other = scene_.processes[reader.first]->identity();
    return other.key == opened.worker.key && other.incarnation != opened.worker.incarnation;
  });
  if (!opened.open_fetch || !opened.holding) {
    readers_.erase(step.from->number());
    return;
  }
  const hub::OpenFetch& fetch = *opened.open_fetch;
  const auto found = readers_.find(step.from->number());
  if (found == readers_.end()) return Restore(step.from->number(), fetch);
  if (found->second.transaction != fetch.transaction) {
    readers_.erase(found);
    return;
  }
  std::erase_if(found->second.places,
                [&](const auto& place) { return !IsNamed(fetch, place.first); });
}

// Told by an earlier life of the hub.
void Assignments::Restore(uint32_t process, const hub::OpenFetch& fetch) {
  if (!fetch.source || fetch.assignment == 0 || fetch.finished) return;
  // Until it has its answer, it names a fetch of which it has said that it is done.
  const auto finished = finished_.find(process);
  if (finished != finished_.end() && finished->second == fetch.transaction) return;
  Reader& reader = readers_[process];
  reader.transaction = fetch.transaction;
  reader.last = fetch.assignment;
  reader.complained = true;  // for all that is known
  reader.restored = true;
  reader.places[fetch.assignment] = {*fetch.source, fetch.source_generation, Tier::kHost,
                                     fetch.publication};
  for (const hub::OpenStream& stream : fetch.streams) {
    reader.places[stream.assignment] = {stream.source, stream.generation, Tier::kHost,
                                        fetch.publication};
    reader.last = std::max(reader.last, stream.assignment);
  }
}

void Assignments::Release(const Process& reader, const TransactionId& transaction,
                          AssignmentNumber number) {
  const auto found = readers_.find(reader.number());
  if (found == readers_.end() || found->second.transaction != transaction) return;
  found->second.places.erase(number);
}

void Assignments::EndWith(const Process& reader, const TransactionId& transaction) {
  const auto found = readers_.find(reader.number());
  if (found != readers_.end() && found->second.transaction == transaction) readers_.erase(found);
}

// It goes on to something else: it has ended the fetch, whether or not it could say so.
void Assignments::EndAborted(const Process& reader) {
  const auto found = readers_.find(reader.number());
  if (found != readers_.end() && !found->second.running) readers_.erase(found);
}

void Assignments::EndOthers(const Process& reader, const TransactionId& transaction) {
  const auto found = readers_.find(reader.number());
  if (found != readers_.end() && found->second.transaction != transaction) readers_.erase(found);
}

}  // namespace tensorhub::fault
