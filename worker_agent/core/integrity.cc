// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The digests of what this agent holds: made when it publishes, beside the verb, and held against
// the bytes when the hub asks for it (R8).

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker_agent/core/agent_state.h"

namespace tensorhub::agent {

// Publish does not wait for them, and reading begins at once: only commits do.
void AgentCore::State::MakeDigests(Effects& effects) {
  if (options_.digests == DigestMode::kOff) {
    digests_.SetEnded(true);
    return server_.OnDigests(effects);
  }
  const Chunking& chunking = reference_.content().chunking;
  const bool compared = comparison_ && comparison_->chunking == chunking;
  if (compared) return TellContent(effects);
  digests_.Reset();
  scan_.emplace(ContentScan::Purpose::kMake, chunking, chunking.count(), options_.scan_bytes);
  ScanOn(effects);
}

// R1: of what these buffers hold; none: not known.
ContentDigest AgentCore::State::ContentDigestNow() const {
  const Reference::Content& content = reference_.content();
  if (!content.publication) return {};
  return digests_.Whole(content.layout, content.chunking);
}

void AgentCore::State::TellContent(Effects& effects) const {
  if (!hears_content_) return;
  effects.emplace_back(SessionSend{protocol::ContentHashed{
      reference_.content().publication, reference_.generation(), ContentDigestNow()}});
}

// Fetched: whoever reads from here must not wait for digests that nobody sends any more.
void AgentCore::State::EndDigests(Effects& effects) {
  if (digests_.AllThereFor(reference_.content().chunking.count())) return;
  digests_.SetEnded(true);
  server_.OnDigests(effects);
}

void AgentCore::State::ScanOn(Effects& effects) {
  if (!scan_->done()) return scan_->AskOn(next_token_++, effects);
  const bool checked = scan_->purpose() == ContentScan::Purpose::kCheck;
  scan_.reset();
  if (!checked && reference_.content().publication) TellContent(effects);
  if (checked) return AnswerVerified(effects);
  if (check_asked_) CheckContent(effects);
}

void AgentCore::State::OnScanned(const ChunksHashed& event, Effects& effects) {
  if (scan_->purpose() == ContentScan::Purpose::kMake) {
    digests_.Append(event.digests);
    server_.OnDigests(effects);
  } else if (const auto chunk = FirstDifference(event)) {
    return OnDamage(*chunk, effects);
  }
  scan_->OnBatch();
  ScanOn(effects);
}

std::optional<uint32_t> AgentCore::State::FirstDifference(const ChunksHashed& event) const {
  uint32_t chunk = scan_->first();
  for (const uint64_t digest : event.digests) {
    // A read that turned to another source asked for the digests of what it lacks anew.
    if (chunk < digests_.known() && digest != digests_.of(chunk)) return chunk;
    ++chunk;
  }
  return std::nullopt;
}

// R1: the publish that the hub asks for may not be answered yet; its bytes are fixed all the same.
void AgentCore::State::On(const protocol::HashBoxes& event, TimeMs /*now*/, Effects& effects) {
  const bool held = reference_.state() == Reference::State::kPublishing || reference_.holds();
  if (event.generation != reference_.generation() || !held) return;
  const auto is_there = [this](const protocol::HashBoxes::Range& box) {
    const uint64_t total = registered_->total_bytes;
    return box.bytes > 0 && box.begin < total && box.bytes <= total - box.begin;
  };
  if (!std::all_of(event.boxes.begin(), event.boxes.end(), is_there)) return;  // R9
  boxes_.emplace(event, options_.scan_bytes);
  ScanBoxes(effects);
}

void AgentCore::State::ScanBoxes(Effects& effects) {
  if (!boxes_->done()) return boxes_->AskOn(next_token_++, effects);
  effects.emplace_back(SessionSend{boxes_->answer()});
  boxes_.reset();
}

// R8: the source's own word on whether its reference stands.
void AgentCore::State::On(const protocol::Probe& event, TimeMs /*now*/, Effects& effects) {
  effects.emplace_back(SelfTestReceive{});  // who complains may not have been heard
  const bool holds =
      event.generation == reference_.generation() && reference_.state() != Reference::State::kFree;
  // The hub has begun a read of which this worker has not heard yet.
  const bool will_hold = next_read_ && event.generation == next_read_->generation;
  if (!holds || !event.verify) {
    effects.emplace_back(SessionSend{protocol::ProbeAnswer{event.generation, holds || will_hold}});
    return;
  }
  const bool asked_before = std::exchange(check_asked_, true);
  if (!asked_before && !scan_) CheckContent(effects);
}

// What is valid now; a chunk that comes later was just checked.
void AgentCore::State::CheckContent(Effects& effects) {
  const uint32_t end = std::min(reference_.valid_chunks(), digests_.known());
  effects.emplace_back(
      LogLine{LogLine::Level::kWarning,
              absl::StrCat("a reader got bytes of version ", reference_.content().version,
                           " that differ from their digests; checking")});
  scan_.emplace(ContentScan::Purpose::kCheck, reference_.content().chunking, end,
                options_.scan_bytes);
  ScanOn(effects);
}

void AgentCore::State::AnswerVerified(Effects& effects) {
  check_asked_ = false;
  effects.emplace_back(SessionSend{
      protocol::ProbeAnswer{reference_.generation(), /*holds=*/true, /*verified=*/true}});
}

// The bytes changed here, after they were published or checked: nobody may read them any more, and
// this agent's own fetch, if it is not over, has failed.
void AgentCore::State::OnDamage(uint32_t chunk, Effects& effects) {
  scan_.reset();
  const absl::Status damage = absl::DataLossError(
      absl::StrCat("chunk ", chunk, " of version ", reference_.content().version,
                   " in these buffers has changed since; was registered memory written to before",
                   " unpublish returned? Nobody reads it any more: publish or fetch again"));
  effects.emplace_back(LogLine{LogLine::Level::kWarning, std::string(damage.message())});
  if (phase_ == Phase::kReading || phase_ == Phase::kBeginning) {
    effects.emplace_back(
        SessionSend{protocol::ProbeAnswer{reference_.generation(), false, /*verified=*/true}});
    calls_.GiveUp(effects);
    return StopReading(damage, effects);
  }
  InvalidateAndReport(damage, effects);
  damage_ = damage;
  effects.emplace_back(CopyReleased{});
  if (!IsPublishing()) return;
  calls_.GiveUp(effects);
  Done(damage, effects);
}

}  // namespace tensorhub::agent
