// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The memory and the tensors that a test worker registers, as its command asks for them.

#ifndef TENSORHUB_TESTS_INTEGRATION_WORKER_SHARD_H_
#define TENSORHUB_TESTS_INTEGRATION_WORKER_SHARD_H_

#include <tensorhub/ros.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/integration/worker/device_memory.h"

namespace tensorhub::worker {

struct ShardOptions {
  size_t tensors = 8;
  size_t bytes = 1 << 20;  // of all tensors
  uint64_t seed = 1;       // of the tensors' sizes; equal options make equal layouts
  std::string dtype = "U8";
  // malloc: an allocation for each. arena: one behind another in one allocation. shuffled: the
  // same, but in another order, with gaps, and registered in yet another.
  std::string layout = "malloc";
  bool shared = false;     // memory of Client::Allocate; implies an arena
  bool unaligned = false;  // arenas: every tensor begins at an odd address
  size_t empty = 0;        // that many further tensors without bytes
  // A mistake for the library to refuse: overlap, null, duplicate, size, dtype.
  std::string fault;
  // Of a GPU: whose memory it is, an allocation for each tensor, whatever the layout. -1: the
  // host's.
  int device = -1;
};

class Shard {
 public:
  using Allocator = std::function<absl::StatusOr<void*>(size_t)>;

  // `allocate` gives the shared memory. INVALID_ARGUMENT if the options make no sense.
  static absl::StatusOr<Shard> Make(const ShardOptions& options, const Allocator& allocate);

  const std::vector<tensorhub::Tensor>& tensors() const { return tensors_; }

  absl::Status Fill(uint64_t version, uint32_t rank);
  // As if a stray pointer wrote to a tensor. FAILED_PRECONDITION if there is none with bytes.
  absl::Status Damage();
  // From now on, who reads a tensor in the middle kills this process in the middle of what it does.
  // FAILED_PRECONDITION if there is no whole page of it.
  absl::Status Forbid();
  // DATA_LOSS names the first tensor and byte that is not of that version and rank.
  absl::Status Check(uint64_t version, uint32_t rank) const;

 private:
  struct Free {
    void operator()(void* memory) const;
  };

  absl::Status PlaceApart();
  absl::Status PlaceInArena(const ShardOptions& options, const Allocator& allocate);
  absl::Status PlaceOnDevice(int device);
  absl::Status Spoil(const std::string& fault);

  std::vector<std::unique_ptr<void, Free>> memory_;
  std::vector<tensorhub::Tensor> tensors_;
  std::unique_ptr<DeviceMemory> on_device_;  // null: the tensors are in host memory
};

}  // namespace tensorhub::worker

#endif  // TENSORHUB_TESTS_INTEGRATION_WORKER_SHARD_H_
