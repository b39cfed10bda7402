// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/demo/shard.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/layout.h"
#include "common/random.h"

namespace tensorhub::demo {
namespace {

// One byte in each cache line: as much as a real step changes, in a fraction of its time.
constexpr uint64_t kTrainStride = 64;

std::vector<Part> SortedParts(const safetensors::Checkpoint& checkpoint) {
  std::vector<Part> parts;
  const auto& files = checkpoint.contents().files;
  for (size_t file = 0; file < files.size(); ++file) {
    for (const auto& tensor : files[file].header.tensors) parts.push_back({file, &tensor, 0});
  }
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.tensor->spec.name < b.tensor->spec.name; });
  return parts;
}

// The rank in whose run the tensor's middle lies.
uint32_t RankOf(uint64_t middle, uint64_t total, uint32_t ranks) {
  const double share = total == 0 ? 0 : static_cast<double>(middle) / static_cast<double>(total);
  return std::min(ranks - 1, static_cast<uint32_t>(share * ranks));
}

}  // namespace

std::vector<Part> PartsOf(const safetensors::Checkpoint& checkpoint, uint32_t rank,
                          uint32_t ranks) {
  const uint64_t total = checkpoint.contents().data_bytes();
  std::vector<Part> mine;
  uint64_t before = 0;
  uint64_t offset = 0;
  for (Part part : SortedParts(checkpoint)) {
    const uint64_t bytes = part.tensor->bytes;
    if (RankOf(before + bytes / 2, total, ranks) == rank) {
      part.offset = offset;
      offset += bytes;
      mine.push_back(part);
    }
    before += bytes;
  }
  return mine;
}

uint64_t Shard::bytes() const {
  return parts_.empty() ? 0 : parts_.back().offset + parts_.back().tensor->bytes;
}

absl::Status Shard::Register(tensorhub::Client& client) {
  absl::StatusOr<ctl::ShardMemory> memory = ctl::AllocateShard(client, bytes());
  if (!memory.ok()) return memory.status();
  memory_ = *std::move(memory);
  // A real engine has written to its weights before; memory never touched is slow to fill.
  std::fill_n(memory_.get(), bytes(), std::byte{});
  std::vector<tensorhub::Tensor> tensors;
  for (const Part& part : parts_) {
    tensorhub::Tensor tensor;
    tensor.name = part.tensor->spec.name;
    tensor.data = part.tensor->bytes == 0 ? nullptr : memory_.get() + part.offset;
    tensor.bytes = part.tensor->bytes;
    tensor.dtype = std::string(ToString(part.tensor->spec.dtype));
    tensor.shape = part.tensor->spec.shape;
    tensors.push_back(std::move(tensor));
  }
  return client.Register(tensors);
}

absl::Status Shard::Load() {
  for (const Part& part : parts_) {
    absl::Status status =
        checkpoint_.LoadTensor(part.file, *part.tensor, memory_.get() + part.offset);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void TrainTensor(const std::string& name, uint64_t version, std::byte* data, uint64_t bytes) {
  Random random(FingerprintOf(absl::StrCat(name, "@", version)).lo);
  for (uint64_t i = 0; i < bytes; i += kTrainStride) {
    data[i] ^= static_cast<std::byte>(random.Next() | 1);  // never nothing
  }
}

void Shard::Train(uint64_t version) {
  for (const Part& part : parts_) {
    TrainTensor(part.tensor->spec.name, version, memory_.get() + part.offset, part.tensor->bytes);
  }
}

Fingerprint Shard::Digest() const {
  return FingerprintOf(std::string_view(reinterpret_cast<const char*>(memory_.get()), bytes()));
}

}  // namespace tensorhub::demo
