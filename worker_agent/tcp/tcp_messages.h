// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// MessageTransport over TCP. A pair of workers has one connection, made by the one that reads:
// whoever is asked to connect to a worker that has already come takes that one's connection, so
// that a source never dials back. Each proves, before it carries a message, that it leads to the
// worker that is meant (tcp_greeting.h); a stray is closed and dialled again.
//
// A dial that is not answered is not waited for alone: another one goes out, from another port, by
// another path perhaps, and the first to be answered is taken.
//
// Invariants: (1) a callback runs within Progress only; what it closes is gone at once, and
// destroyed later; (2) what strangers can make this hold is bounded (R9): connections that have not
// proven themselves, bytes that wait for a peer, dials per peer.
//
// Thread contract: as MessageTransport.

#ifndef TENSORHUB_WORKER_AGENT_TCP_TCP_MESSAGES_H_
#define TENSORHUB_WORKER_AGENT_TCP_TCP_MESSAGES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "worker_agent/core/transport.h"
#include "worker_agent/tcp/loss_gauge.h"
#include "worker_agent/tcp/sockets.h"
#include "worker_agent/tcp/tcp_address.h"
#include "worker_agent/tcp/tcp_greeting.h"
#include "worker_agent/tcp/tcp_inbox.h"
#include "worker_agent/tcp/tcp_outbox.h"

namespace tensorhub::agent {

class TcpMessages : public MessageTransport {
 public:
  struct Options {
    std::string device;  // for people: "eth0"
    std::string listen;  // an address of this host (4 or 16 bytes); empty: all of them
    std::string told;    // the one that peers are told
    PortRange ports;
  };
  // RESOURCE_EXHAUSTED: no port of the range is free. `sink` must outlive the transport.
  static absl::StatusOr<std::unique_ptr<TcpMessages>> Create(Sink* sink, const Options& options);
  ~TcpMessages() override;
  TcpMessages(const TcpMessages&) = delete;
  TcpMessages& operator=(const TcpMessages&) = delete;

  std::string Address() const override { return Encode(address_); }
  size_t MaxPayloadBytes() const override { return kMaxPayloadBytes; }
  size_t WholePayloadBytes(PeerId /*peer*/) const override { return kMaxPayloadBytes; }
  absl::StatusOr<PeerId> Connect(std::string_view address) override;
  void Send(PeerId peer, std::string_view header, std::span<const ConstPiece> pieces,
            uint64_t token) override;
  void Close(PeerId peer) override;
  // Each peer has a connection of its own, and a socket that listens is never given up.
  void SelfTestReceive() override {}
  void Abandon() override {}
  std::string Describe(PeerId peer) const override;
  std::string Summary() const override;
  bool Progress() override;
  int EventFd() const override { return events_.fd(); }
  bool Arm() override { return sent_.empty() && failed_.empty(); }

  // Connections that were turned away: of strangers, of whoever meant somebody else.
  uint64_t refused() const { return refused_; }

 private:
  using Key = uint64_t;  // of a connection (tcp_keys.h)
  enum class Phase {
    kConnecting,  // until the system says that it does
    kSaidHello,   // the answer is awaited
    kAccepted,    // its hello is awaited
    kOpen,
    kEnding,  // all was said; until the peer has heard it
  };
  struct Connection {
    Phase phase = Phase::kConnecting;
    Socket socket;
    PeerId peer = 0;       // 0: this side has not asked for it
    std::string identity;  // of the other side
    std::string greeting;  // as much as has come of it
    TcpInbox inbox;
    uint32_t wanted_events = 0;
    int64_t until_ms = 0;    // kAccepted, kEnding
    int64_t dialled_ms = 0;  // kConnecting
    uint64_t spoke = 0;      // which of all messages its last one was
    int64_t heard_ms = 0;    // when its owner was told last that a part has come
    LossGauge loss;
  };
  struct Peer {
    TcpAddress address;
    TcpOutbox outbox;
    Key open = 0;
    std::set<Key> dials;
    int dialled = 0;
    int64_t dial_again_ms = 0;
    absl::Status refused;  // why the last dial failed
    absl::Status failure;
  };

  TcpMessages(Sink* sink, const Options& options) : sink_(sink), options_(options) {}
  absl::Status Open();

  // tcp_messages.cc: what the owner asks for, and hears.
  Peer* Taking(PeerId peer);
  absl::Status Unusable(PeerId peer) const;
  void Flush(PeerId id, Peer& peer);
  void Fail(PeerId id, const absl::Status& why);
  bool TellOwner();

  // tcp_connections.cc: from a dial or an accepted socket to one that carries messages.
  Key Add(Socket socket, Phase phase, uint32_t events);
  Key OpenFrom(const std::string& identity) const;
  absl::Status Dial(PeerId id, Peer& peer);
  static bool MayDial(const Peer& peer);
  void DialAgain(PeerId id);
  void DialFailed(Key key, const absl::Status& why);
  void Accept();
  void AcceptWithoutDescriptor();
  void Admit(Socket socket);
  void OnEvents(Key key, uint32_t events);
  void OnConnected(Key key, Connection& connection);
  bool ReceiveGreeting(Connection& connection, size_t bytes, absl::Status& ended);
  void OnAnswer(Key key, Connection& connection);
  void OnHello(Key key, Connection& connection);
  void OnOpen(Key key, Connection& connection, uint32_t events);
  void TellHeard(Connection& connection);
  void OnEnding(Key key, const Connection& connection);
  void TurnAway(Key key, std::string_view why);
  void NoteRefused(std::string_view why);
  void Want(Key key, Connection& connection, uint32_t events);
  void End(Key key);
  void Drop(Key key);
  void RunTimers();
  void SetAlarm();

  Sink* const sink_;
  const Options options_;
  TcpAddress address_;
  Socket events_;  // epoll
  Socket alarm_;
  Socket listener_;
  Socket reserve_;  // so that somebody can be told that descriptors are out
  std::map<Key, std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Connection>> dropped_;  // until no call can be within them
  Key last_key_ = 0;
  uint64_t spoken_ = 0;
  std::set<Key> timed_;  // kAccepted and kEnding
  std::map<PeerId, Peer> peers_;
  std::set<PeerId> dialling_;
  PeerId last_peer_ = 0;
  uint64_t refused_ = 0;
  uint64_t refused_noted_ = 1;                           // the log says when it is that
  std::vector<uint64_t> taken_;                          // reused
  std::vector<std::pair<uint64_t, absl::Status>> sent_;  // for OnSent, from the next Progress
  std::vector<PeerId> failed_;                           // for OnPeerFailed, the same
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_TCP_TCP_MESSAGES_H_
