// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The one call to the hub that may be under way, made to survive the hub's absence: an unanswered
// call is repeated with the same op when the session is up again, and the hub answers it once (R8).

#ifndef TENSORHUB_WORKER_AGENT_CORE_HUB_CALLS_H_
#define TENSORHUB_WORKER_AGENT_CORE_HUB_CALLS_H_

#include <optional>
#include <utility>
#include <variant>

#include "common/remedy.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"

namespace tensorhub::agent {

class HubCalls {
 public:
  using Request = decltype(Call::request);

  // Starts a call; an unanswered one before it is given up.
  void Start(Request request, Effects& effects) {
    GiveUp(effects);
    pending_ = Call{++last_op_, std::move(request)};
    puts_left_ = kPutsMax;
    Send(effects);
  }

  // Nothing: the reply is stale, or the call goes on (and is repeated). Otherwise the answer.
  std::optional<CallReply> OnReply(const CallReply& reply, TimeMs now, Effects& effects) {
    if (!pending_ || reply.op != pending_->op) return std::nullopt;
    if (!IsOutcome(reply) && MustRepeat(reply.status)) {
      const bool in_a_while = RemedyOf(reply.status) == Remedy::kCallAgain;
      repeat_at_ = now + (in_a_while ? kRepeatInAWhileMs : kRepeatAfterMs);
      return std::nullopt;
    }
    if (WantsDocuments(reply.status) && puts_left_ > 0) {
      --puts_left_;
      pending_->op = ++last_op_;  // the refused op has its answer; this is a new one
      effects.emplace_back(PutDocuments{});
      Send(effects);
      return std::nullopt;
    }
    SetAnswered();
    return reply;
  }

  void OnSessionUp(Effects& effects) {
    session_up_ = true;
    puts_left_ = kPutsMax;  // another hub may know nothing
    if (pending_) Send(effects);
  }
  void OnSessionDown() { session_up_ = false; }

  // How long a call that waits at the hub still may, should it be repeated. So the hub stops
  // waiting when the caller does.
  void SetTimeLeft(TimeMs left_ms) {
    if (!pending_) return;
    if (auto* call = std::get_if<protocol::Unpublish>(&pending_->request)) call->drain_ms = left_ms;
    if (auto* call = std::get_if<protocol::JoinFetch>(&pending_->request))
      call->timeout_ms = left_ms;
    if (auto* call = std::get_if<protocol::Publish>(&pending_->request)) call->timeout_ms = left_ms;
  }

  void OnTick(TimeMs now, Effects& effects) {
    if (!repeat_at_ || now < *repeat_at_ || !session_up_) return;
    if (pending_) Send(effects);
  }

  // A directive has come that only a hub gives which has done what was asked. The reply, if it
  // comes, is stale.
  void SetAnswered() {
    pending_.reset();
    repeat_at_.reset();
  }

  void GiveUp(Effects& effects) {
    if (pending_) effects.emplace_back(CancelCall{pending_->op});
    SetAnswered();
  }

  // The number of the pending call; 0: there is none.
  OpId op() const { return pending_ ? pending_->op : 0; }
  bool session_up() const { return session_up_; }
  std::optional<TimeMs> NextDeadline() const {
    return session_up_ ? repeat_at_ : std::optional<TimeMs>();
  }

 private:
  static constexpr TimeMs kRepeatAfterMs = 100;
  static constexpr TimeMs kRepeatInAWhileMs = 1000;
  // Per call: between a put and the call, the hub may have made room for another's documents.
  static constexpr int kPutsMax = 3;

  // A fetch of which every source failed is UNAVAILABLE too, and that is the hub's answer.
  static bool IsOutcome(const CallReply& reply) {
    return std::holds_alternative<FinishReadReply>(reply.payload);
  }
  static bool MustRepeat(const absl::Status& status) {
    const Remedy remedy = RemedyOf(status);
    return absl::IsUnavailable(status) || remedy == Remedy::kOpenSession ||
           remedy == Remedy::kCallAgain;
  }
  static bool WantsDocuments(const absl::Status& status) {
    return RemedyOf(status) == Remedy::kPutDocuments;
  }
  void Send(Effects& effects) {
    repeat_at_.reset();
    if (session_up_) effects.emplace_back(*pending_);
  }

  OpId last_op_ = 0;
  std::optional<Call> pending_;
  int puts_left_ = 0;
  bool session_up_ = false;
  std::optional<TimeMs> repeat_at_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_HUB_CALLS_H_
