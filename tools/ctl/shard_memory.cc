// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/shard_memory.h"

#include <sys/mman.h>

#include <fstream>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"
#include "tools/ctl/units.h"

namespace tensorhub::ctl {
namespace {

// What the kernel believes it could still hand out, or nothing where it does not say.
std::optional<uint64_t> AvailableBytes() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  uint64_t kibibytes = 0;
  std::string unit;
  while (file >> key >> kibibytes) {
    if (key == "MemAvailable:") return kibibytes * 1024;
    std::getline(file, unit);
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::byte*> AllocateShard(ros::Client& client, uint64_t bytes) {
  if (bytes == 0) return nullptr;
  // Asked for more than there is, the kernel says yes and kills the process later.
  const std::optional<uint64_t> available = AvailableBytes();
  if (available && *available < bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the tensors take ", HumanBytes(bytes),
                                                     " of memory, this host has ",
                                                     HumanBytes(*available), " left"));
  }
  const absl::StatusOr<void*> shared = client.Allocate(bytes);
  if (shared.ok()) return static_cast<std::byte*>(*shared);
  spdlog::info("using ordinary memory: {}", std::string(shared.status().message()));
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", HumanBytes(bytes), " of tensors"));
  }
  return static_cast<std::byte*>(memory);
}

std::vector<ros::Tensor> TensorsOf(const safetensors::Attachment& contents, std::byte* memory) {
  std::vector<ros::Tensor> tensors;
  for (const safetensors::PlacedTensor& placed : safetensors::Place(contents, memory)) {
    ros::Tensor tensor;
    tensor.name = placed.spec->name;
    tensor.data = placed.data;
    tensor.bytes = placed.bytes;
    tensor.dtype = std::string(ToString(placed.spec->dtype));
    tensor.shape = placed.spec->shape;
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace tensorhub::ctl
