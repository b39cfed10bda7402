// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The served way: the source sends frames, and says how far they are confirmed.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker_agent/core/stream.h"

namespace tensorhub::agent {

void Stream::BeginServed() {
  source_->phase = Phase::kServed;
  StartServed();
  moved_ = true;
}

void Stream::StartServed() {
  source_->first = source_->credit = source_->confirmed = transfer_.valid_chunks();
  source_->received = chunking().begin(transfer_.valid_chunks());
}

// All that was asked for has arrived, and the source has more: the way there is longer than the
// window. A source that is itself short of bytes never looks like this.
void Stream::WidenIfDry() {
  const uint64_t asked = std::min(chunking().begin(source_->credit), chunking().total_bytes);
  if (source_->received < asked || source_->known_valid <= source_->credit) return;
  if (source_->credit == source_->first) return;  // nothing was asked for yet
  if (source_->credit == transfer_.ReadableEnd()) return;
  transfer_.WidenWindow();
}

// Raised by half a window at a time: a request per chunk would cost the source a message each.
void Stream::RaiseCredit(Effects& effects) {
  WidenIfDry();
  const uint32_t window = transfer_.WindowChunks();
  const uint32_t end = transfer_.ReadableEnd();
  const uint32_t wanted = std::min(end, transfer_.valid_chunks() + window);
  const bool last = wanted == end;
  if (wanted <= source_->credit) return;
  if (!last && wanted - source_->credit < window / 2) return;
  source_->credit = wanted;
  Request(effects);
}

void Stream::Request(Effects& effects) {
  PeerMessage request = Header(PeerKind::kRequest);
  request.chunk = source_->credit;
  request.begin = source_->unfragmented_bytes;
  Say(request, effects);
}

// Said at once: what was asked for before may be the rest of the shard.
void Stream::OnLane(const PathKnown& event, Effects& effects) {
  if (!assigned_ || event.peer != assigned_->source.incarnation) return;
  NoteWay(event.way, effects);
  if (!source_ || source_->phase != Phase::kServed || event.unfragmented_bytes == 0) return;
  source_->unfragmented_bytes = event.unfragmented_bytes;
  Request(effects);
}

// Logged once per peer, and again when it changes.
void Stream::NoteWay(const std::string& way, Effects& effects) {
  transfer_.NoteWay(way);
  if (source_) source_->lane = way;
  const auto peer = peers_.open.find(assigned_->source.incarnation);
  if (peer == peers_.open.end() || std::exchange(peer->second.way, way) == way) return;
  effects.emplace_back(
      LogLine{LogLine::Level::kInfo, absl::StrCat(ToString(options().self.key), " reads ",
                                                  ToString(assigned_->source.key), ": ", way)});
}

// A source that is reached by one way and then, since it has not answered, by another one, hears
// what it was asked twice, and may answer on both. What has arrived is not written again.
void Stream::OnData(const PeerMessage& message, std::string_view payload, Effects& effects) {
  if (source_->phase != Phase::kServed) return;
  const uint64_t limit = std::min(chunking().begin(source_->credit), chunking().total_bytes);
  if (message.begin > source_->received || message.begin + payload.size() > limit) {
    return Fail(absl::InternalError("the source sent bytes that were not asked for"), effects);
  }
  payload.remove_prefix(std::min(payload.size(), source_->received - message.begin));
  if (!payload.empty()) {
    effects.emplace_back(CopyIn{message.from, {{source_->received, payload.size()}}, payload});
    source_->received += payload.size();
  }
  OnStatus(message);
}

}  // namespace tensorhub::agent
