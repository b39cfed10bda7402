// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Messages on their way to one peer: from where their bytes lie into a socket, in order.
//
// On the wire a message is the bytes of its header and of its payload, counted (four bytes each,
// little endian), then both.
//
// Thread contract: one thread.

#ifndef TENSORHUB_WORKER_AGENT_TCP_TCP_OUTBOX_H_
#define TENSORHUB_WORKER_AGENT_TCP_TCP_OUTBOX_H_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "worker_agent/core/transport.h"

namespace tensorhub::agent {

inline constexpr size_t kMessageHeadBytes = 8;

class TcpOutbox {
 public:
  // As MessageTransport::Send.
  void Push(std::string_view header, std::span<const ConstPiece> pieces, uint64_t token);
  // Gives the socket what it takes, and appends the tokens of those that it has taken whole to
  // `taken`: their memory is free again. True: nothing is left. UNAVAILABLE: the connection broke.
  absl::StatusOr<bool> Flush(int fd, std::vector<uint64_t>& taken);

  bool IsEmpty() const { return waiting_.empty(); }
  // What the socket has is cut in the middle of a message.
  bool IsWithinMessage() const { return !waiting_.empty() && waiting_.front().gone > 0; }
  // What waits costs so much memory, besides what pieces name.
  uint64_t waiting_bytes() const { return waiting_bytes_; }
  // The tokens of all that wait, which are forgotten.
  std::vector<uint64_t> TakeTokens();

 private:
  struct Waiting {
    std::string head;  // the counts and the header
    std::vector<ConstPiece> pieces;
    uint64_t token = 0;
    size_t bytes = 0;  // in all
    size_t gone = 0;   // of them
  };
  static uint64_t CostOf(const Waiting& message);
  void Gather();
  static void GatherOne(const Waiting& message, std::vector<iovec>& parts);
  void TakeAway(size_t bytes, std::vector<uint64_t>& taken);

  std::deque<Waiting> waiting_;
  uint64_t waiting_bytes_ = 0;
  std::vector<iovec> parts_;  // reused
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_TCP_TCP_OUTBOX_H_
