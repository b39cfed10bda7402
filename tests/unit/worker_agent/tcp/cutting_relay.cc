// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/worker_agent/tcp/cutting_relay.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <utility>

#include "common/check.h"

namespace tensorhub::agent {
namespace {

constexpr size_t kWaitingMax = 64 << 10;
constexpr size_t kTakenMax = 16 << 10;
constexpr int kStillTurns = 600;

// Senders are to feel that it is slow, and to get rid of a part of a message.
void TakeLittle(const Socket& socket) {
  const int bytes = 8 << 10;
  setsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

Socket ConnectTo(uint16_t port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  TakeLittle(socket);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket.fd(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0)
    return Socket();
  fcntl(socket.fd(), F_SETFL, fcntl(socket.fd(), F_GETFL) | O_NONBLOCK);
  return socket;
}

void Reset(Socket& socket) {
  const linger now = {.l_onoff = 1, .l_linger = 0};
  setsockopt(socket.fd(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  socket.Close();
}

}  // namespace

CuttingRelay::CuttingRelay(uint64_t seed, std::vector<uint16_t> targets)
    : random_(seed), targets_(std::move(targets)) {
  auto listening = ListenAt(kHere, {});
  TH_CHECK(listening.ok());
  listening_ = *std::move(listening);
  TakeLittle(listening_.socket);
}

// A cut is often in the first words, often late, and sometimes there is none.
int64_t CuttingRelay::DrawUntilCut() {
  constexpr std::array<uint64_t, 3> kWithin = {100, 5'000, 500'000};
  const uint64_t which = random_.Below(kWithin.size() + 1);
  if (calm_ || which == kWithin.size()) return std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(random_.Below(kWithin[which]));
}

void CuttingRelay::CalmDown() {
  calm_ = true;
  for (Pair& pair : pairs_) pair.until_cut = DrawUntilCut();
}

void CuttingRelay::Accept() {
  while (true) {
    Socket client(accept4(listening_.socket.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!client.IsOpen()) return;
    Pair pair;
    pair.client = std::move(client);
    pair.server = ConnectTo(targets_[random_.Below(targets_.size())]);
    pair.until_cut = DrawUntilCut();
    if (pair.server.IsOpen()) pairs_.push_back(std::move(pair));
  }
}

void CuttingRelay::Pump() {
  Accept();
  for (auto pair = pairs_.begin(); pair != pairs_.end();) {
    pair = PumpOne(*pair) ? std::next(pair) : pairs_.erase(pair);
  }
}

// A pair stands still for a turn, or until its writers' systems take no more.
bool CuttingRelay::StandsStill(Pair& pair) {
  if (calm_) return false;
  if (random_.Below(300) == 0) pair.still = kStillTurns;
  return pair.still-- > 0 || random_.Below(4) == 0;
}

// False: it is over.
bool CuttingRelay::PumpOne(Pair& pair) {
  if (pair.half) return PumpHalf(pair);
  if (StandsStill(pair)) return true;
  const bool sound = Take(pair, pair.client, pair.to_server) &&
                     Take(pair, pair.server, pair.to_client) && pair.until_cut >= 0 &&
                     Give(pair.server, pair.to_server, random_.Below(kWaitingMax) + 1) &&
                     Give(pair.client, pair.to_client, random_.Below(kWaitingMax) + 1);
  if (sound) return !(pair.to_server.told && pair.to_client.told);
  if (pair.until_cut < 0) ++cuts_;
  pair.half = pair.until_cut < 0 && random_.Below(4) == 0;
  if (!pair.half) Cut(pair);
  pair.still = kStillTurns;
  pair.server.Close();
  return pair.half;
}

// The client's side stays, and takes nothing.
bool CuttingRelay::PumpHalf(Pair& pair) {
  if (!calm_ && --pair.still > 0) return true;
  Reset(pair.client);
  return false;
}

// False: the connection broke.
bool CuttingRelay::Take(Pair& pair, const Socket& from, Way& way) {
  if (way.ended || way.waiting.size() >= kWaitingMax) return true;
  char bytes[kTakenMax];
  const ssize_t got = recv(from.fd(), bytes, random_.Below(sizeof(bytes)) + 1, MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  way.ended = got == 0;
  const int64_t left = std::min<int64_t>(got, std::max<int64_t>(pair.until_cut, 0));
  way.waiting.append(bytes, static_cast<size_t>(left));
  pair.until_cut -= got;
  return true;
}

bool CuttingRelay::Give(const Socket& to, Way& way, size_t bytes) {
  if (!way.waiting.empty()) {
    const ssize_t sent = send(to.fd(), way.waiting.data(), std::min(bytes, way.waiting.size()),
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    way.waiting.erase(0, static_cast<size_t>(sent));
  }
  if (way.ended && way.waiting.empty() && !std::exchange(way.told, true)) {
    shutdown(to.fd(), SHUT_WR);
  }
  return true;
}

// What is on its way comes to its reader, or does not.
void CuttingRelay::Cut(Pair& pair) {
  for (const auto& [to, way] :
       {std::pair{&pair.server, &pair.to_server}, {&pair.client, &pair.to_client}}) {
    if (random_.Below(2) == 0) Give(*to, *way, way->waiting.size());
    random_.Below(2) == 0 ? Reset(*to) : to->Close();
  }
}

}  // namespace tensorhub::agent
