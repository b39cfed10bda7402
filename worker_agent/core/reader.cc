// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/reader.h"

namespace tensorhub::agent {

Reader::Reader(const CoreOptions& options, const TransactionId& transaction, Reference& reference,
               Digests& digests, const Remembered& last, PeerTable& peers, uint64_t& next_token,
               bool in_outage, TimeMs now)
    : peers_(peers),
      transfer_(options, transaction, reference, digests, last, next_token, in_outage, now),
      stream_(transfer_, peers) {
  if (transfer_.complete()) state_ = State::kComplete;
}

void Reader::OnAssign(const AssignDirective& assign, TimeMs now, Effects& effects) {
  if (state_ != State::kReading || assign.transaction != transfer_.transaction()) return;
  if (assign.publication != transfer_.reference().content().publication) return;
  stream_.OnAssign(assign, now, effects);
  Advance(now, effects);
}

void Reader::OnMessage(const PeerMessage& message, std::string_view payload, TimeMs now,
                       Effects& effects) {
  stream_.OnMessage(message, payload, now, effects);
  Advance(now, effects);
}

void Reader::OnLane(const LaneKnown& event, Effects& effects) { stream_.OnLane(event, effects); }

void Reader::OnImported(const MemoryImported& event, TimeMs now, Effects& effects) {
  if (event.status.ok()) {
    peers_.imported.insert(event.peer);
  } else {
    peers_.imported.erase(event.peer);
  }
  stream_.OnImported(event, effects);
  Advance(now, effects);
}

void Reader::OnGetDone(const GetDone& event, TimeMs now, Effects& effects) {
  stream_.OnGetDone(event, now, effects);
  Advance(now, effects);
}

void Reader::OnWord(const WordArrived& event, TimeMs now, Effects& effects) {
  stream_.OnWord(event, now, effects);
  Advance(now, effects);
}

void Reader::OnHashed(const ChunksHashed& event, TimeMs now, Effects& effects) {
  if (stream_.IsOpen() && transfer_.OnSkipHashed(event)) return Proceed(now, effects);
  stream_.OnHashed(event);
  Advance(now, effects);
}

void Reader::OnPeerFailed(const PeerFailed& event, TimeMs now, Effects& effects) {
  stream_.OnPeerFailed(event, now, effects);
  Advance(now, effects);
}

void Reader::OnReconnected(Incarnation peer, TimeMs now, Effects& effects) {
  stream_.OnReconnected(peer, now, effects);
  Advance(now, effects);
}

void Reader::OnTick(TimeMs now, Effects& effects) {
  stream_.OnTick(now, effects);
  Advance(now, effects);
}

void Reader::Stop(Effects& effects) {
  if (state_ == State::kReading) state_ = State::kStopped;
  stream_.Stop(effects);
}

// After every event.
void Reader::Advance(TimeMs now, Effects& effects) {
  if (stream_.TakeMoved()) Proceed(now, effects);
}

// What became sound is committed, and more is asked for.
void Reader::Proceed(TimeMs now, Effects& effects) {
  CommitArrived(now, effects);
  if (state_ != State::kReading || !stream_.IsReading()) return;
  transfer_.AdvanceSkips(effects);
  SkipSame(now, effects);
  if (state_ == State::kReading) stream_.AskForMore(effects);
}

void Reader::CommitArrived(TimeMs now, Effects& effects) {
  stream_.HashArrived(effects);
  const uint32_t end = stream_.SoundEnd();
  if (end > transfer_.valid_chunks()) {
    transfer_.CommitRead(end, effects);
    AfterCommit(now, effects);
  }
  stream_.FailIfBad(effects);
}

// R9: what was found to be in place is valid without being read.
void Reader::SkipSame(TimeMs now, Effects& effects) {
  const uint32_t end = transfer_.SameEnd();
  if (end == transfer_.valid_chunks()) return;
  transfer_.CommitSkipped(end, effects);
  AfterCommit(now, effects);
  if (state_ == State::kReading) stream_.OnSkipped(effects);
}

void Reader::AfterCommit(TimeMs now, Effects& effects) {
  if (transfer_.complete()) {
    stream_.End(effects);
    state_ = State::kComplete;
  }
  const auto& assigned = stream_.assignment();
  transfer_.TellProgress(assigned ? &assigned->source.key : nullptr, stream_.lane(), now, effects);
}

}  // namespace tensorhub::agent
