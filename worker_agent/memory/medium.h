// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a shard's bytes lie in, host memory or that of a device, and all that is done with them
// other than by gets: so nobody else needs to know whether the CPU can touch them. Each call
// is for a frame, a chunk or more at a time, never for a tensor.
//
// Whatever fails here has lost the memory (the owner freed it, the device is gone): the caller
// gives up what it holds.
//
// Thread contract: per method; those without a remark are for the progress thread.

#ifndef TENSORHUB_WORKER_AGENT_MEMORY_MEDIUM_H_
#define TENSORHUB_WORKER_AGENT_MEMORY_MEDIUM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/transport.h"
#include "worker_agent/memory/memory.h"

namespace tensorhub::agent {

// Work that the owner has given to its device, by the handles of CUDA's driver or runtime (they are
// the same). A stream may be null, the default one.
struct DeviceWork {
  std::optional<void*> stream = {};
  void* event = nullptr;

  bool any() const { return stream.has_value() || event != nullptr; }
};

class Medium {
 public:
  // For as long as it lives, what UCX asks the calling thread for is there. Ends on the same
  // thread.
  class Scope {
   public:
    virtual ~Scope() = default;
  };

  virtual ~Medium() = default;

  virtual std::string Describe() const = 0;  // "host memory", "CUDA device 0 (…)"
  // The runs that hold the tensors, of memory that UCX has to be told of before gets. Empty: none.
  virtual std::vector<Memory::Piece> Regions() const = 0;
  // Null if there is nothing to be entered. Any thread; ABORTED or the like: the device is gone.
  virtual absl::StatusOr<std::unique_ptr<Scope>> EnterThread() = 0;

  // Copies `bytes` to the pieces, which have room for exactly them. They may arrive later, but
  // before the next MakeVisible returns.
  virtual absl::Status CopyIn(std::span<const Memory::Piece> pieces, std::string_view bytes) = 0;
  // R4: returns when what CopyIn and completed gets have brought is in place for every reader of
  // this memory. Before the prefix rises.
  virtual absl::Status MakeVisible() = 0;
  // Replaces `exposed` by where the bytes of `pieces`, at most a frame, can be sent from until
  // Conceal(token).
  virtual absl::Status Expose(std::span<const Memory::Piece> pieces, uint64_t token,
                              std::vector<ConstPiece>& exposed) = 0;
  // Does nothing for a token that is not known.
  virtual void Conceal(uint64_t token) = 0;

  // The digests of these chunks as they are, including what CopyIn and completed gets have brought.
  // Any thread, several at once.
  virtual absl::StatusOr<std::vector<uint64_t>> Digests(const Memory& memory,
                                                        const HashChunks& what) = 0;
  // Digests of many chunks take hardly longer than those of one: ask for many together.
  virtual bool DigestsManyAtOnce() const { return false; }

  // R3: returns when that work is done, without anything else on the device waiting for it.
  // DEADLINE_EXCEEDED after `timeout_ms`; INVALID_ARGUMENT: memory without a device has no such
  // work. Any thread.
  virtual absl::Status Await(const DeviceWork& work, TimeMs timeout_ms) = 0;
  // What is given to the stream from now on sees what the memory holds. Any thread.
  virtual absl::Status ShowTo(const DeviceWork& work) = 0;
  // FAILED_PRECONDITION if the memory is not what was registered any more. Any thread.
  virtual absl::Status CheckThere() = 0;
};

// The one for ordinary memory; it has no state.
std::shared_ptr<Medium> HostMedium();

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_MEMORY_MEDIUM_H_
