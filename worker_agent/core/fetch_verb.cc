// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Fetching (R6): the hub decides, the own buffers become free, the reader fills them, and the hub
// says whether the whole group has the version. Where that fails by an outage it waits and joins
// anew, until its own deadline; what had arrived it finds in its buffers (R6).

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/remedy.h"
#include "worker_agent/core/agent_state.h"
#include "worker_agent/core/verb_parts.h"

namespace tensorhub::agent {
namespace {

// A fetch frees its own buffers first; readers of the old version may go on for so long.
constexpr TimeMs kFetchDrainMs = 10000;
// Held buffers become free, then those of a read.
constexpr Generation kRaisesToRead = 2;
// R8: of its own ends a fetch takes care until then after its timeout, heard or not. Its caller
// counts on a second, in which this is to be heard of, too.
constexpr TimeMs kOvertimeMs = 500;
// R8: an outage lasts seconds, at least.
constexpr TimeMs kAskAgainMs = 1000;

}  // namespace

void AgentCore::State::Start(const FetchVerb& verb, TimeMs now, Effects& effects) {
  verb_deadline_ = now + verb.timeout_ms;
  over_at_ = *verb_deadline_ + kOvertimeMs;
  Join(verb, verb.timeout_ms, effects);
}

void AgentCore::State::Join(const FetchVerb& verb, TimeMs left_ms, Effects& effects) {
  phase_ = Phase::kJoining;
  protocol::JoinFetch call{verb.selector, registered_->layout, left_ms};
  const bool newer = verb.selector.kind == VersionSelector::Kind::kNewerThan;
  if (newer) call.held_in = HeldIn(verb.selector.version);
  call.whole = !verb.partial;
  calls_.Start(call, effects);
}

// R9; and a decision that comes after the verb's deadline is not acted on.
absl::Status AgentCore::State::CheckDecision(const FetchDecision& decision) const {
  if (!decision.publication) return BadAnswer();
  if (!verb_deadline_) {
    return cut_short().value_or(
        absl::DeadlineExceededError("the server decided only when the deadline had passed"));
  }
  if (decision.already_held && !(reference_.holds() && HasWhole(decision))) {
    return absl::AbortedError("the server believes this rank to hold the version; fetch again");
  }
  return CheckChunking({registered_->total_bytes, decision.chunk_bytes});
}

// R1: a publication has one number; a decision that gives it another one is not believed.
bool AgentCore::State::HasWhole(const FetchDecision& decision) const {
  const Reference::Content& content = reference_.content();
  return content.publication == decision.publication && content.version == decision.version &&
         reference_.valid_chunks() == content.chunking.count();
}

void AgentCore::State::OnJoinReply(const CallReply& reply, TimeMs now, Effects& effects) {
  if (!reply.status.ok()) return EndOrWait(reply.status, now, effects);
  const auto* decision = std::get_if<FetchDecision>(&reply.payload);
  if (decision == nullptr) return Done(BadAnswer(), effects);
  phase_deadline_.reset();
  decision_ = *decision;
  result_ = CheckDecision(*decision);
  if (!result_.ok() || decision->already_held) return Finish(now, effects);
  if (reference_.state() == Reference::State::kFree) return BeginRead(now, effects);
  const TimeMs left = verb_deadline_.value_or(now) - now;
  BeginUnpublish(
      {.drain_ms = std::clamp<TimeMs>(left, 0, kFetchDrainMs), .then_read = AnnounceRead()}, now,
      effects);
}

// The hub begins the read in the event that frees the buffers, and may send readers here at once,
// which is before this worker has heard of it, and has raised its generation.
protocol::BeginRead AgentCore::State::AnnounceRead() {
  next_read_ = NextRead{reference_.After(kRaisesToRead), /*begun=*/false};
  server_.Announce(next_read_->generation);
  return {decision_->transaction, next_read_->generation, registered_->medium};
}

void AgentCore::State::BeginRead(TimeMs now, Effects& effects) {
  Raise(Reference::State::kFilling, effects);
  Reference::Content content;
  content.publication = decision_->publication;
  content.version = decision_->version;
  content.world_size = decision_->world_size;
  content.chunking = {registered_->total_bytes, decision_->chunk_bytes};
  content.layout = registered_->layout;
  content.attachment = decision_->attachment;
  content.term = decision_->term;
  content.sharding = decision_->sharding;
  reference_.SetContent(content);
  reader_.emplace(options_, decision_->transaction, reference_, digests_, last_, peers_, planned_,
                  next_token_, /*in_outage=*/!outage_.ok(), now);
  const NextRead next = next_read_.value_or(NextRead{reference_.generation()});
  TH_CHECK(reference_.generation() == next.generation);
  EndNextRead(effects);
  phase_ = Phase::kReading;
  const auto begin = [&] {
    if (next.sharding) reader_->OnSourceSharding(*next.sharding, now, effects);
    for (const protocol::Assign& early : next.assigns) reader_->OnAssign(early, now, effects);
  };
  RunReader(begin, now, effects);
  if (next.begun || !next.assigns.empty()) return;
  phase_ = Phase::kBeginning;
  calls_.Start(
      protocol::BeginRead{decision_->transaction, reference_.generation(), registered_->medium},
      effects);
}

// R3: the source that it turns to when it begins; an earlier one need not wait for that.
void AgentCore::State::OnEarlyAssign(const protocol::Assign& event, Effects& effects) {
  std::vector<protocol::Assign>& last = next_read_->assigns;
  if (!last.empty() && event.assignment <= last.back().assignment) return;
  for (const protocol::Assign& early : std::exchange(last, {})) {
    const bool stays = early.plan == event.plan && early.part != event.part;
    stays ? last.push_back(early) : ReleaseEarly(early, effects);
  }
  last.push_back(event);
}

void AgentCore::State::ReleaseEarly(const protocol::Assign& early, Effects& effects) {
  effects.emplace_back(SessionSend{protocol::SourceReleased{early.transaction, early.assignment}});
}

// R4: what was announced is the read's by now, or nobody's: the hub may have sent readers for it.
// Those that came are taken, or refused, by what the buffers mean.
void AgentCore::State::EndNextRead(Effects& effects) {
  if (!next_read_) return;
  reference_.Skip(next_read_->generation);
  next_read_.reset();
  server_.EndAnnouncement(effects);
}

void AgentCore::State::OnBeginReply(const CallReply& reply, TimeMs /*now*/, Effects& effects) {
  phase_ = Phase::kReading;
  if (!reply.status.ok()) StopReading(reply.status, effects);
}

void AgentCore::State::StopReading(const absl::Status& reason, Effects& effects) {
  result_ = ReasonOf(reason);
  reader_->Stop(effects);
  phase_ = Phase::kQuieting;
}

void AgentCore::State::Finish(TimeMs now, Effects& effects) {
  phase_ = Phase::kFinishing;
  NoteReadOver(now);
  if (!result_.ok()) phase_deadline_ = InTime(now + kSettleMs);
  calls_.Start(protocol::FinishRead{decision_->transaction, result_, ContentDigestNow()}, effects);
}

// R6, R9: a success needs every byte, whatever the hub says.
void AgentCore::State::OnFinishReply(const CallReply& reply, TimeMs now, Effects& effects) {
  absl::Status status = reply.status;
  if (status.ok() && !HasWhole(*decision_)) {
    status = absl::AbortedError("the version is not whole in these buffers any more; fetch again");
  }
  if (!status.ok()) {
    if (reference_.state() == Reference::State::kFilling) InvalidateAndReport(status, effects);
    const bool heard = std::holds_alternative<FinishReadReply>(reply.payload);
    if (!heard) LeaveFetch(decision_->transaction, effects);
    return EndOrWait(status, now, effects);
  }
  if (reference_.state() == Reference::State::kFilling) {
    reference_.SetHeld(/*published=*/false);
    EndDigests(effects);
    BecomeVisible();
  }
  if (const auto* finished = std::get_if<FinishReadReply>(&reply.payload))
    identity_ = finished->identity;
  const std::optional<protocol::Dropped> dropped = dropped_;
  Done(absl::OkStatus(), effects);
  if (dropped) On(*dropped, now, effects);
}

// An attempt has failed: the verb as well, unless it waits for an outage to end. Whether it was one
// the hub says, since all ranks of the group have to meet again (R6).
void AgentCore::State::EndOrWait(const absl::Status& failure, TimeMs now, Effects& effects) {
  const bool in_time = verb_deadline_ && now + kAskAgainMs < *verb_deadline_;
  const bool wanted = std::get<FetchVerb>(verb_).waits_out_outages && !cut_short();
  if (!IsOutage(failure) || !in_time || !wanted) return Done(failure, effects);
  if (outage_.ok()) {
    effects.emplace_back(
        LogLine{LogLine::Level::kWarning,
                absl::StrCat(std::string(failure.message()), "; asked again until the timeout")});
  }
  outage_ = failure;
  EndAttempt(effects);
  phase_ = Phase::kWaitingToAsk;
  phase_deadline_ = now + kAskAgainMs;
}

void AgentCore::State::AskAgain(TimeMs now, Effects& effects) {
  if (verb_deadline_ && now < *verb_deadline_ && !cut_short()) {
    return Join(std::get<FetchVerb>(verb_), *verb_deadline_ - now, effects);
  }
  verb_deadline_.reset();
  OnFetchDeadline(now, effects);
}

void AgentCore::State::On(const protocol::AbortRead& event, TimeMs /*now*/, Effects& effects) {
  if (!decision_ || decision_->transaction != event.transaction) return;
  if (phase_ == Phase::kReading || phase_ == Phase::kBeginning) {
    calls_.GiveUp(effects);
    StopReading(event.reason, effects);
  } else if (phase_ == Phase::kUnpublishing || phase_ == Phase::kDrainingSends) {
    result_ = ReasonOf(event.reason);
  }
}

absl::Status AgentCore::State::FetchTookTooLong() const {
  const bool reads = phase_ == Phase::kReading;
  const std::string version = decision_ ? absl::StrCat(" of version ", decision_->version) : "";
  const std::string outage =
      outage_.ok() ? "" : absl::StrCat(" (", std::string(outage_.message()), ")");
  const std::string arrived =
      reads ? absl::StrCat(", with ", reference_.valid_chunks(), " of ",
                           reference_.content().chunking.count(), " chunks here")
            : "";
  return absl::DeadlineExceededError(
      absl::StrCat("the fetch", version, " did not end before its timeout", arrived, outage,
                   "; raise the timeout, or see what holds it up: tensorhubctl transfers"));
}

void AgentCore::State::OnFetchDeadline(TimeMs now, Effects& effects) {
  const absl::Status reason = cut_short().value_or(FetchTookTooLong());
  switch (phase_) {
    case Phase::kJoining:
      phase_deadline_ =
          now + (cut_short() ? 0 : kAnswerGraceMs);  // the hub answers at the deadline
      return;
    case Phase::kWaitingToAsk:
      return Done(reason, effects);
    case Phase::kUnpublishing:
    case Phase::kDrainingSends:
      result_ = reason;
      // The hub answers in time, whether the readers are gone (R3) or nobody else keeps it (R7).
      if (phase_ == Phase::kDrainingSends || calls_.session_up()) return;
      return RaiseGeneration(/*answered=*/false, now, effects);
    case Phase::kBeginning:
    case Phase::kReading:
      calls_.GiveUp(effects);
      return StopReading(reason, effects);
    case Phase::kFinishing:
      // Asks again, now as one that gives up: the answer is the outcome, whichever it was.
      calls_.Start(protocol::FinishRead{decision_->transaction, reason, {}}, effects);
      phase_deadline_ = InTime(now + (cut_short() && !calls_.session_up() ? 0 : kSettleMs));
      return;
    default:
      return;
  }
}

}  // namespace tensorhub::agent
