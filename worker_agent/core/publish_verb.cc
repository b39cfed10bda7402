// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Publishing, as the agent does it: the call, what its answer makes of the buffers, and the wait
// until the group's version is visible.

#include "absl/strings/str_cat.h"
#include "worker_agent/core/agent_state.h"
#include "worker_agent/core/verb_parts.h"

namespace tensorhub::agent {

void AgentCore::State::Start(const PublishVerb& verb, TimeMs now, Effects& effects) {
  if (reference_.holds() && reference_.content().version != verb.version) {
    return Done(absl::FailedPreconditionError(
                    absl::StrCat("these buffers hold version ", reference_.content().version,
                                 "; unpublish them before publishing version ", verb.version)),
                effects);
  }
  if (!reference_.holds()) Raise(Reference::State::kPublishing, effects);
  if (!verb_deadline_) verb_deadline_ = now + verb.timeout_ms;
  phase_ = Phase::kPublishing;
  protocol::Publish call = CallOf(verb);
  call.timeout_ms = *verb_deadline_ - now;
  calls_.Start(call, effects);
}

protocol::Publish AgentCore::State::CallOf(const PublishVerb& verb) const {
  protocol::Publish call;
  call.version = verb.version;
  call.layout = registered_->layout;
  call.attachment = registered_->attachment;
  call.chunk_bytes = DefaultChunkBytes(registered_->total_bytes);
  call.generation = reference_.generation();
  call.supersede = verb.supersede;
  call.knows_term = knows_term_.value_or(0);
  call.medium = registered_->medium;
  call.hashes = options_.digests != DigestMode::kOff;
  if (comparison_) {
    call.digest = digests_.Whole(registered_->layout, comparison_->chunking);
    call.compared = comparison_->publication;
  }
  return call;
}

// R9: checked before it becomes what the buffers mean; R1: what they mean already stays.
absl::StatusOr<Reference::Content> AgentCore::State::Published(const CallReply& reply) const {
  if (!reply.status.ok()) return reply.status;
  const auto* answer = std::get_if<PublishReply>(&reply.payload);
  if (answer == nullptr || !answer->publication) return BadAnswer();
  Reference::Content content;
  content.publication = answer->publication;
  content.version = std::get<PublishVerb>(verb_).version;
  content.chunking = {registered_->total_bytes, answer->chunk_bytes};
  content.layout = registered_->layout;
  content.attachment = registered_->attachment;
  content.world_size = options_.world_size;
  content.epoch = answer->epoch;
  content.term = answer->term;
  if (absl::Status status = CheckChunking(content.chunking); !status.ok()) return status;
  const bool anew = reference_.holds() && reference_.content().publication != content.publication;
  if (anew || answer->compare) {
    return absl::AbortedError(absl::StrCat("version ", content.version,
                                           " was published anew meanwhile; unpublish it here, and",
                                           " publish again"));
  }
  return content;
}

void AgentCore::State::OnPublishReply(const CallReply& reply, TimeMs now, Effects& effects) {
  const PublishVerb verb = std::get<PublishVerb>(verb_);
  const auto* answer = std::get_if<PublishReply>(&reply.payload);
  const bool compare = reply.status.ok() && answer != nullptr && answer->compare;
  if (compare && !reference_.holds()) return Compare(*answer, now, effects);
  const bool differs = comparison_ && absl::IsAlreadyExists(reply.status);
  if (differs && !reference_.holds()) return Locate(reply.status, now);
  const auto content = Published(reply);
  if (!content.ok()) {
    // R1: nor may the hub list them as something else than they hold.
    if (!reference_.holds() || reply.status.ok()) InvalidateAndReport(content.status(), effects);
    return Done(content.status(), effects);
  }
  if (!reference_.holds()) {
    reference_.SetContent(*content);
    reference_.Grow(content->chunking.count(), effects);
    reference_.SetHeld(/*published=*/true);
    MakeDigests(effects);
    server_.OnGrown(now, effects);
  }
  // The notice may have overtaken the answer.
  const bool noticed = last_visible_ == content->publication;
  if (noticed || std::get<PublishReply>(reply.payload).visible) BecomeVisible();
  if (!verb.wait_for_group || reference_.visible()) return Done(absl::OkStatus(), effects);
  phase_ = Phase::kAwaitingVisible;
  phase_deadline_ = *verb_deadline_ - kAnswerGraceMs;
}

// The hub knows which ranks have not published. Asked with no time left it says so at once, and the
// wait goes on.
void AgentCore::State::AskWhoIsMissing(Effects& effects) {
  protocol::Publish call = CallOf(std::get<PublishVerb>(verb_));
  call.wait_for_group = true;
  calls_.Start(call, effects);
}

void AgentCore::State::OnPublishDeadline(Effects& effects) {
  if (phase_ == Phase::kPublishing) {
    calls_.GiveUp(effects);
    const bool held = reference_.holds();
    const absl::Status status = cut_short().value_or(absl::DeadlineExceededError(
        absl::StrCat("the server did not answer the publish before the deadline; ",
                     held ? "what was published before stays so" : "nothing is published")));
    if (!held) InvalidateAndReport(status, effects);
    return Done(status, effects);
  }
  if (phase_ == Phase::kLocating) return RefuseContent(effects);
  if (phase_ == Phase::kComparing) return ComparedTooLate(effects);
  if (phase_ != Phase::kAwaitingVisible) return;
  calls_.GiveUp(effects);
  if (result_.ok()) {
    result_ = absl::DeadlineExceededError(
        absl::StrCat("version ", reference_.content().version, " is recorded for this rank, but",
                     " not every rank of the group has published it"));
  }
  Done(cut_short().value_or(result_), effects);
}

}  // namespace tensorhub::agent
