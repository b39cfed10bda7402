// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/bare_sockets.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/bare_role.h"
#include "bench/tensors.h"
#include "worker_agent/core/peer_wire.h"
#include "worker_agent/tcp/sockets.h"

namespace tensorhub::bench {
namespace {

const std::string kLoopback("\x7f\0\0\x01", 4);

struct FrameHead {
  uint64_t at = 0;
  uint64_t bytes = 0;
  char padding[agent::kPeerHeaderBytes - 2 * sizeof(uint64_t)] = {};
};
static_assert(sizeof(FrameHead) == agent::kPeerHeaderBytes);

absl::Status ReceiveAll(const agent::Socket& socket, void* to, size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = recv(socket.fd(), at, bytes, MSG_WAITALL);
    if (got == 0) return absl::UnavailableError("the bare peer has ended");
    if (got < 0 && errno != EINTR) return agent::ErrnoStatus(errno, "bare recv");
    at += std::max<ssize_t>(got, 0);
    bytes -= static_cast<size_t>(std::max<ssize_t>(got, 0));
  }
  return absl::OkStatus();
}

absl::Status SendAll(const agent::Socket& socket, iovec (&parts)[2]) {
  size_t part = 0;
  while (part < 2) {
    msghdr message = {};
    message.msg_iov = parts + part;
    message.msg_iovlen = 2 - part;
    const ssize_t sent = sendmsg(socket.fd(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return agent::ErrnoStatus(errno, "bare send");
    for (auto left = static_cast<size_t>(std::max<ssize_t>(sent, 0)); part < 2;) {
      const size_t gone = std::min(left, parts[part].iov_len);
      parts[part].iov_base = static_cast<char*>(parts[part].iov_base) + gone;
      parts[part].iov_len -= gone;
      left -= gone;
      if (parts[part].iov_len > 0) break;
      ++part;
    }
  }
  return absl::OkStatus();
}

class BareSockets {
 public:
  BareSockets(const BareSettings& settings, std::unique_ptr<MemoryBlock> block)
      : settings_(settings), block_(std::move(block)) {}

  // Which port it listens at.
  absl::StatusOr<uint16_t> Listen();
  absl::Status Connect(const std::string& line);
  absl::Status Serve();
  absl::StatusOr<double> Read();
  std::string Digest() const { return DigestOf(block_->data(), block_->bytes()); }

 private:
  absl::Status Accept();

  const BareSettings settings_;
  const std::unique_ptr<MemoryBlock> block_;
  agent::ListeningSocket listening_;
  agent::Socket peer_;
};

absl::StatusOr<uint16_t> BareSockets::Listen() {
  absl::StatusOr<agent::ListeningSocket> listening = agent::ListenAt(kLoopback, {});
  if (!listening.ok()) return listening.status();
  listening_ = *std::move(listening);
  return listening_.port;
}

absl::Status BareSockets::Connect(const std::string& line) {
  const absl::StatusOr<Fields> fields = CommandFields(line);
  if (!fields.ok()) return fields.status();
  const absl::StatusOr<double> port = fields->Number("port");
  if (!port.ok()) return port.status();
  peer_ = agent::Socket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(*port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(peer_.fd(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) {
    return agent::ErrnoStatus(errno, "connecting to the bare peer");
  }
  agent::Prepare(peer_);
  return absl::OkStatus();
}

// The listener does not block; the reader has connected before it reads.
absl::Status BareSockets::Accept() {
  if (peer_.IsOpen()) return absl::OkStatus();
  while (!peer_.IsOpen()) {
    peer_ = agent::Socket(accept4(listening_.socket.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!peer_.IsOpen() && errno != EAGAIN && errno != EINTR) {
      return agent::ErrnoStatus(errno, "accepting the bare peer");
    }
  }
  agent::Prepare(peer_);
  return absl::OkStatus();
}

absl::Status BareSockets::Serve() {
  if (absl::Status status = Accept(); !status.ok()) return status;
  char go = 0;
  if (absl::Status status = ReceiveAll(peer_, &go, 1); !status.ok()) return status;
  for (uint64_t at = 0; at < settings_.bytes; at += settings_.frame_bytes) {
    FrameHead header{at, std::min(settings_.frame_bytes, settings_.bytes - at)};
    iovec parts[2] = {{&header, sizeof(header)}, {block_->data() + at, header.bytes}};
    if (absl::Status status = SendAll(peer_, parts); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<double> BareSockets::Read() {
  const auto start = std::chrono::steady_clock::now();
  if (send(peer_.fd(), "g", 1, MSG_NOSIGNAL) != 1) return agent::ErrnoStatus(errno, "bare send");
  for (uint64_t received = 0; received < settings_.bytes;) {
    FrameHead header;
    absl::Status status = ReceiveAll(peer_, &header, sizeof(header));
    if (status.ok()) status = ReceiveAll(peer_, block_->data() + header.at, header.bytes);
    if (!status.ok()) return status;
    received += header.bytes;
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

absl::Status PlaySockets(const Fields& args) {
  const absl::StatusOr<BareRole> role = BareRole::Parse(args);
  if (!role.ok()) return role.status();
  absl::StatusOr<std::unique_ptr<MemoryBlock>> block = MemoryBlock::Make(role->settings.bytes);
  if (!block.ok()) return block.status();
  if (role->is_source) Fill((*block)->data(), (*block)->bytes(), kBareSeed);
  BareSockets bare(role->settings, *std::move(block));
  std::string offer;
  if (role->is_source) {
    const absl::StatusOr<uint16_t> port = bare.Listen();
    if (!port.ok()) return port.status();
    offer = absl::StrCat("port=", *port);
  }
  AnswerOk(offer);
  AnswerCommands([&](const std::string& line) { return RunBareCommand(bare, line); });
  return absl::OkStatus();
}

}  // namespace

int RunBareSockets(const Fields& args) { return EndRole(PlaySockets(args)); }

}  // namespace tensorhub::bench
