// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/hub_port.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/core/planning.h"

namespace tensorhub::sim {

HubPort::HubPort(const HubPortOptions& options, World& world)
    : options_(options), world_(world), hub_(options.hub, NowMs()) {}

void HubPort::Send(hub::Event event) {
  const Nanos arrival = world_.now() + options_.latency;
  world_.At(arrival, [this, event = std::move(event)]() mutable {
    free_at_ = std::max(free_at_, world_.now()) + TimeOf(event);
    world_.At(free_at_, [this, event = std::move(event)] { Serve(event); });
  });
}

Nanos HubPort::TimeOf(const hub::Event& event) const {
  const bool message =
      std::holds_alternative<hub::Heartbeat>(event) || std::holds_alternative<hub::Progress>(event);
  return message ? options_.message_time : options_.operation_time;
}

void HubPort::Apply(const hub::Event& event) { Serve(event); }

void HubPort::Serve(const hub::Event& event) {
  if (const auto* put = std::get_if<hub::PutLayoutOp>(&event)) {
    layouts_[put->layout->fingerprint()] = put->layout;
  }
  hub::Effects effects;
  const auto begin = std::chrono::steady_clock::now();
  hub_.Apply(event, NowMs(), effects);
  cpu_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ++events_;
  world_.Note(event.index());
  for (const hub::Effect& effect : effects) Deliver(effect);
  SetTimer();
}

void HubPort::Deliver(const hub::Effect& effect) {
  if (const auto* line = std::get_if<hub::LogLine>(&effect)) {
    if (line->level != hub::LogLine::Level::kWarning) return;
    ++warnings_;
    last_warning_ = line->text;
    return;
  }
  if (const auto* wanted = std::get_if<hub::PlanWanted>(&effect)) return Plan(*wanted);
  std::optional<uint32_t> owner;
  if (const auto* reply = std::get_if<hub::Reply>(&effect)) {
    owner = static_cast<uint32_t>(reply->call >> kOpBits);
  } else if (const auto* directive = std::get_if<hub::Directive>(&effect)) {
    owner = static_cast<uint32_t>(directive->session - 1);
  }
  if (!owner || !receiver_) return;
  world_.After(options_.latency, [this, to = *owner, effect] { receiver_(to, effect); });
}

// Beside the hub, which goes on. How long it takes is not modelled: docs/benchmarks.md, "plan".
void HubPort::Plan(const hub::PlanWanted& wanted) {
  const auto layouts_of = [this](const std::vector<Fingerprint>& fingerprints) {
    hub::LayoutsByRank layouts;
    for (const Fingerprint& layout : fingerprints) layouts.push_back(layouts_.at(layout));
    return layouts;
  };
  hub::PlanMade made = hub::MakePlan(wanted.plan, layouts_of(wanted.from), layouts_of(wanted.to));
  world_.After(options_.operation_time, [this, made = std::move(made)] { Serve(made); });
}

// Time passes for the hub also when nobody speaks to it.
void HubPort::SetTimer() {
  const std::optional<TimeMs> next = hub_.NextDeadline();
  if (!next || (timer_ && *timer_ <= *next)) return;
  timer_ = next;
  world_.At(std::max(world_.now(), *next * kMillisecond), [this, at = *next] {
    if (timer_ != at) return;
    timer_.reset();
    Serve(hub::Tick{});
  });
}

}  // namespace tensorhub::sim
