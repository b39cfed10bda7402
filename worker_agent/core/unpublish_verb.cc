// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R3: giving buffers up, alone, before a fetch into them, or in order to leave. It needs no hub to
// be safe, and has a bound without one.

#include <algorithm>

#include "worker_agent/core/agent_state.h"
#include "worker_agent/core/verb_parts.h"

namespace tensorhub::agent {
namespace {

// For sends under way to end after the generation was raised. They are harmless (R4), only wasted.
// Less than CoreOptions::doubt_ms: the next read may have been begun, and readers sent here.
constexpr TimeMs kSendsDrainMs = 500;

// For the hub's answer to a leave, at least: its owner may be in a hurry.
constexpr TimeMs kHurryMs = 100;

bool LeftReaders(const CallReply& reply) {
  const auto* unpublished = std::get_if<UnpublishReply>(&reply.payload);
  return unpublished != nullptr && unpublished->readers_left > 0;
}

bool HasBegun(const CallReply& reply) {
  const auto* unpublished = std::get_if<UnpublishReply>(&reply.payload);
  return unpublished != nullptr && unpublished->begun;
}

}  // namespace

void AgentCore::State::Start(const UnpublishVerb& verb, TimeMs now, Effects& effects) {
  if (reference_.state() == Reference::State::kFree) {
    damage_.reset();  // the owner has given up what was lost
    return Done(absl::OkStatus(), effects);
  }
  BeginUnpublish({.drain_ms = verb.drain_ms, .force = verb.force}, now, effects);
}

void AgentCore::State::Start(const LeaveVerb& verb, TimeMs now, Effects& effects) {
  if (reference_.state() != Reference::State::kFree) {
    return BeginUnpublish({.drain_ms = verb.drain_ms, .leaving = true}, now, effects);
  }
  AfterUnpublish(now, effects);
}

// R3 (a)-(c): the hub closes admission and redirects readers; its answer says that they are gone.
// Once the worker is to leave, readers and keepers have what the leave gives them, whatever for.
void AgentCore::State::BeginUnpublish(const protocol::Unpublish& call, TimeMs now,
                                      Effects& effects) {
  protocol::Unpublish mine = call;
  mine.generation = reference_.generation();
  mine.leaving |= leaving_ms_.has_value();
  mine.drain_ms = std::min(call.drain_ms, leaving_ms_.value_or(call.drain_ms));
  phase_ = Phase::kUnpublishing;
  // Without a hub nobody can redirect the readers; they get the same time.
  phase_deadline_ = now + mine.drain_ms + (calls_.session_up() ? kAnswerGraceMs : 0);
  calls_.Start(mine, effects);
}

void AgentCore::State::OnUnpublishReply(const CallReply& reply, TimeMs now, Effects& effects) {
  // The hub could not honour retention: admission is open again, the generation unchanged.
  if (absl::IsResourceExhausted(reply.status)) {
    if (!decision_) return Done(reply.status, effects);
    result_ = reply.status;
    return Finish(now, effects);
  }
  if (LeftReaders(reply)) effects.emplace_back(ReadersAbandoned{});
  if (next_read_) next_read_->begun = HasBegun(reply) && calls_.session_up();
  RaiseGeneration(/*answered=*/reply.status.ok(), now, effects);
}

// R3 (d). A hub that has not answered may go on listing what was held, and hear the call when it is
// too old to count.
void AgentCore::State::RaiseGeneration(bool answered, TimeMs now, Effects& effects) {
  const absl::Status reason = absl::AbortedError("the source unpublished");
  calls_.GiveUp(effects);
  answered ? Free(reason, effects) : InvalidateAndReport(reason, effects);
  phase_ = Phase::kDrainingSends;
  phase_deadline_ = InTime(now + kSendsDrainMs);
}

void AgentCore::State::AfterUnpublish(TimeMs now, Effects& effects) {
  phase_deadline_.reset();
  if (std::holds_alternative<FetchVerb>(verb_)) {
    return result_.ok() ? BeginRead(now, effects) : Finish(now, effects);
  }
  if (std::holds_alternative<UnpublishVerb>(verb_)) return Done(absl::OkStatus(), effects);
  phase_ = Phase::kLeaving;
  const TimeMs settle_ms = std::clamp(std::get<LeaveVerb>(verb_).drain_ms, kHurryMs, kSettleMs);
  phase_deadline_ = now + (calls_.session_up() ? settle_ms : 0);
  calls_.Start(protocol::Leave{}, effects);
}

void AgentCore::State::On(const LeaveAsked& event, TimeMs now, Effects& effects) {
  AbortVerb(absl::CancelledError("this client is leaving"), now, effects);
  leaving_ms_ = event.drain_ms;
  if (phase_ != Phase::kUnpublishing || std::holds_alternative<LeaveVerb>(verb_)) return;
  const TimeMs left_ms = std::max<TimeMs>(phase_deadline_.value_or(now) - kAnswerGraceMs - now, 0);
  BeginUnpublish({.drain_ms = left_ms}, now, effects);
}

}  // namespace tensorhub::agent
