// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Messages out of one connection, each whole (tcp_outbox.h has their form). What a stranger claims
// costs no memory before it has sent it (R9).
//
// Thread contract: one thread.

#ifndef TENSORHUB_WORKER_AGENT_TCP_TCP_INBOX_H_
#define TENSORHUB_WORKER_AGENT_TCP_TCP_INBOX_H_

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker_agent/core/transport.h"

namespace tensorhub::agent {

class TcpInbox {
 public:
  // The longest header that an honest peer sends is the list of a shard's digests: half of this for
  // 512 GB in chunks of 512 KiB.
  static constexpr size_t kHeaderBytesMax = 32 << 20;

  // False: the connection was closed meanwhile, and nothing of it is to be read any more.
  using Take = absl::FunctionRef<bool(std::string_view header, std::string_view payload)>;

  // Reads what has come, about `bytes_max` bytes at most, and hands on what is whole. How many
  // bytes it was; there may be more, later. UNAVAILABLE: the connection has ended, or broke.
  // INVALID_ARGUMENT: what comes is no message.
  absl::StatusOr<size_t> Read(int fd, size_t bytes_max, Take take);

 private:
  enum class Part { kCounts, kHeader, kPayload };

  ssize_t Receive(int fd);
  void Arrived(size_t bytes);
  // Messages out of what is there. False: closed.
  absl::StatusOr<bool> HandOn(Take take);
  absl::Status TakeCounts();
  bool Fill(std::string& part, size_t bytes);
  size_t Room() const;
  size_t TakeAhead(char* to, size_t bytes);
  size_t ahead_bytes() const { return ahead_end_ - ahead_begin_; }

  Part part_ = Part::kCounts;
  size_t header_bytes_ = 0;
  size_t payload_bytes_ = 0;
  std::string header_;
  std::string payload_;  // never shrinks: the next one has the same size
  size_t have_ = 0;      // of the header or of the payload, whichever is on its way
  // What was read beyond the payload in one go: the next message's beginning.
  std::array<char, 4096> ahead_;
  size_t ahead_begin_ = 0;
  size_t ahead_end_ = 0;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_TCP_TCP_INBOX_H_
