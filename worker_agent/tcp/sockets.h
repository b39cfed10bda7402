// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// TCP sockets as this folder uses them: never blocking, closed on exec, without Nagle's delay.
//
// Thread contract: any thread, each socket by one at a time.

#ifndef TENSORHUB_WORKER_AGENT_TCP_SOCKETS_H_
#define TENSORHUB_WORKER_AGENT_TCP_SOCKETS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker_agent/tcp/tcp_address.h"

namespace tensorhub::agent {

// Owns a descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() { Close(); }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int fd() const { return fd_; }
  bool IsOpen() const { return fd_ >= 0; }
  void Close();

 private:
  int fd_ = -1;
};

// At which ports a worker may listen. 0 to 0: at any.
struct PortRange {
  uint16_t first = 0;
  uint16_t last = 0;
  bool operator==(const PortRange&) const = default;
};

struct ListeningSocket {
  Socket socket;
  uint16_t port = 0;
};

// At this address of the host (4 or 16 bytes, as they travel; empty: at all). Begins anywhere in
// the range. RESOURCE_EXHAUSTED: none of its ports is free, or there are no descriptors.
absl::StatusOr<ListeningSocket> ListenAt(std::string_view host, PortRange ports);

// Begins to connect, from this address of the host (empty: whichever the system takes). Whether it
// did shows once the socket can be written to, by `ConnectOutcome`.
absl::StatusOr<Socket> BeginConnect(std::string_view from, const TcpAddress& to);
absl::Status ConnectOutcome(const Socket& socket);

// For a socket that was accepted or has connected: a host that went away without a word is noticed
// in `kGoneSeconds`, which is longer than any queue on the way holds bytes back.
inline constexpr int kGoneSeconds = 60;
void Prepare(const Socket& socket);

// Segments of a connection that carried data: how many came, and how many of those came before one
// that was sent earlier, which was lost or late. 0 and 0: the system does not say.
struct SegmentCounts {
  uint32_t all = 0;  // both begin anew at 2^32
  uint32_t early = 0;
};
SegmentCounts CountSegments(const Socket& socket);

// Whether the peer's system has all that was sent.
bool IsDelivered(const Socket& socket);

// "`what`: the system's words". Out of descriptors or memory: RESOURCE_EXHAUSTED; else UNAVAILABLE.
absl::Status ErrnoStatus(int error, std::string_view what);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_TCP_SOCKETS_H_
