// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/shard_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/memory_left.h"
#include "common/mutex.h"
#include "common/thread.h"
#include "spdlog/spdlog.h"
#include "tools/ctl/units.h"

namespace tensorhub::ctl {

absl::Status CheckMemoryFor(uint64_t bytes) {
  const std::optional<uint64_t> available = MemoryLeft();
  if (!available || *available >= bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the tensors take ", HumanBytes(bytes),
                                                   " of memory, this process can have ",
                                                   HumanBytes(*available)));
}

namespace {

constexpr uint64_t kStep = uint64_t{64} << 20;
constexpr unsigned kThreadsMax = 8;

// A wish: making pages is what loading and fetching would spend most of their time on.
std::byte* InHugePages(void* memory, uint64_t bytes) {
  static_cast<void>(::madvise(memory, bytes, MADV_HUGEPAGE));
  return static_cast<std::byte*>(memory);
}

}  // namespace

absl::Status MakePages(std::byte* memory, uint64_t bytes) {
  std::atomic<uint64_t> next = 0;
  Mutex mutex;
  absl::Status first_error;
  const auto run = [&] {
    for (uint64_t at = next.fetch_add(kStep); at < bytes; at = next.fetch_add(kStep)) {
      if (const absl::Status status = CheckMemoryFor(bytes - at); !status.ok()) {
        MutexLock lock(mutex);
        return first_error.Update(status);
      }
      // Refused by kernels before 5.14; then whoever writes makes the pages.
      static_cast<void>(::madvise(memory + at, std::min(kStep, bytes - at), MADV_POPULATE_WRITE));
    }
  };
  RunInThreads(std::min<uint64_t>(std::clamp(std::thread::hardware_concurrency(), 1u, kThreadsMax),
                                  (bytes + kStep - 1) / kStep),
               run);
  return first_error;
}

void FreeShard::operator()(std::byte* memory) const {
  if (mapped_bytes > 0) ::munmap(memory, mapped_bytes);
}

absl::StatusOr<ShardMemory> AllocateShard(tensorhub::Client& client, uint64_t bytes) {
  if (bytes == 0) return ShardMemory();
  if (absl::Status status = CheckMemoryFor(bytes); !status.ok()) return status;
  const absl::StatusOr<void*> shared = client.Allocate(bytes);
  if (shared.ok()) return ShardMemory(InHugePages(*shared, bytes), FreeShard());
  spdlog::info("using ordinary memory: {}", std::string(shared.status().message()));
  return MapShard(bytes);
}

absl::StatusOr<ShardMemory> MapShard(uint64_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", HumanBytes(bytes), " of tensors"));
  }
  return ShardMemory(InHugePages(memory, bytes), FreeShard{bytes});
}

std::vector<tensorhub::Tensor> TensorsOf(const safetensors::Attachment& contents,
                                         std::byte* memory) {
  std::vector<tensorhub::Tensor> tensors;
  for (const safetensors::PlacedTensor& placed : safetensors::Place(contents, memory)) {
    tensorhub::Tensor tensor;
    tensor.name = placed.spec->name;
    tensor.data = placed.data;
    tensor.bytes = placed.bytes;
    tensor.dtype = std::string(ToString(placed.spec->dtype));
    tensor.shape = placed.spec->shape;
    if (const auto& slice = placed.spec->slice) {
      tensor.slice = tensorhub::Slice{slice->global_shape, slice->offset};
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace tensorhub::ctl
