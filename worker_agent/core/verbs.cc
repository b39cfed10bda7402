// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The client's verbs, each a sequence of phases (agent_state.h): a call to the hub, a wait for what
// the peers do, and a change of what the buffers mean. Here is what they share: how each begins and
// ends, and what the phases wait for. Their steps are in publish_verb.cc, unpublish_verb.cc and
// fetch_verb.cc.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "worker_agent/core/agent_state.h"
#include "worker_agent/core/verb_parts.h"

namespace tensorhub::agent {
namespace {

absl::Status NotRegistered() {
  return absl::FailedPreconditionError("no tensors are registered; register them first");
}

}  // namespace

void AgentCore::State::Done(const absl::Status& status, Effects& effects) {
  VerbDone done;
  done.status = absl::Status(status.code(), status.message());  // a remedy is the agent's to try
  if (status.ok() && decision_) {
    done.fetch.version = decision_->version;
    done.fetch.identity = identity_;
    if (reader_) {
      const Transfer& read = reader_->transfer();
      done.fetch.bytes_read = read.bytes_read();
      done.fetch.bytes_skipped = read.bytes_skipped();
      done.fetch.one_sided = read.used_one_sided();
      done.fetch.way = read.way();
      done.fetch.sources = read.sources();
    }
  }
  EndAttempt(effects);
  phase_ = Phase::kIdle;
  verb_deadline_.reset();
  over_at_.reset();
  cancelled_.reset();
  outage_ = absl::OkStatus();
  EndComparison(effects);
  effects.emplace_back(std::move(done));
}

// A fetch may need several.
void AgentCore::State::EndAttempt(Effects& effects) {
  EndNextRead(effects);
  phase_deadline_.reset();
  decision_.reset();
  identity_ = {};
  reader_.reset();
  result_ = absl::OkStatus();
  dropped_.reset();
}

void AgentCore::State::BecomeVisible() {
  reference_.SetVisible();
  knows_term_ = std::max(knows_term_.value_or(0), reference_.content().term.number);
}

// R6: of a fetch that did not come to its end the prefix is still in the buffers, and behind it
// what was there before. The next fetch looks there first (skip_plan.h), so that it goes on from
// here.
void AgentCore::State::RememberPrefix() {
  const Chunking& chunking = reference_.content().chunking;
  if (reference_.valid_chunks() == 0) return;
  if (last_.chunking != chunking) last_ = {chunking, {}};
  last_.digests.TakeFront(digests_, reference_.valid_chunks());
}

// R4: and what was known of the bytes goes with their meaning.
void AgentCore::State::Raise(Reference::State state, Effects& effects) {
  if (reference_.holds()) {
    const Reference::Content& content = reference_.content();
    last_ = {content.chunking, digests_};
    if (reference_.visible()) last_held_ = {content.version, content.term.number};
  }
  if (reference_.state() == Reference::State::kFilling) RememberPrefix();
  reference_.Raise(state, effects);
  digests_.Reset();
  scan_.reset();
  boxes_.reset();
  check_asked_ = false;
  damage_.reset();
}

// R4: the one way in which buffers stop meaning a version. Readers are refused before the
// generation changes, so that no frame is issued under a generation that is gone. What is free has
// nothing to lose, and keeps its generation: the next one may have been announced (`next_read_`).
void AgentCore::State::Free(const absl::Status& reason, Effects& effects) {
  damage_.reset();
  if (reference_.state() == Reference::State::kFree) return;
  server_.DropAll(reason, effects);
  Raise(Reference::State::kFree, effects);
}

// R8: frees what the hub may still list. It is told, or else it would call these buffers held when
// the next verb asks.
void AgentCore::State::InvalidateAndReport(const absl::Status& reason, Effects& effects) {
  disowned_ = reference_.generation();
  if (reference_.valid_chunks() > 0)
    effects.emplace_back(ReadersAbandoned{});  // nobody led them away
  Free(reason, effects);
  effects.emplace_back(SessionSend{protocol::ProbeAnswer{*disowned_, /*holds=*/false}});
}

// R3: nothing is outstanding of it, which the hub may never hear by FinishRead.
void AgentCore::State::LeaveFetch(const TransactionId& transaction, Effects& effects) {
  left_fetch_ = transaction;
  effects.emplace_back(SessionSend{protocol::SourceReleased{transaction, kAllAssignments}});
}

// R6: a decision may be on its way, for which the other ranks would wait.
void AgentCore::State::GiveUpJoin(Effects& effects) {
  abandoned_join_op_ = calls_.op();
  calls_.GiveUp(effects);
  effects.emplace_back(SessionSend{protocol::Heartbeat{abandoned_join_op_}});
}

// The last session may have lost it; a report that is older, or a hub that came back, would go on
// saying otherwise.
void AgentCore::State::ResendTerminalFacts(Effects& effects) const {
  if (disowned_) {
    effects.emplace_back(SessionSend{protocol::ProbeAnswer{*disowned_, /*holds=*/false}});
  }
  if (left_fetch_) {
    effects.emplace_back(SessionSend{protocol::SourceReleased{*left_fetch_, kAllAssignments}});
  }
}

void AgentCore::State::On(const VerbAsked& event, TimeMs now, Effects& effects) {
  TH_CHECK(phase_ == Phase::kIdle);
  verb_ = event.verb;
  if (left_)
    return Done(absl::FailedPreconditionError("this client has left; connect a new one"), effects);
  // Unpublish and Leave need no hub to be safe.
  const bool needs_hub =
      std::holds_alternative<PublishVerb>(verb_) || std::holds_alternative<FetchVerb>(verb_);
  if (ended_ && needs_hub) return Done(*ended_, effects);
  if (needs_hub && !registered_) return Done(NotRegistered(), effects);
  std::visit([&](const auto& verb) { Start(verb, now, effects); }, Verb(verb_));
}

// Ends the verb, if there is one, by its own way out.
void AgentCore::State::AbortVerb(const absl::Status& reason, TimeMs now, Effects& effects) {
  if (!ended_) ended_ = reason;
  EndVerbSoon(now, effects);
}

void AgentCore::State::EndVerbSoon(TimeMs now, Effects& effects) {
  if (phase_ == Phase::kIdle) return;
  if (reader_) reader_->Stop(effects);
  verb_deadline_ = now;
}

void AgentCore::State::On(const CancelAsked& /*event*/, TimeMs now, Effects& effects) {
  const bool publishes = std::holds_alternative<PublishVerb>(verb_);
  if (phase_ == Phase::kIdle || cancelled_) return;
  if (!publishes && !std::holds_alternative<FetchVerb>(verb_)) return;
  cancelled_ = absl::CancelledError(
      absl::StrCat("the ", publishes ? "publish" : "fetch", " was cancelled by its caller"));
  EndVerbSoon(now, effects);
}

void AgentCore::State::On(const protocol::Dropped& event, TimeMs /*now*/, Effects& effects) {
  const Reference::State state = reference_.state();
  if (event.generation != reference_.generation()) return;
  if (phase_ == Phase::kFinishing) dropped_ = event;  // counts if the outcome makes it held
  if (state != Reference::State::kHeld && state != Reference::State::kPublishing) return;
  const absl::Status reason = ReasonOf(event.reason);
  effects.emplace_back(LogLine{LogLine::Level::kWarning,
                               absl::StrCat("what these buffers hold is no longer listed: ",
                                            std::string(reason.message()))});
  effects.emplace_back(ReadersAbandoned{});
  Free(reason, effects);
  damage_ = absl::AbortedError(reason.message());
  effects.emplace_back(CopyReleased{});
  // R2: an answer that is still under way, or a notice, is about what has been dropped.
  if (!IsPublishing()) return;
  calls_.GiveUp(effects);
  Done(reason, effects);
}

// --- what the phases wait for --------------------------------------------------------------------

// A hub that came back answers within the time of the first attempt. R7: later, this worker would
// have raised its generation, whatever is lost by that. R6: a call that has been given up, and of
// which the hub has not heard that, does not stand against the next one.
void AgentCore::State::RefreshCallDeadline(TimeMs now) {
  const bool unpublishes = phase_ == Phase::kUnpublishing;
  const bool waits = phase_ == Phase::kJoining || phase_ == Phase::kPublishing;
  if (!waits && !(unpublishes && phase_deadline_)) return;
  const TimeMs end = unpublishes ? *phase_deadline_ - kAnswerGraceMs : verb_deadline_.value_or(now);
  calls_.SetTimeLeft(std::max<TimeMs>(end - now, 0));
}

void AgentCore::State::Dispatch(const CallReply& reply, TimeMs now, Effects& effects) {
  switch (phase_) {
    case Phase::kAwaitingVisible:
      if (absl::IsDeadlineExceeded(reply.status)) return void(result_ = reply.status);
      return OnPublishReply(reply, now, effects);
    case Phase::kPublishing:
      return OnPublishReply(reply, now, effects);
    case Phase::kJoining:
      return OnJoinReply(reply, now, effects);
    case Phase::kUnpublishing:
      return OnUnpublishReply(reply, now, effects);
    case Phase::kBeginning:
      return OnBeginReply(reply, now, effects);
    case Phase::kFinishing:
      return OnFinishReply(reply, now, effects);
    case Phase::kLeaving:
      left_ = true;
      return Done(absl::OkStatus(), effects);
    default:
      return;
  }
}

void AgentCore::State::Settle(TimeMs now, Effects& effects) {
  const bool fetches = std::holds_alternative<FetchVerb>(verb_);  // which ends in its own way
  if (phase_ == Phase::kUnpublishing && refused_ && server_.idle() && !fetches) {
    RaiseGeneration(/*answered=*/false, now, effects);
  }
  if (phase_ == Phase::kDrainingSends && server_.outstanding_sends() == 0) {
    AfterUnpublish(now, effects);
  }
  if (phase_ == Phase::kReading && reader_->state() == Reader::State::kComplete &&
      reader_->NoOutstandingGets()) {
    Finish(now, effects);
  }
  if (phase_ == Phase::kQuieting && reader_->NoOutstandingGets()) Finish(now, effects);
  if (phase_ == Phase::kComparing && !scan_) PublishCompared(now, effects);
  if (phase_ == Phase::kLocating && comparison_->query.settled()) RefuseContent(effects);
}

void AgentCore::State::OnDeadline(TimeMs now, Effects& effects) {
  if (phase_deadline_ && now >= *phase_deadline_) {
    phase_deadline_.reset();
    return OnPhaseDeadline(now, effects);
  }
  if (!verb_deadline_ || now < *verb_deadline_) return;
  verb_deadline_.reset();
  OnVerbDeadline(now, effects);
}

void AgentCore::State::OnPhaseDeadline(TimeMs now, Effects& effects) {
  switch (phase_) {
    case Phase::kAwaitingVisible:
      return AskWhoIsMissing(effects);
    case Phase::kLocating:
      return RefuseContent(effects);
    case Phase::kUnpublishing:
      return RaiseGeneration(/*answered=*/false, now, effects);
    case Phase::kDrainingSends:
      return AfterUnpublish(now, effects);
    case Phase::kWaitingToAsk:
      return AskAgain(now, effects);
    case Phase::kJoining:
      GiveUpJoin(effects);
      return Done(cut_short().value_or(absl::DeadlineExceededError(
                      "the server did not answer before the deadline; is it running?")),
                  effects);
    case Phase::kFinishing:
      calls_.GiveUp(effects);
      if (result_.ok()) {
        result_ = absl::UnknownError("the outcome is not known; fetch again to learn it");
      }
      if (reference_.state() == Reference::State::kFilling) InvalidateAndReport(result_, effects);
      LeaveFetch(decision_->transaction, effects);
      return EndOrWait(result_, now, effects);
    case Phase::kLeaving:
      calls_.GiveUp(effects);
      left_ = true;
      return Done(absl::OkStatus(), effects);
    default:
      return;
  }
}

void AgentCore::State::OnVerbDeadline(TimeMs now, Effects& effects) {
  if (std::holds_alternative<FetchVerb>(verb_)) return OnFetchDeadline(now, effects);
  OnPublishDeadline(effects);
}

}  // namespace tensorhub::agent
