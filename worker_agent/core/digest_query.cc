// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/digest_query.h"

#include <algorithm>

namespace tensorhub::agent {

DigestQuery::DigestQuery(const CoreOptions& options, const PublishReply& asked,
                         const Chunking& chunking, PeerTable& peers, uint64_t& next_token,
                         TimeMs now, Effects& effects)
    : self_(options.self.incarnation),
      holder_(asked.with.holder.incarnation),
      generation_(asked.with.generation),
      read_(next_token++ << 20),  // as a reader's: unique within the process
      chunking_(chunking) {
  over_ = holder_ == 0 || holder_ == self_;
  if (over_) return;
  const auto [known, fresh] = peers.open.try_emplace(holder_);
  known->second.used_at = now;
  if (fresh) {
    known->second.endpoint = asked.with.endpoint;
    OpenWithHello(options, holder_, asked.with.endpoint, effects);
  }
  PeerMessage open = Header(PeerKind::kOpen);
  open.publication = asked.publication;
  open.chunk_bytes = chunking.chunk_bytes;
  open.flags = kFlagDigests;
  open.text = options.endpoint;
  Show(asked.with.capability, ReadUse::kDigests, open);
  effects.emplace_back(SendMessage{holder_, Encode(open)});
}

PeerMessage DigestQuery::Header(PeerKind kind) const {
  PeerMessage message;
  message.kind = kind;
  message.from = self_;
  message.to = holder_;
  message.read = read_;
  message.generation = generation_;
  return message;
}

// R9: what does not continue what is known ends the query.
bool DigestQuery::OnMessage(const PeerMessage& message) {
  if (message.from != holder_ || message.read != read_) return false;
  if (message.kind == PeerKind::kRefuse) over_ = true;
  if (message.kind != PeerKind::kDigests || over_) return true;
  const auto digests = DecodeDigests(message.text);
  const uint32_t missing = chunking_.count() - theirs_.known();
  over_ = !digests || message.chunk != theirs_.known() || digests->size() > missing;
  if (over_) return true;
  theirs_.Append(*digests);
  over_ = (message.flags & kFlagNoMoreDigests) != 0;
  return true;
}

void DigestQuery::OnPeerFailed(Incarnation peer) { over_ |= peer == holder_; }

void DigestQuery::Close(Effects& effects) const {
  if (!over_) effects.emplace_back(SendMessage{holder_, Encode(Header(PeerKind::kClose))});
}

std::optional<uint32_t> DigestQuery::FirstDifference(const Digests& mine) const {
  const uint32_t both = std::min(mine.known(), theirs_.known());
  for (uint32_t chunk = 0; chunk < both; ++chunk) {
    if (mine.of(chunk) != theirs_.of(chunk)) return chunk;
  }
  return std::nullopt;
}

}  // namespace tensorhub::agent
