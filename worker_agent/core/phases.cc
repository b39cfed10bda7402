// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where a verb and its streams stand, in words.

#include "worker_agent/core/agent_state.h"

namespace tensorhub::agent {

std::string_view Stream::phase() const {
  if (!source_) return NoOutstandingGets() ? "without a source" : "leaving";
  switch (source_->phase) {
    case Phase::kOpening:
      return "opening";
    case Phase::kImporting:
      return "mapping memory";
    case Phase::kServed:
      return "served";
    case Phase::kOneSided:
      return "one-sided";
    case Phase::kRanges:
      return "by ranges";
  }
  return "?";
}

std::vector<std::string_view> Reader::phases() const {
  std::vector<std::string_view> phases;
  for (const auto& [part, stream] : streams_) phases.push_back(stream->phase());
  return phases;
}

std::string_view AgentCore::State::VerbPhase() const {
  switch (phase_) {
    case Phase::kIdle:
      return "idle";
    case Phase::kPublishing:
      return "publishing";
    case Phase::kComparing:
      return "comparing";
    case Phase::kLocating:
      return "locating";
    case Phase::kAwaitingVisible:
      return "awaiting the group";
    case Phase::kJoining:
      return "joining";
    case Phase::kUnpublishing:
      return "unpublishing";
    case Phase::kDrainingSends:
      return "draining sends";
    case Phase::kBeginning:
      return "beginning";
    case Phase::kReading:
      return "reading";
    case Phase::kQuieting:
      return "quieting";
    case Phase::kFinishing:
      return "finishing";
    case Phase::kWaitingToAsk:
      return "waiting to ask";
    case Phase::kLeaving:
      return "leaving";
  }
  return "?";
}

AgentCore::Phases AgentCore::State::PhasesNow() const {
  return {VerbPhase(), reader_ ? reader_->phases() : std::vector<std::string_view>()};
}

AgentCore::Phases AgentCore::phases() const { return state_->PhasesNow(); }

}  // namespace tensorhub::agent
