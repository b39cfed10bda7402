// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Many pieces of memory as one message: UCX's generic datatype, which has its transport's segments
// filled by us. UCX's own list of pieces does the same somewhat slower, or, over TCP, sends from
// where they lie, which it cannot do with many.

#ifndef TENSORHUB_WORKER_AGENT_UCX_GATHER_H_
#define TENSORHUB_WORKER_AGENT_UCX_GATHER_H_

#include <ucp/api/ucp.h>

#include <cstddef>
#include <span>

namespace tensorhub::agent {

// The buffer (count 1) of a send with Datatype(). Must stay until that send's callback.
class Gather {
 public:
  // For as long as the process; UCX keeps no more than the functions in it.
  static ucp_datatype_t Datatype();

  // `pieces`, and what they name, must stay until the send's callback.
  void Start(std::span<const ucp_dt_iov_t> pieces);
  size_t bytes() const { return bytes_; }
  // Copies up to `room` bytes from `offset` on; returns how many.
  size_t Pack(size_t offset, void* to, size_t room);

 private:
  void Seek(size_t offset);

  std::span<const ucp_dt_iov_t> pieces_;
  size_t bytes_ = 0;
  // Where the last Pack ended, since UCX goes on there unless a segment has to be filled again.
  size_t offset_ = 0;
  size_t piece_ = 0;
  size_t within_ = 0;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_UCX_GATHER_H_
