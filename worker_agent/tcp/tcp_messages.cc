// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/tcp/tcp_messages.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "worker_agent/tcp/tcp_keys.h"

namespace tensorhub::agent {
namespace {

// What waits for one peer, at most: two of the longest headers.
constexpr uint64_t kWaitingMax = 2 * TcpInbox::kHeaderBytesMax;
constexpr int kEventsAtOnce = 64;

absl::Status Watch(int events, int fd, uint64_t key) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = key}};
  if (epoll_ctl(events, EPOLL_CTL_ADD, fd, &event) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, "no events of sockets");
}

}  // namespace

absl::StatusOr<std::unique_ptr<TcpMessages>> TcpMessages::Create(Sink* sink,
                                                                 const Options& options) {
  std::unique_ptr<TcpMessages> messages(new TcpMessages(sink, options));
  if (absl::Status status = messages->Open(); !status.ok()) return status;
  return messages;
}

absl::Status TcpMessages::Open() {
  absl::StatusOr<ListeningSocket> listening = ListenAt(options_.listen, options_.ports);
  if (!listening.ok()) return listening.status();
  listener_ = std::move(listening->socket);
  address_ = {NewIdentity(), options_.told, listening->port};
  last_key_ = kAlarmKey;
  events_ = Socket(epoll_create1(EPOLL_CLOEXEC));
  alarm_ = Socket(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  reserve_ = Socket(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!events_.IsOpen() || !alarm_.IsOpen() || !reserve_.IsOpen()) {
    return ErrnoStatus(errno, "no descriptor for messages over TCP");
  }
  absl::Status watched = Watch(events_.fd(), listener_.fd(), kListenerKey);
  return watched.ok() ? Watch(events_.fd(), alarm_.fd(), kAlarmKey) : watched;
}

TcpMessages::~TcpMessages() {
  while (!connections_.empty()) {
    const auto& [key, connection] = *connections_.begin();
    if (connection->phase == Phase::kOpen) End(key);
    Drop(connections_.begin()->first);
  }
}

absl::StatusOr<PeerId> TcpMessages::Connect(std::string_view address) {
  absl::StatusOr<TcpAddress> decoded = DecodeTcpAddress(address);
  if (!decoded.ok()) return decoded.status();
  const PeerId id = ++last_peer_;
  Peer& peer = peers_[id];
  peer.address = *std::move(decoded);
  peer.open = OpenFrom(peer.address.identity);
  if (peer.open != 0) {
    connections_.at(peer.open)->peer = id;
    return id;
  }
  if (absl::Status dialled = Dial(id, peer); !dialled.ok()) {
    peers_.erase(id);
    return dialled;
  }
  return id;
}

absl::Status TcpMessages::Unusable(PeerId peer) const {
  const auto found = peers_.find(peer);
  if (found != peers_.end()) return found->second.failure;
  return absl::CancelledError("the connection to the peer is closed");
}

// A process that is stopped takes nothing, for days perhaps, and a hostile one may ask all the
// while (R9): whoever lets so much wait for it is given up.
TcpMessages::Peer* TcpMessages::Taking(PeerId id) {
  const auto found = peers_.find(id);
  if (found == peers_.end() || !found->second.failure.ok()) return nullptr;
  if (found->second.outbox.waiting_bytes() < kWaitingMax) return &found->second;
  Fail(id, absl::UnavailableError("the peer takes no messages any more"));
  return nullptr;
}

void TcpMessages::Send(PeerId id, std::string_view header, std::span<const ConstPiece> pieces,
                       uint64_t token) {
  Peer* const peer = Taking(id);
  if (peer == nullptr) {
    if (token != 0) sent_.emplace_back(token, Unusable(id));
    return;
  }
  const bool first = peer->outbox.IsEmpty();
  peer->outbox.Push(header, pieces, token);
  if (first && peer->open != 0) Flush(id, *peer);
}

void TcpMessages::Flush(PeerId id, Peer& peer) {
  Connection& connection = *connections_.at(peer.open);
  taken_.clear();
  const absl::StatusOr<bool> empty = peer.outbox.Flush(connection.socket.fd(), taken_);
  for (const uint64_t token : taken_) sent_.emplace_back(token, absl::OkStatus());
  if (!empty.ok()) return Fail(id, empty.status());
  Want(peer.open, connection, *empty ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

void TcpMessages::Fail(PeerId id, const absl::Status& why) {
  Peer& peer = peers_.at(id);
  if (!peer.failure.ok()) return;
  peer.failure = why;
  for (const uint64_t token : peer.outbox.TakeTokens()) sent_.emplace_back(token, why);
  if (peer.open != 0) Drop(std::exchange(peer.open, 0));
  for (const Key key : std::exchange(peer.dials, {})) Drop(key);
  dialling_.erase(id);
  failed_.push_back(id);
}

// What the system has already is on its way: the last word that was sent is heard.
void TcpMessages::Close(PeerId id) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  const bool cut = peer.outbox.IsWithinMessage();
  for (const uint64_t token : peer.outbox.TakeTokens()) {
    sent_.emplace_back(token, absl::CancelledError("the connection to the peer is closed"));
  }
  if (peer.open != 0) cut ? Drop(peer.open) : End(peer.open);
  for (const Key key : peer.dials) Drop(key);
  dialling_.erase(id);
  peers_.erase(found);
}

std::string TcpMessages::Describe(PeerId peer) const {
  const auto found = peers_.find(peer);
  const bool there = found != peers_.end() && found->second.failure.ok();
  return there ? absl::StrCat("tcp/", options_.device) : "closed";
}

std::string TcpMessages::Summary() const {
  return absl::StrCat("tcp/", options_.device, " at ", TextOf(address_));
}

bool TcpMessages::Progress() {
  dropped_.clear();
  epoll_event ready[kEventsAtOnce];
  const int count = epoll_wait(events_.fd(), ready, kEventsAtOnce, 0);
  for (int i = 0; i < count; ++i) OnEvents(ready[i].data.u64, ready[i].events);
  return TellOwner() || count > 0;
}

// The owner may send and close, which leaves more for the next call.
bool TcpMessages::TellOwner() {
  const auto sent = std::exchange(sent_, {});
  for (const auto& [token, status] : sent) sink_->OnSent(token, status);
  const auto failed = std::exchange(failed_, {});
  for (const PeerId id : failed) {
    const auto found = peers_.find(id);
    if (found == peers_.end()) continue;
    const absl::Status why = found->second.failure;
    sink_->OnPeerFailed(id, why);
  }
  return !sent.empty() || !failed.empty();
}

}  // namespace tensorhub::agent
