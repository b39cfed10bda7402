// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/transport/message_peers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/check.h"
#include "worker_agent/core/peer_wire.h"
#include "worker_agent/memory/chunk_digest.h"
#include "worker_agent/runtime/log.h"

namespace tensorhub::agent {
namespace {

// Tokens of last words, besides the core's, which are counted from one. (ProgressLoop's own last
// word is below.)
constexpr uint64_t kPartingTokens = uint64_t{1} << 63;

}  // namespace

void MessagePeers::Use(MessageTransport* transport) {
  transport_ = transport;
  peers_.clear();
  parting_.clear();
  for (const uint64_t token : std::exchange(outstanding_, {})) {
    later_(SendDone{token, absl::UnavailableError("the connection was given up")});
  }
  Log().info("messages: {}", transport->Summary());
}

void MessagePeers::Open(const OpenPeer& open) {
  Close(open.peer);
  const absl::StatusOr<PeerId> connected = transport_->Connect(open.endpoint);
  if (connected.ok()) {
    peers_[open.peer] = *connected;
  } else {
    later_(PeerFailed{open.peer, connected.status()});
  }
}

void MessagePeers::Close(Incarnation peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  transport_->Close(found->second);
  peers_.erase(found);
}

void MessagePeers::Part(Incarnation peer, std::string_view header) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  const PeerId id = found->second;
  peers_.erase(found);
  parting_.insert(id);
  transport_->Send(id, header, {}, kPartingTokens | id);
}

void MessagePeers::CloseAll() {
  for (const PeerId peer : std::exchange(parting_, {})) transport_->Close(peer);
  while (!peers_.empty()) Close(peers_.begin()->first);
}

void MessagePeers::Send(Incarnation peer, std::string_view header,
                        std::span<const ConstPiece> pieces, uint64_t token) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) {
    if (token != 0) later_(SendDone{token, absl::UnavailableError("the peer is not connected")});
    return;
  }
  if (token != 0) outstanding_.push_back(token);
  transport_->Send(found->second, header, pieces, token);
}

std::string MessagePeers::Describe(Incarnation peer) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? "" : transport_->Describe(found->second);
}

size_t MessagePeers::WholePayloadBytes(Incarnation peer) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? 0 : transport_->WholePayloadBytes(found->second);
}

// R1: other bytes than were sent go no further, and whoever sent them is no source for this read.
void MessagePeers::OnMessage(std::string_view header, std::string_view payload) {
  if (IsHashedPart(header)) {
    const DigestPiece whole{payload.data(), payload.size()};
    const std::optional<PeerMessage> message = DecodePeerMessage(header);
    if (message && ChunkDigest(&whole, 1) != PayloadDigestOf(header)) {
      const absl::Status damaged = absl::DataLossError("bytes changed on their way here");
      return now_(PeerFailed{message->from, damaged});
    }
  }
  now_(MessageArrived{header, payload});
}

void MessagePeers::OnSent(uint64_t token, const absl::Status& status) {
  if ((token & kPartingTokens) != 0) {
    const PeerId peer = token & ~kPartingTokens;
    if (parting_.erase(peer) != 0) transport_->Close(peer);
    return;
  }
  const auto found = std::find(outstanding_.begin(), outstanding_.end(), token);
  TH_CHECK(found != outstanding_.end());
  *found = outstanding_.back();
  outstanding_.pop_back();
  now_(SendDone{token, status});
}

std::map<Incarnation, PeerId>::iterator MessagePeers::Find(PeerId peer) {
  return std::find_if(peers_.begin(), peers_.end(),
                      [peer](const auto& entry) { return entry.second == peer; });
}

void MessagePeers::OnHeard(PeerId peer, bool lossy) {
  const auto found = Find(peer);
  if (found != peers_.end()) now_(PeerHeard{found->first, lossy});
}

// A failure that arrives after the connection was replaced concerns nobody.
void MessagePeers::OnPeerFailed(PeerId peer, const absl::Status& status) {
  const auto found = Find(peer);
  if (found == peers_.end()) return;
  const Incarnation incarnation = found->first;
  peers_.erase(found);
  transport_->Close(peer);
  Log().debug("a peer's connection broke: {}", std::string(status.message()));
  now_(PeerFailed{incarnation, status});
}

}  // namespace tensorhub::agent
