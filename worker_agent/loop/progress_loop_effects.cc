// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

// What the core wants done, effect by effect.

#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "common/check.h"
#include "worker_agent/core/peer_wire.h"
#include "worker_agent/loop/progress_loop.h"
#include "worker_agent/memory/chunk_digest.h"
#include "worker_agent/runtime/log.h"

namespace tensorhub::agent {

namespace {

// What it is called where it holds the thread up.
template <class T>
constexpr const char* kName = "an effect";
template <>
constexpr const char* kName<Call> = "a call to the server";
template <>
constexpr const char* kName<SessionSend> = "a word to the server";
template <>
constexpr const char* kName<OpenPeer> = "connecting to a peer";
template <>
constexpr const char* kName<ClosePeer> = "closing a peer's connection";
template <>
constexpr const char* kName<SendMessage> = "sending a message";
template <>
constexpr const char* kName<SendData> = "sending a frame";
template <>
constexpr const char* kName<CopyIn> = "copying a frame in";
template <>
constexpr const char* kName<ImportMemory> = "mapping a peer's memory";
template <>
constexpr const char* kName<Get> = "a one-sided get";
template <>
constexpr const char* kName<CloseGets> = "unmapping a peer's memory";
template <>
constexpr const char* kName<HashChunks> = "hashing a chunk that has arrived";
template <>
constexpr const char* kName<SetControlWord> = "a device's end of copying";
template <>
constexpr const char* kName<FetchAdvanced> = "the program's own progress callback";
template <>
constexpr const char* kName<LogLine> = "writing to the log";

uint64_t DigestOf(const std::vector<ConstPiece>& pieces) {
  std::vector<DigestPiece> hashed;
  hashed.reserve(pieces.size());
  for (const ConstPiece& piece : pieces) hashed.push_back({piece.data, piece.bytes});
  return ChunkDigest(hashed.data(), hashed.size());
}

}  // namespace

void ProgressLoop::CarryOutOne(const Effect& effect) {
  std::visit(
      [this](const auto& body) {
        const StallWatch::Call call(watch_, kName<std::decay_t<decltype(body)>>);
        CarryOut(body);
      },
      effect);
}

void ProgressLoop::CarryOut(const Call& effect) {
  if (std::holds_alternative<protocol::Leave>(effect.request)) hub_->ExpectEnd();
  hub_->calls().Start(effect);
}
void ProgressLoop::CarryOut(const CancelCall& effect) { hub_->calls().Cancel(effect.op); }
void ProgressLoop::CarryOut(const PutDocuments&) { hub_->calls().PutDocuments(); }
void ProgressLoop::CarryOut(const SessionSend& effect) { hub_->Send(effect); }

void ProgressLoop::CarryOut(const OpenPeer& effect) {
  if (noted_ && noted_->first == effect.peer) noted_.reset();
  peers_.Open(effect);
}
void ProgressLoop::CarryOut(const ClosePeer& effect) { peers_.Close(effect.peer); }
void ProgressLoop::CarryOut(const PartFrom& effect) { peers_.Part(effect.peer, effect.header); }

void ProgressLoop::CarryOut(const SelfTestReceive&) { messages_->SelfTestReceive(); }
void ProgressLoop::CarryOut(const MoveSession& effect) { hub_->MoveTo(effect.endpoint); }

void ProgressLoop::CarryOut(const SendMessage& effect) {
  peers_.Send(effect.peer, effect.header, {}, 0);
}

void ProgressLoop::CarryOut(const SendData& effect) {
  TH_CHECK(memory_);
  memory_->Pieces(effect.ranges, pieces_);
  const absl::Status status = memory_->medium().Expose(pieces_, effect.token, const_pieces_);
  if (!status.ok()) return LoseMemory(status);
  if (!effect.hashed) return peers_.Send(effect.peer, effect.header, const_pieces_, effect.token);
  std::string header = effect.header;
  SetPayloadDigest(DigestOf(const_pieces_), header);
  peers_.Send(effect.peer, header, const_pieces_, effect.token);
}

void ProgressLoop::CarryOut(const SendDescription& effect) {
  const ConstPiece piece{description_.data(), description_.size()};
  peers_.Send(effect.peer, effect.header, {&piece, 1}, effect.token);
}

void ProgressLoop::CarryOut(const CopyIn& effect) {
  TH_CHECK(memory_);
  memory_->Pieces(effect.ranges, pieces_);
  const absl::Status status = memory_->medium().CopyIn(pieces_, effect.payload);
  if (!status.ok()) return LoseMemory(status);
  copied_in_ = true;
  NoteWay(effect.peer, /*one_sided=*/false);
}

void ProgressLoop::CarryOut(const ImportMemory& effect) {
  TH_CHECK(memory_);
  one_sided_.Import(effect.peer, effect.description,
                    effect.same_size ? std::optional(memory_->total_bytes()) : std::nullopt);
}

void ProgressLoop::CarryOut(const Get& effect) {
  TH_CHECK(memory_);
  // A byte has one operation outstanding at most, and what was copied in may be on its way.
  if (std::exchange(copied_in_, false)) {
    const absl::Status status = memory_->medium().MakeVisible();
    if (!status.ok()) return LoseMemory(status);
  }
  getting_from_ = effect.peer;
  one_sided_.Get(effect, *memory_);
}

void ProgressLoop::CarryOut(const GetWord& effect) { one_sided_.GetWord(effect); }
void ProgressLoop::CarryOut(const CloseGets& effect) { one_sided_.Close(effect.peer); }
void ProgressLoop::CarryOut(const HashChunks& effect) {
  TH_CHECK(memory_);
  std::optional<ChunksHashed> hashed = hasher_.Hash(effect, *memory_);
  if (hashed) later_.emplace_back(*std::move(hashed));
}

void ProgressLoop::CarryOut(const MakeReadPlan& effect) {
  TH_CHECK(memory_);
  options_.on_plan_wanted(effect, memory_->layout());
}

// R4: the bytes first, then the word, then whatever else says that they are valid. And where
// reading ends in an error, the memory is the owner's again: nothing arrives there any more.
void ProgressLoop::CarryOut(const SetControlWord& effect) {
  const bool arrives = std::exchange(copied_in_, false) || effect.word.valid_chunks > 0;
  if (memory_ && arrives) {
    const absl::Status status = memory_->medium().MakeVisible();
    if (!status.ok()) return LoseMemory(status);
  }
  word_.Store(effect.word);
}

void ProgressLoop::CarryOut(const ReadersAbandoned&) { left_readers_ = true; }

void ProgressLoop::CarryOut(const CopyWanted& effect) {
  options_.on_copy_wanted(effect.version, effect.within_ms);
}
void ProgressLoop::CarryOut(const CopyReleased&) { options_.on_copy_released(); }

void ProgressLoop::CarryOut(const VerbDone& effect) {
  on_progress_ = nullptr;
  const OnVerbDone done = std::exchange(on_verb_done_, nullptr);
  TH_CHECK(done);
  done(effect);
}

void ProgressLoop::CarryOut(const FetchAdvanced& effect) {
  if (on_progress_) on_progress_(effect);
}

void ProgressLoop::CarryOut(const LogLine& effect) {
  switch (effect.level) {
    case LogLine::Level::kDebug:
      return Log().debug("{}", effect.text);
    case LogLine::Level::kInfo:
      return Log().info("{}", effect.text);
    case LogLine::Level::kWarning:
      return Log().warn("{}", effect.text);
  }
}

}  // namespace tensorhub::agent
