// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/deathwatch.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

#include "common/listen_address.h"
#include "common/thread.h"

namespace tensorhub {
namespace {

constexpr int kConnectMs = 500;
// So often it looks whether another one is to be watched.
constexpr int kLookMs = 200;
// Between the two connects of a proof.
constexpr std::chrono::milliseconds kProofPause{50};
// Before somebody who is not reached, or has hung up, is tried again.
constexpr std::chrono::milliseconds kAgainAfter{500};

enum class Reached { kYes, kRefused, kNo };

class Connection {
 public:
  Connection() = default;
  ~Connection() {
    if (fd_ >= 0) close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Reached Connect(const addrinfo& address) {
    if (fd_ >= 0) close(fd_);
    fd_ = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd_ < 0) return Reached::kNo;
    int error = connect(fd_, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) error = AwaitConnect();
    if (error == 0) return Reached::kYes;
    return error == ECONNREFUSED ? Reached::kRefused : Reached::kNo;
  }

  // False: it has ended. What the other end says is of no interest.
  bool Lives(int patience_ms) {
    pollfd readable{fd_, POLLIN | POLLRDHUP, 0};
    if (poll(&readable, 1, patience_ms) <= 0) return true;
    char bytes[4096];
    const ssize_t got = recv(fd_, bytes, sizeof(bytes), MSG_DONTWAIT);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
  }

 private:
  int AwaitConnect() const {
    pollfd writable{fd_, POLLOUT, 0};
    if (poll(&writable, 1, kConnectMs) <= 0) return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof(error);
    return getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
  }

  int fd_ = -1;
};

// Refused: by each address that the name stands for.
Reached Reach(const std::string& server, Connection& connection) {
  const auto address = ListenAddress::Parse(server);
  if (!address.ok()) return Reached::kNo;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address->port);
  if (getaddrinfo(address->host.c_str(), port.c_str(), &hints, &found) != 0) return Reached::kNo;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  Reached all = Reached::kRefused;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const Reached reached = connection.Connect(*one);
    if (reached == Reached::kYes) return reached;
    if (reached == Reached::kNo) all = Reached::kNo;
  }
  return all;
}

bool Refuses(const std::string& server) {
  Connection connection;
  return Reach(server, connection) == Reached::kRefused;
}

}  // namespace

Deathwatch::Deathwatch(OnDead on_dead)
    : on_dead_(std::move(on_dead)),
      thread_(StartThreadOrEnd("watching the leader", [this] { Run(); })) {}

Deathwatch::~Deathwatch() {
  {
    MutexLock lock(mutex_);
    ends_ = true;
    wake_.NotifyAll();
  }
  thread_.join();
}

void Deathwatch::Watch(const std::optional<store::Leader>& leader) {
  MutexLock lock(mutex_);
  if (leader_ == leader) return;
  leader_ = leader;
  wake_.NotifyAll();
}

bool Deathwatch::Next(store::Leader& leader) {
  MutexLock lock(mutex_);
  while (!ends_ && !leader_) wake_.Wait(mutex_);
  if (!ends_) leader = *leader_;
  return !ends_;
}

bool Deathwatch::Still(const store::Leader& leader) {
  MutexLock lock(mutex_);
  return !ends_ && leader_ == leader;
}

void Deathwatch::Pause(std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  MutexLock lock(mutex_);
  while (!ends_ && wake_.WaitUntil(mutex_, until)) continue;
}

// Who was never reached is not proven to have been alive there.
void Deathwatch::Run() {
  store::Leader leader;
  while (Next(leader)) {
    HoldOn(leader);
    if (reached_ == leader && IsDead(leader)) on_dead_(leader);
    Pause(kAgainAfter);
  }
}

// Until the connection has ended, or another one leads. At once where it is not reached.
void Deathwatch::HoldOn(const store::Leader& leader) {
  Connection connection;
  if (Reach(leader.address, connection) != Reached::kYes) return;
  if (reached_ != leader) {
    spdlog::info(
        "standing by: the server at {} is watched: if it dies, its lease is not waited for",
        leader.address);
  }
  reached_ = leader;
  while (Still(leader) && connection.Lives(kLookMs)) continue;
}

bool Deathwatch::IsDead(const store::Leader& leader) {
  if (!Still(leader) || !Refuses(leader.address)) return false;
  Pause(kProofPause);
  return Still(leader) && Refuses(leader.address);
}

}  // namespace tensorhub
