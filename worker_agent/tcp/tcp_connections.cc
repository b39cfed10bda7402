// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// TcpMessages' connections: how one comes to be, proves itself, and ends.

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "worker_agent/runtime/log.h"
#include "worker_agent/tcp/tcp_keys.h"
#include "worker_agent/tcp/tcp_messages.h"

namespace tensorhub::agent {
namespace {

// One connection's share of a turn.
constexpr size_t kReadAtOnce = 2 << 20;
// Nobody waits longer for a first word, or for the end of one that is done. A word may be lost a
// few times on a link of some seconds.
constexpr int64_t kFirstWordMs = 30'000;
constexpr int64_t kEndingMs = 10'000;
// R9: of whoever has not proven itself, and of those that are done; the oldest has to go.
constexpr size_t kTimedMax = 512;
constexpr int kAcceptsAtOnce = 64;
// A message that comes in parts is heard of so often.
constexpr int64_t kHeardMs = 100;
// A dial without an answer for so long has another one beside it; each next one comes after twice
// the time, so that a link of any length is met.
constexpr int64_t kDialAgainMs = 500;
constexpr size_t kDialsAtOnce = 4;
constexpr int kDialsMax = 16;

int64_t NowMs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

TcpMessages::Key TcpMessages::Add(Socket socket, Phase phase, uint32_t events) {
  const Key key = ++last_key_;
  auto connection = std::make_unique<Connection>();
  connection->phase = phase;
  connection->socket = std::move(socket);
  connection->wanted_events = events;
  epoll_event event{.events = events, .data = {.u64 = key}};
  epoll_ctl(events_.fd(), EPOLL_CTL_ADD, connection->socket.fd(), &event);
  connections_.emplace(key, std::move(connection));
  return key;
}

void TcpMessages::Want(Key key, Connection& connection, uint32_t events) {
  if (connection.wanted_events == events) return;
  connection.wanted_events = events;
  epoll_event event{.events = events, .data = {.u64 = key}};
  epoll_ctl(events_.fd(), EPOLL_CTL_MOD, connection.socket.fd(), &event);
}

// The one that spoke last: an older one may be of a path that has died, and a newer one may be a
// dial beside it, which its maker is about to drop.
TcpMessages::Key TcpMessages::OpenFrom(const std::string& identity) const {
  Key best = 0;
  uint64_t spoke = 0;
  for (const auto& [key, connection] : connections_) {
    const bool free = connection->phase == Phase::kOpen && connection->peer == 0;
    if (!free || connection->identity != identity || connection->spoke < spoke) continue;
    best = key;
    spoke = connection->spoke;
  }
  return best;
}

absl::Status TcpMessages::Dial(PeerId id, Peer& peer) {
  absl::StatusOr<Socket> socket = BeginConnect(options_.listen, peer.address);
  const int64_t wait = kDialAgainMs << std::min(peer.dialled, 5);
  ++peer.dialled;
  peer.dial_again_ms = NowMs() + wait;
  if (!socket.ok()) return socket.status();
  const Key key = Add(*std::move(socket), Phase::kConnecting, EPOLLOUT);
  connections_.at(key)->peer = id;
  connections_.at(key)->dialled_ms = NowMs();
  peer.dials.insert(key);
  dialling_.insert(id);
  SetAlarm();
  return absl::OkStatus();
}

bool TcpMessages::MayDial(const Peer& peer) { return peer.dialled < kDialsMax; }

// Where many paths are dead, the oldest of several dials is on one of them.
void TcpMessages::DialAgain(PeerId id) {
  Peer& peer = peers_.at(id);
  if (MayDial(peer)) {
    if (peer.dials.size() >= kDialsAtOnce) Drop(peer.dials.extract(peer.dials.begin()).value());
    absl::Status dialled = Dial(id, peer);
    if (!dialled.ok()) peer.refused = std::move(dialled);
  }
  if (peer.dials.empty()) Fail(id, peer.refused);
}

void TcpMessages::DialFailed(Key key, const absl::Status& why) {
  const PeerId id = connections_.at(key)->peer;
  Drop(key);
  Peer& peer = peers_.at(id);
  peer.dials.erase(key);
  peer.refused = absl::Status(why.code(),
                              absl::StrCat(TextOf(peer.address), ": ", std::string(why.message())));
  if (peer.dials.empty()) Fail(id, peer.refused);
}

void TcpMessages::Accept() {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    Socket socket(accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.IsOpen()) {
      Admit(std::move(socket));
    } else if (errno == EMFILE || errno == ENFILE) {
      return AcceptWithoutDescriptor();
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return;
    }
  }
}

void TcpMessages::AcceptWithoutDescriptor() {
  reserve_.Close();
  Socket socket(accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.IsOpen()) {
    const std::string answer = Encode(Verdict::kNoDescriptors);
    static_cast<void>(send(socket.fd(), answer.data(), answer.size(), MSG_NOSIGNAL));
    NoteRefused("this process has no descriptors left (ulimit -n)");
  }
  socket.Close();  // first, so that there is one for the reserve
  reserve_ = Socket(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

void TcpMessages::Admit(Socket socket) {
  Prepare(socket);
  if (timed_.size() >= kTimedMax) TurnAway(*timed_.begin(), "too many that say nothing");
  const Key key = Add(std::move(socket), Phase::kAccepted, EPOLLIN);
  connections_.at(key)->until_ms = NowMs() + kFirstWordMs;
  timed_.insert(key);
  SetAlarm();
}

void TcpMessages::OnEvents(Key key, uint32_t events) {
  if (key == kListenerKey) return Accept();
  if (key == kAlarmKey) return RunTimers();
  const auto found = connections_.find(key);
  if (found == connections_.end()) return;  // closed by what came before it in this turn
  Connection& connection = *found->second;
  switch (connection.phase) {
    case Phase::kConnecting:
      return OnConnected(key, connection);
    case Phase::kSaidHello:
      return OnAnswer(key, connection);
    case Phase::kAccepted:
      return OnHello(key, connection);
    case Phase::kOpen:
      return OnOpen(key, connection, events);
    case Phase::kEnding:
      return OnEnding(key, connection);
  }
}

void TcpMessages::OnConnected(Key key, Connection& connection) {
  absl::Status outcome = ConnectOutcome(connection.socket);
  if (!outcome.ok()) return DialFailed(key, outcome);
  Prepare(connection.socket);
  Peer& peer = peers_.at(connection.peer);
  // This path lives. Another connection, where they are rationed, would be taken from somebody.
  const int64_t now = NowMs();
  peer.dial_again_ms = std::max(peer.dial_again_ms, now + 2 * (now - connection.dialled_ms));
  const std::string hello = Encode(Hello{peer.address.identity, address_.identity});
  const ssize_t sent = send(connection.socket.fd(), hello.data(), hello.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(hello.size())) {
    return DialFailed(key, ErrnoStatus(sent < 0 ? errno : EPIPE, "the first word"));
  }
  connection.phase = Phase::kSaidHello;
  Want(key, connection, EPOLLIN);
}

// True: it is whole. `ended`: it will not be.
bool TcpMessages::ReceiveGreeting(Connection& connection, size_t bytes, absl::Status& ended) {
  std::string& greeting = connection.greeting;
  char more[kHelloBytes];
  const ssize_t got = recv(connection.socket.fd(), more, bytes - greeting.size(), MSG_DONTWAIT);
  if (got > 0) greeting.append(more, static_cast<size_t>(got));
  if (got == 0) ended = absl::UnavailableError("it closes the connection without an answer");
  if (got < 0 && errno != EAGAIN && errno != EINTR) ended = ErrnoStatus(errno, "no answer");
  return greeting.size() == bytes;
}

void TcpMessages::OnAnswer(Key key, Connection& connection) {
  absl::Status ended;
  if (!ReceiveGreeting(connection, kVerdictBytes, ended)) {
    return ended.ok() ? void() : DialFailed(key, ended);
  }
  const std::optional<Verdict> verdict = DecodeVerdict(connection.greeting);
  if (!verdict) return DialFailed(key, absl::UnavailableError("no worker answers there"));
  if (*verdict == Verdict::kNoDescriptors) {
    return DialFailed(key,
                      absl::UnavailableError("the worker has no descriptors left (ulimit -n)"));
  }
  const PeerId id = connection.peer;
  Peer& peer = peers_.at(id);
  if (*verdict == Verdict::kSomebodyElse) {
    // Another dial may take another path; if none does, the worker is gone.
    Drop(key);
    peer.dials.erase(key);
    peer.refused = absl::UnavailableError(
        absl::StrCat(TextOf(peer.address), ": another worker answers there"));
    return DialAgain(id);
  }
  connection.phase = Phase::kOpen;
  connection.identity = peer.address.identity;
  peer.dials.erase(key);
  for (const Key other : std::exchange(peer.dials, {})) Drop(other);
  dialling_.erase(id);
  peer.open = key;
  Flush(id, peer);
}

void TcpMessages::OnHello(Key key, Connection& connection) {
  absl::Status ended;
  const bool whole = ReceiveGreeting(connection, kHelloBytes, ended);
  if (!ended.ok() || !MayBeHello(connection.greeting))
    return TurnAway(key, "no worker has made it");
  if (!whole) return;
  const std::optional<Hello> hello = DecodeHello(connection.greeting);
  const bool meant = hello && hello->wanted == address_.identity;
  const std::string answer = Encode(meant ? Verdict::kWelcome : Verdict::kSomebodyElse);
  const ssize_t sent = send(connection.socket.fd(), answer.data(), answer.size(), MSG_NOSIGNAL);
  timed_.erase(key);
  if (sent != static_cast<ssize_t>(answer.size())) return TurnAway(key, "its peer has gone");
  if (!meant) {
    NoteRefused("it wants another worker");
    return End(key);
  }
  connection.phase = Phase::kOpen;
  connection.identity = hello->own;
}

void TcpMessages::OnOpen(Key key, Connection& connection, uint32_t events) {
  if ((events & EPOLLOUT) != 0 && connection.peer != 0) {
    Flush(connection.peer, peers_.at(connection.peer));
  }
  if (!connection.socket.IsOpen() || connection.phase != Phase::kOpen) return;
  bool whole = false;
  const auto take = [&](std::string_view header, std::string_view payload) {
    whole = true;
    connection.spoke = ++spoken_;
    sink_->OnMessage(header, payload);
    return connection.socket.IsOpen() && connection.phase == Phase::kOpen;
  };
  const absl::StatusOr<size_t> read =
      connection.inbox.Read(connection.socket.fd(), kReadAtOnce, take);
  if (read.ok()) return !whole && *read > 0 ? TellHeard(connection) : void();
  if (connection.peer != 0) return Fail(connection.peer, read.status());
  if (absl::IsInvalidArgument(read.status())) NoteRefused(std::string(read.status().message()));
  Drop(key);
}

void TcpMessages::TellHeard(Connection& connection) {
  const int64_t now = NowMs();
  if (connection.peer == 0 || now < connection.heard_ms + kHeardMs) return;
  connection.heard_ms = now;
  const bool lossy = connection.loss.IsLossy(CountSegments(connection.socket), now);
  sink_->OnHeard(connection.peer, lossy);
}

void TcpMessages::OnEnding(Key key, const Connection& connection) {
  char nothing[4096];
  while (!IsDelivered(connection.socket)) {
    const ssize_t got = recv(connection.socket.fd(), nothing, sizeof(nothing), MSG_DONTWAIT);
    if (got > 0 || (got < 0 && errno == EINTR)) continue;
    if (got < 0 && errno == EAGAIN) return;
    break;
  }
  Drop(key);
}

void TcpMessages::TurnAway(Key key, std::string_view why) {
  NoteRefused(why);
  Drop(key);
}

// The first one, and each whose number has one digit more: whoever scans ports fills no log.
void TcpMessages::NoteRefused(std::string_view why) {
  if (++refused_ != refused_noted_) return;
  refused_noted_ *= 10;
  Log().warn("{}: a connection was turned away, {}; {} so far", Summary(), why, refused_);
}

// A socket that is closed with bytes in it that nobody has read resets the connection, and what was
// sent last may be lost to the peer: so it is read until the peer has that. No longer, since a link
// that is thin would go on bringing what nobody wants.
void TcpMessages::End(Key key) {
  Connection& connection = *connections_.at(key);
  if (IsDelivered(connection.socket)) return Drop(key);
  connection.peer = 0;
  connection.phase = Phase::kEnding;
  shutdown(connection.socket.fd(), SHUT_WR);
  Want(key, connection, EPOLLIN);
  if (timed_.size() >= kTimedMax) Drop(*timed_.begin());
  connection.until_ms = NowMs() + kEndingMs;
  timed_.insert(key);
  SetAlarm();
  OnEnding(key, connection);
}

// No call that is within it uses it any more once its socket is closed.
void TcpMessages::Drop(Key key) {
  const auto found = connections_.find(key);
  if (found == connections_.end()) return;
  found->second->socket.Close();
  timed_.erase(key);
  dropped_.push_back(std::move(found->second));
  connections_.erase(found);
}

void TcpMessages::RunTimers() {
  uint64_t times = 0;
  static_cast<void>(!read(alarm_.fd(), &times, sizeof(times)));
  const int64_t now = NowMs();
  const std::set<Key> timed = timed_;
  for (const Key key : timed) {
    const auto found = connections_.find(key);
    if (found == connections_.end() || now < found->second->until_ms) continue;
    found->second->phase == Phase::kAccepted ? TurnAway(key, "it says nothing") : Drop(key);
  }
  const std::set<PeerId> dialling = dialling_;
  for (const PeerId id : dialling) {
    const Peer& peer = peers_.at(id);
    if (MayDial(peer) && now >= peer.dial_again_ms) DialAgain(id);
  }
  SetAlarm();
}

void TcpMessages::SetAlarm() {
  int64_t next = INT64_MAX;
  for (const Key key : timed_) next = std::min(next, connections_.at(key)->until_ms);
  for (const PeerId id : dialling_) {
    const Peer& peer = peers_.at(id);
    if (MayDial(peer)) next = std::min(next, peer.dial_again_ms);
  }
  itimerspec at{};
  if (next != INT64_MAX) {
    const int64_t ms = std::max<int64_t>(1, next - NowMs());
    at.it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1'000'000};
  }
  timerfd_settime(alarm_.fd(), 0, &at, nullptr);
}

}  // namespace tensorhub::agent
