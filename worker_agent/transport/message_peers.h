// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

// The peers of the served way: which connection belongs to which incarnation.
//
// Invariants: (1) `later` gets every event that a method causes, so that the core is never entered
// from within its own effects; (2) what names a peer that is not open is dropped, and answered if
// an answer is owed.
//
// Thread contract: the progress thread.

#ifndef TENSORHUB_WORKER_AGENT_TRANSPORT_MESSAGE_PEERS_H_
#define TENSORHUB_WORKER_AGENT_TRANSPORT_MESSAGE_PEERS_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"
#include "worker_agent/core/transport.h"

namespace tensorhub::agent {

class MessagePeers : public MessageTransport::Sink {
 public:
  using OnEvent = std::function<void(const Event&)>;

  // `now` is called from within the transport's Progress, `later` from anywhere.
  MessagePeers(OnEvent now, OnEvent later) : now_(std::move(now)), later_(std::move(later)) {}

  // Before any other method; the transport was made with this object as its sink. Of another before
  // it, which is abandoned, the sends under way end with an error, though it may still read what
  // they name.
  void Use(MessageTransport* transport);
  // Once: why the transport hears nothing any more, and another is to be used.
  std::optional<std::string> TakeDeaf() { return std::exchange(deaf_, std::nullopt); }

  void Open(const OpenPeer& open);
  void Close(Incarnation peer);
  // Sends a last word, and closes when it has left.
  void Part(Incarnation peer, std::string_view header);
  void CloseAll();
  // token 0: nobody wants to know.
  void Send(Incarnation peer, std::string_view header, std::span<const ConstPiece> pieces,
            uint64_t token);
  // Empty if the peer is not open.
  std::string Describe(Incarnation peer) const;
  // MessageTransport::WholePayloadBytes; 0 if the peer is not open.
  size_t WholePayloadBytes(Incarnation peer) const;
  // Sends that the transport still works on.
  size_t outstanding() const { return outstanding_.size(); }

  void OnMessage(std::string_view header, std::string_view payload) override;
  void OnSent(uint64_t token, const absl::Status& status) override;
  void OnHeard(PeerId peer, bool lossy) override;
  void OnPeerFailed(PeerId peer, const absl::Status& status) override;
  void OnDeaf(std::string_view why) override { deaf_ = why; }

 private:
  std::map<Incarnation, PeerId>::iterator Find(PeerId peer);

  const OnEvent now_;
  const OnEvent later_;
  MessageTransport* transport_ = nullptr;
  std::map<Incarnation, PeerId> peers_;
  std::set<PeerId> parting_;           // closed when their last word has left
  std::vector<uint64_t> outstanding_;  // tokens; few, since a peer has a frame or two under way
  std::optional<std::string> deaf_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_TRANSPORT_MESSAGE_PEERS_H_
