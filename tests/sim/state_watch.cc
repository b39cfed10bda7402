// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/state_watch.h"

#include <algorithm>
#include <set>
#include <variant>

#include "absl/strings/str_cat.h"
#include "tests/sim/hearsay.h"
#include "tests/sim/process.h"

namespace tensorhub::fault {
namespace {

std::string GroupOf(const std::string& model, const std::string& group) {
  return absl::StrCat(model, "/", group);
}
std::string GroupOf(const Process& process) {
  return GroupOf(process.identity().key.model, process.identity().key.group);
}

std::string StateOf(const hub::WorkerView& worker) {
  return worker.connected ? "in a session" : "lease runs";
}

std::string StateOf(const hub::GroupRow& row) {
  if (!row.outcome) return "open";
  return row.outcome->ok() ? "committed" : "failed";
}

}  // namespace

void StateWatch::Compare(const std::string& machine, States& before, States now,
                         const std::string& cause, const std::string& by) {
  std::set<std::string> owners;
  for (const auto& [owner, state] : before) owners.insert(owner);
  for (const auto& [owner, state] : now) owners.insert(owner);
  for (const std::string& owner : owners) {
    const auto was = before.find(owner);
    const auto is = now.find(owner);
    const std::string from = was == before.end() ? kNone : was->second;
    const std::string to = is == now.end() ? kNone : is->second;
    if (from == to) continue;
    const bool own = by.empty() || by == owner;
    ++arrows_[{machine, from, to, own ? cause : absl::StrCat(cause, " of another")}];
  }
  before = std::move(now);
}

void StateWatch::NoteJoins(const hub::Event& event, const hub::Effects& effects,
                           const Process* from) {
  if (const auto* join = std::get_if<hub::JoinFetchOp>(&event)) {
    joins_[join->call] = GroupOf(*from);
  } else if (const auto* cancelled = std::get_if<hub::CallCancelled>(&event)) {
    joins_.erase(cancelled->call);
  }
  for (const hub::Effect& effect : effects) {
    if (const auto* reply = std::get_if<hub::Reply>(&effect)) joins_.erase(reply->call);
  }
}

void StateWatch::OnHubStep(HubNode& hub, const hub::Event& event, const hub::Effects& effects,
                           const Process* from) {
  // Most events are of these kinds, and where nothing comes of them no state has changed.
  const bool reports =
      std::holds_alternative<hub::Heartbeat>(event) || std::holds_alternative<hub::Progress>(event);
  if (reports && effects.empty()) return;
  NoteJoins(event, effects, from);
  States workers;
  States references;
  States fetches;
  for (const hub::WorkerView& worker : hub.core().Workers(hub.NowMs())) {
    const std::string process = absl::StrCat(worker.worker.incarnation);
    workers[process] = StateOf(worker);
    if (worker.holds) references[process] = ToString(worker.state);
  }
  for (const auto& [key, row] : hub.kept().groups) {
    fetches[GroupOf(key.model, key.group)] = StateOf(row);
  }
  // What its group had before is over.
  for (const auto& [call, group] : joins_) {
    if (fetches[group] != "open") fetches[group] = "joining";
  }
  const std::string cause = CauseOf(event);
  const std::string by = from == nullptr ? "" : absl::StrCat(from->identity().incarnation);
  Compare(kWorker, workers_, std::move(workers), cause, by);
  Compare(kReference, references_, std::move(references), cause, by);
  Compare(kFetch, fetches_, std::move(fetches), cause, from == nullptr ? "" : GroupOf(*from));
}

void StateWatch::OnHubEnd() {
  workers_.clear();
  references_.clear();
  fetches_.clear();
  joins_.clear();
}

void StateWatch::OnAgentStep(uint32_t process, const agent::Event& event,
                             const agent::AgentCore::Phases& phases) {
  const std::string cause = CauseOf(event);
  std::string& verb = verbs_.try_emplace(process, "idle").first->second;
  if (verb != phases.verb) ++arrows_[{kVerb, verb, std::string(phases.verb), cause}];
  verb = phases.verb;
  std::vector<std::string>& streams = streams_[process];
  const size_t count = std::max(streams.size(), phases.streams.size());
  for (size_t part = 0; part < count; ++part) {
    const std::string from = part < streams.size() ? streams[part] : kNone;
    const std::string to = part < phases.streams.size() ? std::string(phases.streams[part]) : kNone;
    if (from != to) ++arrows_[{kStream, from, to, cause}];
  }
  streams.assign(phases.streams.begin(), phases.streams.end());
}

void StateWatch::OnRunEnd() {
  OnHubEnd();
  verbs_.clear();
  streams_.clear();
}

}  // namespace tensorhub::fault
