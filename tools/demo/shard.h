// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One rank's part of the demonstrated checkpoint, in memory: which tensors, their bytes, how a
// training step changes them, and the digest that trainer and rollouts compare.

#ifndef TENSORHUB_TOOLS_DEMO_SHARD_H_
#define TENSORHUB_TOOLS_DEMO_SHARD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"
#include "tensorhub/ros.h"
#include "tools/ctl/shard_memory.h"
#include "tools/safetensors/checkpoint.h"

namespace tensorhub::demo {

// A tensor of the checkpoint, and where in the shard's memory it goes.
struct Part {
  size_t file = 0;
  const safetensors::TensorEntry* tensor = nullptr;
  uint64_t offset = 0;
};

// The tensors of `rank`: all in the order of their names, cut into runs of about equal bytes.
std::vector<Part> PartsOf(const safetensors::Checkpoint& checkpoint, uint32_t rank, uint32_t ranks);

// A training step: alters bytes of the tensor, as version and name say.
void TrainTensor(const std::string& name, uint64_t version, std::byte* data, uint64_t bytes);

class Shard {
 public:
  // The checkpoint outlives the shard.
  Shard(const safetensors::Checkpoint& checkpoint, uint32_t rank, uint32_t ranks)
      : checkpoint_(checkpoint), parts_(PartsOf(checkpoint, rank, ranks)) {}

  uint64_t bytes() const;
  size_t tensor_count() const { return parts_.size(); }

  // Takes memory from the client, which the shard outlives, and names it to it.
  absl::Status Register(tensorhub::Client& client);
  // Reads the checkpoint's bytes.
  absl::Status Load();
  // A training step on every tensor.
  void Train(uint64_t version);
  // Over all bytes, tensors in order.
  Fingerprint Digest() const;

 private:
  const safetensors::Checkpoint& checkpoint_;
  const std::vector<Part> parts_;
  ctl::ShardMemory memory_;
};

}  // namespace tensorhub::demo

#endif  // TENSORHUB_TOOLS_DEMO_SHARD_H_
