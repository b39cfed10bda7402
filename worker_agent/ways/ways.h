// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Several ways to each peer as one MessageTransport. A host has shared memory and some networks,
// and which of them connects two processes shows only when they try: users differ, /dev/shm is
// full, a network ends at its switch. So a connection begins with the best way, and goes on to the
// next one when that is refused, or silent for kSilentMs; what was sent meanwhile is sent again.
// Once something has been delivered the way stays: a failure from then on is the peer's. A way that
// was only silent is waited for at the end, without a limit: the peer may be stopped.
//
// Invariants: (1) a message is delivered once: it is sent on another way only when the one before
// is closed; (2) OnSent comes when no way touches its memory any more.
//
// Thread contract: as MessageTransport.

#ifndef TENSORHUB_WORKER_AGENT_WAYS_WAYS_H_
#define TENSORHUB_WORKER_AGENT_WAYS_WAYS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "worker_agent/core/transport.h"
#include "worker_agent/ways/way_offers.h"

namespace tensorhub::agent {

class Ways : public MessageTransport {
 public:
  using Make = std::function<absl::StatusOr<std::unique_ptr<MessageTransport>>(Sink*)>;
  struct Candidate {
    WayOffer offer;  // `transport` is asked of what `make` gives
    Make make;
  };
  struct Host {
    std::string boot;
    std::string network_space;
    std::vector<Candidate> candidates;  // the best first
    std::function<std::optional<std::string>(std::string_view)> source_towards;
    std::function<int64_t()> now_ms;  // steady
  };
  static constexpr int64_t kSilentMs = 1000;
#ifdef TENSORHUB_SANITIZED  // they slow a peer down, which is not silent for that
  static constexpr int64_t kMemorySilentMs = kSilentMs;
#else
  static constexpr int64_t kMemorySilentMs = 300;
#endif

  // What cannot be made is left out, and said in the log. The error of the last one if none can.
  static absl::StatusOr<std::unique_ptr<Ways>> Create(Sink* sink, const Host& host);
  ~Ways() override;
  Ways(const Ways&) = delete;
  Ways& operator=(const Ways&) = delete;

  std::string Address() const override { return address_; }
  size_t MaxPayloadBytes() const override { return ways_.front()->transport->MaxPayloadBytes(); }
  size_t WholePayloadBytes(PeerId peer) const override;
  absl::StatusOr<PeerId> Connect(std::string_view address) override;
  void Send(PeerId peer, std::string_view header, std::span<const ConstPiece> pieces,
            uint64_t token) override;
  void Close(PeerId peer) override;
  void SelfTestReceive() override;
  void Abandon() override;
  std::string Describe(PeerId peer) const override;
  std::string Summary() const override;
  bool Progress() override;
  int EventFd() const override { return events_; }
  bool Arm() override;

 private:
  // One of the ways, and what it says.
  struct Way : public Sink {
    void OnMessage(std::string_view header, std::string_view payload) override;
    void OnHeard(PeerId peer, bool lossy) override;
    void OnSent(uint64_t token, const absl::Status& status) override;
    void OnPeerFailed(PeerId peer, const absl::Status& status) override;
    void OnDeaf(std::string_view why) override;

    Ways* owner = nullptr;
    size_t index = 0;
    WayOffer offer;
    std::unique_ptr<MessageTransport> transport;
    std::map<PeerId, PeerId> peers;  // ours, by its own
  };
  struct Peer {
    std::string address;
    WayOffers theirs;
    std::vector<WayPair> left;    // to try, the best last
    std::vector<WayPair> silent;  // tried, and not refused
    bool waits = false;           // for one of those, without a limit
    WayPair way;
    PeerId inner = 0;
    bool proven = false;  // something was delivered
    bool moves = false;   // to the next way, before Progress returns
    int64_t silent_at = 0;
    bool routed = false;  // one of those that were tried; then it is not for lack of a route (R8)
    absl::Status refused;
    std::vector<uint64_t> unsure;  // messages, in the order sent
  };
  // A message that may have to be sent once more.
  struct Message {
    PeerId peer = 0;
    uint64_t token = 0;
    std::string header;
    std::vector<ConstPiece> pieces;
    int under_way = 0;  // on so many ways, of which all but the last are closed
    bool delivered = false;
    absl::Status outcome;
  };

  Ways(Sink* sink, const Host& host);
  absl::Status Add(const Candidate& candidate);
  void OpenEvents();
  bool Reaches(WayOffer::Kind kind) const;
  absl::Status ConnectNext(PeerId id, Peer& peer);
  bool TakeNext(Peer& peer);
  void Leave(Peer& peer);
  void Refuse(Peer& peer, const absl::Status& why);
  void SayWhichWay(const Peer& peer);
  void Start(uint64_t number, Message& message, const Peer& peer);
  void OnMessageSent(uint64_t number, const absl::Status& status);
  void Prove(Peer& peer);
  void EndMessage(uint64_t number);
  void MoveOn();
  void SetAlarm();
  const Way& WayOf(const Peer& peer) const { return *ways_[peer.way.mine]; }

  Sink* const sink_;
  const std::function<std::optional<std::string>(std::string_view)> source_towards_;
  const std::function<int64_t()> now_ms_;
  WayOffers mine_;
  std::string address_;
  std::vector<std::unique_ptr<Way>> ways_;
  std::map<PeerId, Peer> peers_;
  PeerId last_peer_ = 0;
  std::map<uint64_t, Message> messages_;
  uint64_t last_message_ = 0;
  std::set<PeerId> trying_;  // not proven
  struct Proven {
    WayPair way;
    int64_t until = 0;
  };
  std::map<std::string, Proven> proven_;  // by a peer's address; tried first until then
  std::set<std::string> said_;
  std::vector<std::pair<uint64_t, absl::Status>> sent_;  // for OnSent, from the next Progress
  std::vector<std::pair<PeerId, absl::Status>> failed_;  // for OnPeerFailed, the same
  int events_ = -1;
  int alarm_ = -1;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_WAYS_WAYS_H_
