// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What publish and fetch share: host memory for a shard's files, and its tensors as libros takes
// them.

#ifndef TENSORHUB_TOOLS_CTL_SHARD_MEMORY_H_
#define TENSORHUB_TOOLS_CTL_SHARD_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorhub/ros.h"
#include "tools/safetensors/checkpoint.h"

namespace tensorhub::ctl {

// RESOURCE_EXHAUSTED: that does not fit into this host, or container. For all shards at once,
// before the first is allocated: memory counts as taken only when it is written to.
absl::Status CheckMemoryFor(uint64_t bytes);

// A shard's memory outlives the client: ordinary memory goes with its owner, what the client
// allocated goes with the client.
struct FreeShard {
  uint64_t mapped_bytes = 0;  // 0: the client's

  void operator()(std::byte* memory) const;
};
using ShardMemory = std::unique_ptr<std::byte[], FreeShard>;

// What peers on this host can read by themselves, if the host gives as much of that, and ordinary
// memory otherwise. Null for no bytes. RESOURCE_EXHAUSTED if there is neither.
absl::StatusOr<ShardMemory> AllocateShard(tensorhub::Client& client, uint64_t bytes);
// Ordinary memory only, of more than no bytes.
absl::StatusOr<ShardMemory> MapShard(uint64_t bytes);

// Makes all pages of it now, by several threads, before peers' bytes come in one by one.
// RESOURCE_EXHAUSTED once there is not as much memory left any more: others may take some, too.
absl::Status MakePages(std::byte* memory, uint64_t bytes);

// The tensors of the attachment's files, which lie in `memory` one after the other.
std::vector<tensorhub::Tensor> TensorsOf(const safetensors::Attachment& contents,
                                         std::byte* memory);

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_SHARD_MEMORY_H_
