// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/tcp/tcp_outbox.h"

#include <limits.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/bytes.h"
#include "worker_agent/tcp/sockets.h"

namespace tensorhub::agent {
namespace {

// One system call gives the socket no more: others are to have their turn.
constexpr size_t kBytesAtOnce = 2 << 20;
// What a message that waits costs besides its text.
constexpr uint64_t kBookkeepingBytes = 1024;

}  // namespace

uint64_t TcpOutbox::CostOf(const Waiting& message) {
  return kBookkeepingBytes + message.head.size();
}

void TcpOutbox::Push(std::string_view header, std::span<const ConstPiece> pieces, uint64_t token) {
  Waiting message;
  size_t payload = 0;
  for (const ConstPiece& piece : pieces) {
    if (piece.bytes > 0) message.pieces.push_back(piece);
    payload += piece.bytes;
  }
  ByteWriter writer(message.head);
  writer.Put(static_cast<uint32_t>(header.size()));
  writer.Put(static_cast<uint32_t>(payload));
  writer.PutBytes(header);
  message.token = token;
  message.bytes = message.head.size() + payload;
  waiting_bytes_ += CostOf(message);
  waiting_.push_back(std::move(message));
}

void TcpOutbox::GatherOne(const Waiting& message, std::vector<iovec>& parts) {
  size_t skip = message.gone;
  const auto add = [&](const void* data, size_t bytes) {
    const size_t skipped = std::min(skip, bytes);
    skip -= skipped;
    if (skipped == bytes || parts.size() == IOV_MAX) return;
    parts.push_back(
        {const_cast<std::byte*>(static_cast<const std::byte*>(data)) + skipped, bytes - skipped});
  };
  add(message.head.data(), message.head.size());
  for (const ConstPiece& piece : message.pieces) add(piece.data, piece.bytes);
}

void TcpOutbox::Gather() {
  parts_.clear();
  size_t bytes = 0;
  for (const Waiting& message : waiting_) {
    if (bytes >= kBytesAtOnce || parts_.size() >= IOV_MAX) break;
    GatherOne(message, parts_);
    bytes += message.bytes - message.gone;
  }
}

void TcpOutbox::TakeAway(size_t bytes, std::vector<uint64_t>& taken) {
  while (bytes > 0) {
    Waiting& first = waiting_.front();
    const size_t part = std::min(bytes, first.bytes - first.gone);
    first.gone += part;
    bytes -= part;
    if (first.gone < first.bytes) return;
    if (first.token != 0) taken.push_back(first.token);
    waiting_bytes_ -= CostOf(first);
    waiting_.pop_front();
  }
}

absl::StatusOr<bool> TcpOutbox::Flush(int fd, std::vector<uint64_t>& taken) {
  while (!waiting_.empty()) {
    Gather();
    msghdr message = {};
    message.msg_iov = parts_.data();
    message.msg_iovlen = parts_.size();
    const ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      TakeAway(static_cast<size_t>(sent), taken);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
    return ErrnoStatus(errno, "sending to the peer");
  }
  return true;
}

std::vector<uint64_t> TcpOutbox::TakeTokens() {
  std::vector<uint64_t> tokens;
  for (const Waiting& message : waiting_) {
    if (message.token != 0) tokens.push_back(message.token);
  }
  waiting_.clear();
  waiting_bytes_ = 0;
  return tokens;
}

}  // namespace tensorhub::agent
