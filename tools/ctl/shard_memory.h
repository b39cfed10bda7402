// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What publish and fetch share: host memory for a shard's files, and its tensors as libros takes
// them.

#ifndef TENSORHUB_TOOLS_CTL_SHARD_MEMORY_H_
#define TENSORHUB_TOOLS_CTL_SHARD_MEMORY_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorhub/ros.h"
#include "tools/safetensors/checkpoint.h"

namespace tensorhub::ctl {

// RESOURCE_EXHAUSTED: that does not fit into this host, or container. For all shards at once,
// before the first is allocated: memory counts as taken only when it is written to.
absl::Status CheckMemoryFor(uint64_t bytes);

// Memory of `bytes` that lives until the process ends: what peers on this host can read by
// themselves, if the host gives as much of that, and ordinary memory otherwise. Null for no bytes.
// RESOURCE_EXHAUSTED if there is neither.
absl::StatusOr<std::byte*> AllocateShard(ros::Client& client, uint64_t bytes);

// The tensors of the attachment's files, which lie in `memory` one after the other.
std::vector<ros::Tensor> TensorsOf(const safetensors::Attachment& contents, std::byte* memory);

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_SHARD_MEMORY_H_
