// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/tcp/sockets.h"

#include <linux/sockios.h>
#include <linux/tcp.h>  // not netinet/tcp.h, whose tcp_info ends earlier
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/random.h"

namespace tensorhub::agent {
namespace {

// Where many readers come at once, the system's own limit (net.core.somaxconn) counts.
constexpr int kBacklog = 4096;
constexpr int kKeepAliveIdleSeconds = 10;
constexpr int kKeepAliveSeconds = 5;

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t bytes = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

SocketAddress Make(std::string_view host, uint16_t port) {
  SocketAddress made;
  if (host.size() == 4) {
    auto* in = reinterpret_cast<sockaddr_in*>(&made.storage);
    in->sin_family = AF_INET;
    in->sin_port = htons(port);
    std::memcpy(&in->sin_addr, host.data(), host.size());
    made.bytes = sizeof(sockaddr_in);
  } else {
    auto* in = reinterpret_cast<sockaddr_in6*>(&made.storage);
    in->sin6_family = AF_INET6;
    in->sin6_port = htons(port);
    if (host.size() == sizeof(in->sin6_addr)) std::memcpy(&in->sin6_addr, host.data(), host.size());
    made.bytes = sizeof(sockaddr_in6);
  }
  return made;
}

void Set(int fd, int level, int name, int value) {
  static_cast<void>(setsockopt(fd, level, name, &value, sizeof(value)));
}

absl::StatusOr<Socket> Open(int family) {
  Socket socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.IsOpen()) return ErrnoStatus(errno, "no socket");
  return socket;
}

uint16_t PortOf(int fd) {
  sockaddr_storage at = {};
  socklen_t bytes = sizeof(at);
  getsockname(fd, reinterpret_cast<sockaddr*>(&at), &bytes);
  return ntohs(at.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&at)->sin6_port
                                        : reinterpret_cast<sockaddr_in*>(&at)->sin_port);
}

// IPv6 at all addresses takes IPv4's connections as well.
absl::StatusOr<ListeningSocket> ListenAtPort(std::string_view host, uint16_t port) {
  const SocketAddress at = Make(host, port);
  absl::StatusOr<Socket> socket = Open(at.family());
  if (!socket.ok()) return socket.status();
  Set(socket->fd(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (bind(socket->fd(), at.get(), at.bytes) != 0 || listen(socket->fd(), kBacklog) != 0) {
    return ErrnoStatus(errno, "it cannot be listened at");
  }
  ListeningSocket listening{*std::move(socket), port};
  listening.port = PortOf(listening.socket.fd());
  return listening;
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Socket::Close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

absl::StatusOr<ListeningSocket> ListenAt(std::string_view host, PortRange ports) {
  const uint32_t count = uint32_t{ports.last} - ports.first + 1;
  const uint64_t offset = Random(RandomSeed()).Below(count);
  absl::Status last;
  for (uint32_t tried = 0; tried < count; ++tried) {
    const auto port = static_cast<uint16_t>(ports.first + (offset + tried) % count);
    absl::StatusOr<ListeningSocket> listening = ListenAtPort(host, port);
    if (listening.ok() || errno != EADDRINUSE) return listening;
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("none of the ", count, " ports ", ports.first, "-", ports.last,
                   " is free, and each client listens at one; give it a wider range"));
}

absl::StatusOr<Socket> BeginConnect(std::string_view from, const TcpAddress& to) {
  const SocketAddress target = Make(to.host, to.port);
  absl::StatusOr<Socket> socket = Open(target.family());
  if (!socket.ok()) return socket;
  if (from.size() == to.host.size()) {
    // The port is chosen when it connects, among those that are free towards that peer.
    Set(socket->fd(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
    const SocketAddress source = Make(from, 0);
    if (bind(socket->fd(), source.get(), source.bytes) != 0) {
      return ErrnoStatus(errno, "this host's address is gone");
    }
  }
  if (connect(socket->fd(), target.get(), target.bytes) == 0 || errno == EINPROGRESS) return socket;
  return ErrnoStatus(errno, TextOf(to));
}

absl::Status ConnectOutcome(const Socket& socket) {
  int error = 0;
  socklen_t bytes = sizeof(error);
  if (getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) error = errno;
  return error == 0 ? absl::OkStatus() : ErrnoStatus(error, "it does not connect");
}

void Prepare(const Socket& socket) {
  const int fd = socket.fd();
  Set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  Set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  Set(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  Set(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveSeconds);
  Set(fd, IPPROTO_TCP, TCP_KEEPCNT, (kGoneSeconds - kKeepAliveIdleSeconds) / kKeepAliveSeconds);
  Set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kGoneSeconds * 1000);
}

SegmentCounts CountSegments(const Socket& socket) {
  tcp_info info = {};
  socklen_t bytes = sizeof(info);
  if (getsockopt(socket.fd(), IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return {};
  return {info.tcpi_data_segs_in, info.tcpi_rcv_ooopack};
}

bool IsDelivered(const Socket& socket) {
  int on_its_way = 0;
  const bool known = ioctl(socket.fd(), SIOCOUTQ, &on_its_way) == 0;
  return !known || on_its_way == 0;
}

absl::Status ErrnoStatus(int error, std::string_view what) {
  std::string text = absl::StrCat(std::string(what), ": ", std::strerror(error));
  switch (error) {
    case EMFILE:
    case ENFILE:
      return absl::ResourceExhaustedError(text + " (ulimit -n)");
    case ENOMEM:
    case ENOBUFS:
    case EADDRINUSE:
    case EADDRNOTAVAIL:
      return absl::ResourceExhaustedError(text);
    default:
      return absl::UnavailableError(text);
  }
}

}  // namespace tensorhub::agent
