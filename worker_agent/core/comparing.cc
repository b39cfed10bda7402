// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R1: publishing a number that exists. The bytes are hashed, and the hub compares what they give;
// until it has said that they are the version's, they are not held, and nobody is served.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "worker_agent/core/agent_state.h"
#include "worker_agent/core/verb_parts.h"

namespace tensorhub::agent {
namespace {

// To learn which chunk differs. The holder's list is small, and has usually come before.
constexpr TimeMs kLocateMs = 1000;

}  // namespace

bool AgentCore::State::IsPublishing() const {
  return phase_ == Phase::kPublishing || phase_ == Phase::kComparing ||
         phase_ == Phase::kLocating || phase_ == Phase::kAwaitingVisible;
}

// A publication that took the place of the one compared with before is compared with in turn.
void AgentCore::State::Compare(const PublishReply& asked, TimeMs now, Effects& effects) {
  const Chunking chunking{registered_->total_bytes, asked.chunk_bytes};
  absl::Status status = asked.publication ? CheckChunking(chunking) : BadAnswer();
  if (status.ok() && options_.digests == DigestMode::kOff) status = BadAnswer();
  if (!status.ok()) {
    InvalidateAndReport(status, effects);
    return Done(status, effects);
  }
  EndComparison(effects);
  comparison_.emplace(
      Comparison{asked.publication, chunking,
                 DigestQuery(options_, asked, chunking, peers_, next_token_, now, effects)});
  phase_ = Phase::kComparing;
  digests_.Reset();
  scan_.emplace(ContentScan::Purpose::kMake, chunking, chunking.count(), options_.scan_bytes);
  ScanOn(effects);
}

void AgentCore::State::PublishCompared(TimeMs now, Effects& effects) {
  phase_ = Phase::kPublishing;
  protocol::Publish call = CallOf(std::get<PublishVerb>(verb_));
  call.timeout_ms = std::max<TimeMs>(verb_deadline_.value_or(now) - now - kAnswerGraceMs, 0);
  calls_.Start(call, effects);
}

void AgentCore::State::Locate(const absl::Status& refusal, TimeMs now) {
  result_ = refusal;
  phase_ = Phase::kLocating;
  phase_deadline_ = std::min(now + kLocateMs, verb_deadline_.value_or(now));
}

void AgentCore::State::RefuseContent(Effects& effects) {
  absl::Status status = result_;
  if (const auto chunk = comparison_->query.FirstDifference(digests_)) {
    status = absl::AlreadyExistsError(absl::StrCat(
        std::string(status.message()), " (the first chunk that differs: ", *chunk, " of ",
        comparison_->chunking.count(), ", of ", comparison_->chunking.chunk_bytes, " bytes each)"));
  }
  InvalidateAndReport(status, effects);
  Done(status, effects);
}

void AgentCore::State::ComparedTooLate(Effects& effects) {
  const absl::Status status = cut_short().value_or(absl::DeadlineExceededError(
      absl::StrCat("version ", std::get<PublishVerb>(verb_).version, " exists, and only ",
                   digests_.known(), " of ", comparison_->chunking.count(), " chunks of these",
                   " bytes were compared with it before the deadline; nothing is published: ",
                   "publish again with more time")));
  InvalidateAndReport(status, effects);
  Done(status, effects);
}

void AgentCore::State::EndComparison(Effects& effects) {
  if (comparison_) comparison_->query.Close(effects);
  comparison_.reset();
}

}  // namespace tensorhub::agent
