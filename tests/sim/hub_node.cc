// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/hub_node.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/planning.h"
#include "tests/sim/checkers/checkers.h"
#include "tests/sim/details.h"
#include "tests/sim/effect_trace.h"
#include "tests/sim/process.h"
#include "tests/sim/state_watch.h"

namespace tensorhub::fault {
namespace {

// Its invariants are looked at after one event in so many.
constexpr uint64_t kCheckEvery = 500;
constexpr Nanos kMoment = 800 * kMicrosecond;
constexpr Nanos kPlanningMax = 60 * kMillisecond;

hub::HubLimits SmallLimits(Dice& dice) {
  hub::HubLimits limits;
  limits.dead_workers = 1 + dice.Below(6);
  limits.past_versions = 1 + dice.Below(6);
  limits.waits = 1 + dice.Below(4);
  limits.excluded_sources = 4 + dice.Below(3);
  return limits;
}

}  // namespace

// A hub without a data directory has no store, and the clock as its epoch.
void HubNode::Start() {
  const bool again = !nodes_.empty();
  nodes_.push_back(std::make_unique<Node>());
  Node& node = *nodes_.back();
  const int64_t drift = scene_.plan.drift_ppm_max;
  const int64_t drifts = drift == 0 ? 0 : scene_.dice.Time(-drift, drift);
  node.SetClock(scene_.agenda.now(), scene_.dice.Time(kSecond, 1000 * kSecond), drifts);
  if (scene_.plan.keeps_data && !identity_.store_id) {
    identity_.store_id = {scene_.dice.Next() | 1, scene_.dice.Next()};
  }
  ++identity_.epoch;
  if (!scene_.plan.keeps_data) kept_ = {};
  options_.durable = kept_;
  options_.keep_latest = scene_.plan.keep_latest;
  options_.cut_off_ms = kCutOffMs;
  options_.sources_per_reader = scene_.plan.sources_per_reader;
  options_.guard_reads = again || !scene_.plan.guarded_late;
  if (scene_.plan.long_chain > 0) options_.long_chain = scene_.plan.long_chain;
  options_.seed = scene_.dice.Next();
  options_.hub_epoch = identity_.epoch;
  options_.store = identity_.store_id;
  options_.recovering = again && identity_.epoch > 1 && scene_.plan.keeps_data;
  if (scene_.plan.small_limits) options_.limits = SmallLimits(scene_.dice);
  options_.wall_at_zero = scene_.agenda.now() / (kSecond / 1000) - NowMs();
  hub_ = std::make_unique<hub::Hub>(options_, NowMs());
  tick_.reset();
  if (again) scene_.Note(kServer, "starts again");
  scene_.Log("hub starts, epoch ", identity_.epoch, options_.recovering ? ", recovering" : "");
  scene_.checkers->OnHubStart();
  TickLater();
  if (scene_.plan.adopts && !lost_.empty()) AdoptInAWhile();
}

// Again in each life: what was said last may not have been kept.
void HubNode::AdoptInAWhile() {
  constexpr Nanos kUntilSomebodyLooks = 20 * kSecond;
  scene_.agenda.After(scene_.dice.Time(0, kUntilSomebodyLooks), &node(), [this] {
    for (const Id128& store : lost_) {
      scene_.Log("an operator has hub ", ToHex(store), " adopted");
      Apply(hub::AdoptOp{NewCall({}), store}, nullptr);
    }
  });
}

void HubNode::Crash(bool data_lost) {
  if (!up()) return;
  scene_.Note(kServer, "crashes");
  scene_.Log("hub crashes", data_lost ? " and loses its data" : "");
  scene_.checkers->OnHubEnd();
  if (scene_.states != nullptr) scene_.states->OnHubEnd();
  scene_.agenda.Kill(node());
  hub_.reset();
  if (data_lost) {
    if (identity_.store_id) lost_.insert(identity_.store_id);
    if (identity_.store_id) identity_ = {};
    kept_ = {};
  }
  for (const auto& process : scene_.processes) {
    if (!process->node().dead()) process->link().OnHubGone();
  }
}

void HubNode::JumpClock(Nanos by) {
  node().Jump(scene_.agenda.now(), by);
  tick_.reset();
  TickLater();
}

Stream& HubNode::NewStream(Process& process) {
  Stream& stream = streams_.emplace_back();
  stream.process = &process;
  stream.session = streams_.size();
  stream.life = life();
  return stream;
}

hub::CallId HubNode::NewCall(const CallRecord& record) {
  calls_.push_back(record);
  calls_.back().life = life();
  return calls_.size();
}

// --- what arrives --------------------------------------------------------------------------------

absl::Status HubNode::CheckIdentity(const ServerIdentity& known) const {
  if (known.store_id && known.store_id == identity_.store_id && known.epoch > identity_.epoch) {
    return absl::FailedPreconditionError("this server is stale");
  }
  return absl::OkStatus();
}

void HubNode::OpenSession(Stream& stream, const hub::SessionOpened& opened,
                          const ServerIdentity& known) {
  if (const absl::Status status = CheckIdentity(known); !status.ok()) {
    return stream.process->link().SendEnd(stream, status);
  }
  stream.known_to_hub = true;
  Apply(opened, stream.process);
  if (opened.number == 1 && scene_.Happens(scene_.plan.hub_dies_of_comers)) CrashInAMoment();
}

void HubNode::CrashInAMoment() {
  scene_.agenda.After(scene_.dice.Time(0, kMoment), &node(), [this] {
    if (!scene_.faults_on) return;
    Crash(/*data_lost=*/false);
    scene_.agenda.After(scene_.dice.Time(0, 8 * kSecond), nullptr, [this] {
      if (!up()) Start();
    });
  });
}

void HubNode::KillInAMoment(Process& process) {
  scene_.agenda.After(scene_.dice.Time(0, kMoment), nullptr, [this, &process] {
    if (scene_.faults_on) scene_.kill(process);
  });
}

void HubNode::FromSession(Stream& stream, const hub::Event& event) {
  if (stream.known_to_hub) Apply(event, stream.process);
}

void HubNode::CloseSession(Stream& stream) {
  if (!std::exchange(stream.known_to_hub, false)) return;
  Apply(hub::SessionClosed{stream.session}, stream.process);
}

void HubNode::StartCall(hub::CallId id, const hub::Event& event) {
  call(id).at_hub = true;
  Apply(event, call(id).process);
  const size_t kind = event.index() - hub::Event(hub::PublishOp{}).index();
  if (kind != scene_.plan.fatal_call) return;
  if (scene_.Happens(scene_.plan.hub_dies_of_calls)) CrashInAMoment();
  Process& caller = *call(id).process;
  if (scene_.Happens(scene_.plan.callers_die)) KillInAMoment(caller);
  if (!scene_.Happens(scene_.plan.breaks_of_calls)) return;
  scene_.agenda.After(scene_.dice.Time(0, kMoment), &caller.node(),
                      [&caller] { caller.link().Break(); });
}

void HubNode::CancelCall(hub::CallId id) {
  if (!call(id).at_hub) return;  // answered, or it never came
  Apply(hub::CallCancelled{id}, call(id).process);
  call(id).at_hub = false;
}

void HubNode::Drain(const WorkerKey& worker, bool undo) {
  if (!up()) return;
  scene_.Log("an operator takes ", ToString(worker),
             undo ? " back into service" : " out of service");
  Apply(hub::DrainOp{NewCall({}), worker, undo}, nullptr);
}

void HubNode::Apply(const hub::Event& event, Process* from) {
  effects_.clear();
  if (from != nullptr && scene_.listener != nullptr) {
    scene_.Said(from->name(), kServer, NameOf(event), DetailOf(event));
  }
  scene_.checkers->BeforeHubStep(event);
  hub_->Apply(event, NowMs(), effects_);
  if (scene_.effect_trace != nullptr) scene_.effect_trace->Note(NowMs(), effects_);
  ++scene_.counts.hub_events;
  scene_.agenda.Note(event.index() << 32 | effects_.size() << 16 |
                     (from == nullptr ? 0xffff : from->number()));
  scene_.checkers->OnHubStep({event, effects_, from, NowMs()});
  if (++until_check_ % kCheckEvery == 0 && scene_.checkers->looks_inside()) {
    hub_->CheckInvariants();
  }
  for (const hub::Effect& effect : effects_) {
    std::visit([this](const auto& body) { CarryOut(body); }, effect);
  }
  if (scene_.states != nullptr) scene_.states->OnHubStep(*this, event, effects_, from);
  TickLater();
}

void HubNode::TickLater() {
  const std::optional<TimeMs> next = hub_->NextDeadline();
  if (!next || (tick_ && *tick_ <= *next)) return;
  tick_ = next;
  Node& mine = node();
  scene_.agenda.At(mine.WhenLocal(*next, scene_.agenda.now()), &mine, [this, at = *next] {
    if (tick_ != at) return;
    tick_.reset();
    const std::optional<TimeMs> due = hub_->NextDeadline();
    if (due && *due <= NowMs()) return Apply(hub::Tick{}, nullptr);
    TickLater();
  });
}

// --- what it does --------------------------------------------------------------------------------

void HubNode::CarryOut(const hub::Reply& reply) {
  CallRecord& record = call(reply.call);
  if (!std::exchange(record.at_hub, false)) return;
  record.process->link().SendAnswer(reply);
}

void HubNode::CarryOut(const hub::Directive& directive) {
  Stream& to = stream(directive.session);
  const auto* assign = std::get_if<hub::Assign>(&directive.body);
  if (assign != nullptr && scene_.Happens(scene_.plan.sources_die)) {
    KillInAMoment(*FindProcess(scene_, assign->source.incarnation));
  }
  if (to.known_to_hub) to.process->link().SendDown(to, directive, identity_);
}

void HubNode::CarryOut(const hub::CloseSession& close) {
  Stream& to = stream(close.session);
  if (!std::exchange(to.known_to_hub, false)) return;
  to.process->link().SendEnd(to, close.status);
}

// By what it knows now, as the server's planner.
void HubNode::CarryOut(const hub::PlanWanted& wanted) {
  const auto layouts = [this](const std::vector<Fingerprint>& by_rank) {
    hub::LayoutsByRank found;
    for (const Fingerprint& layout : by_rank) found.push_back(hub_->FindLayout(layout));
    return found;
  };
  const hub::PlanMade made = hub::MakePlan(wanted.plan, layouts(wanted.from), layouts(wanted.to));
  scene_.agenda.After(scene_.dice.Time(0, kPlanningMax), &node(),
                      [this, made] { Apply(made, nullptr); });
}

void HubNode::CarryOut(const hub::LogLine& line) {
  if (scene_.log != nullptr) scene_.Log("  hub: ", line.text);
}

}  // namespace tensorhub::fault
