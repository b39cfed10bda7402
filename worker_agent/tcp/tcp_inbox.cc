// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/tcp/tcp_inbox.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/status/statusor.h"
#include "common/bytes.h"
#include "worker_agent/tcp/sockets.h"
#include "worker_agent/tcp/tcp_outbox.h"

namespace tensorhub::agent {
namespace {

// A header grows by so much at a time, as it comes.
constexpr size_t kHeaderStep = 64 * 1024;

}  // namespace

size_t TcpInbox::TakeAhead(char* to, size_t bytes) {
  const size_t taken = std::min(bytes, ahead_bytes());
  if (taken == 0) return 0;  // there may be no place, too
  std::memcpy(to, ahead_.data() + ahead_begin_, taken);
  ahead_begin_ += taken;
  return taken;
}

absl::Status TcpInbox::TakeCounts() {
  char counts[kMessageHeadBytes];
  TakeAhead(counts, sizeof(counts));
  ByteReader reader({counts, sizeof(counts)});
  header_bytes_ = reader.Take<uint32_t>();
  payload_bytes_ = reader.Take<uint32_t>();
  if (header_bytes_ == 0 || header_bytes_ > kHeaderBytesMax || payload_bytes_ > kMaxPayloadBytes) {
    return absl::InvalidArgumentError("the peer sends what is no message");
  }
  part_ = Part::kHeader;
  have_ = 0;
  header_.resize(std::min(header_bytes_, kHeaderStep));
  return absl::OkStatus();
}

// True: so many bytes of the part are there.
bool TcpInbox::Fill(std::string& part, size_t bytes) {
  have_ += TakeAhead(part.data() + have_, bytes - have_);
  return have_ == bytes;
}

absl::StatusOr<bool> TcpInbox::HandOn(Take take) {
  while (true) {
    if (part_ == Part::kCounts) {
      if (ahead_bytes() < kMessageHeadBytes) return true;
      if (absl::Status status = TakeCounts(); !status.ok()) return status;
    }
    if (part_ == Part::kHeader) {
      while (Fill(header_, header_.size()) && header_.size() < header_bytes_) {
        header_.resize(std::min(header_bytes_, 2 * header_.size()));
      }
      if (have_ < header_bytes_) return true;
      part_ = Part::kPayload;
      have_ = 0;
      if (payload_.size() < payload_bytes_) payload_.resize(payload_bytes_);
    }
    if (!Fill(payload_, payload_bytes_)) return true;
    part_ = Part::kCounts;
    if (!take(header_, std::string_view(payload_).substr(0, payload_bytes_))) return false;
  }
}

// In the part that is on its way.
size_t TcpInbox::Room() const {
  if (part_ == Part::kCounts) return 0;
  return (part_ == Part::kHeader ? header_.size() : payload_bytes_) - have_;
}

// Straight into the part that is on its way, and what comes behind it into `ahead_`.
ssize_t TcpInbox::Receive(int fd) {
  if (ahead_begin_ > 0) {
    std::memmove(ahead_.data(), ahead_.data() + ahead_begin_, ahead_bytes());
    ahead_end_ -= ahead_begin_;
    ahead_begin_ = 0;
  }
  iovec parts[2] = {};
  if (part_ == Part::kHeader) parts[0] = {header_.data() + have_, Room()};
  if (part_ == Part::kPayload) parts[0] = {payload_.data() + have_, Room()};
  parts[1] = {ahead_.data() + ahead_end_, ahead_.size() - ahead_end_};
  msghdr message = {};
  message.msg_iov = parts[0].iov_len > 0 ? parts : parts + 1;
  message.msg_iovlen = parts[0].iov_len > 0 ? 2 : 1;
  const ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT);
  if (got > 0) Arrived(static_cast<size_t>(got));
  return got;
}

void TcpInbox::Arrived(size_t bytes) {
  const size_t placed = std::min(bytes, Room());
  have_ += placed;
  ahead_end_ += bytes - placed;
}

absl::StatusOr<size_t> TcpInbox::Read(int fd, size_t bytes_max, Take take) {
  size_t bytes = 0;
  while (bytes < bytes_max) {
    const ssize_t got = Receive(fd);
    if (got == 0) return absl::UnavailableError("the peer has closed the connection");
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got < 0) return ErrnoStatus(errno, "connection to the peer broke");
    bytes += static_cast<size_t>(got);
    const absl::StatusOr<bool> open = HandOn(take);
    if (!open.ok()) return open.status();
    if (!*open) break;
  }
  return bytes;
}

}  // namespace tensorhub::agent
