// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/integration/worker/shard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/random.h"
#include "tests/integration/worker/content.h"

namespace tensorhub::worker {
namespace {

size_t ElementBytes(const std::string& dtype) {
  if (dtype == "F64" || dtype == "I64") return 8;
  if (dtype == "F32" || dtype == "I32") return 4;
  if (dtype == "BF16" || dtype == "F16") return 2;
  return 1;
}

tensorhub::Tensor MakeTensor(std::string name, std::string dtype, std::vector<uint64_t> shape,
                             size_t bytes) {
  tensorhub::Tensor tensor;
  tensor.name = std::move(name);
  tensor.bytes = bytes;
  tensor.dtype = std::move(dtype);
  tensor.shape = std::move(shape);
  return tensor;
}

// Uneven parts of `total` elements, one or more each.
std::vector<size_t> Parts(size_t count, size_t total, uint64_t seed) {
  Random random(seed);
  std::vector<uint64_t> weights(count);
  for (uint64_t& weight : weights) weight = 1 + random.Below(1000);
  const uint64_t sum = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  std::vector<size_t> parts(count);  // weights are positive, so sum is unless count is 0
  size_t left = total - count;
  for (size_t i = 0; i < count; ++i) {
    const size_t part = i + 1 == count ? left : (total - count) / sum * weights[i];
    parts[i] = 1 + part;
    left -= part;
  }
  return parts;
}

std::vector<size_t> Shuffled(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
  return order;
}

}  // namespace

void Shard::Free::operator()(void* memory) const { std::free(memory); }

absl::StatusOr<Shard> Shard::Make(const ShardOptions& options, const Allocator& allocate) {
  const size_t element = ElementBytes(options.dtype);
  if (options.bytes / element < options.tensors) {
    return absl::InvalidArgumentError("register: fewer bytes than tensors");
  }
  Shard shard;
  size_t number = 0;
  for (const size_t part : Parts(options.tensors, options.bytes / element, options.seed)) {
    const std::string name = absl::StrFormat("layers.%d.weight", number++);
    shard.tensors_.push_back(MakeTensor(name, options.dtype, {part}, part * element));
  }
  const bool arena = options.shared || options.unaligned || options.layout != "malloc";
  const absl::Status placed = options.device >= 0 ? shard.PlaceOnDevice(options.device)
                              : arena             ? shard.PlaceInArena(options, allocate)
                                                  : shard.PlaceApart();
  if (!placed.ok()) return placed;
  for (size_t i = 0; i < options.empty; ++i) {
    shard.tensors_.push_back(MakeTensor(absl::StrFormat("empty.%d", i), options.dtype, {0, 7}, 0));
  }
  const absl::Status spoiled = shard.Spoil(options.fault);
  if (!spoiled.ok()) return spoiled;
  return shard;
}

absl::Status Shard::PlaceApart() {
  for (tensorhub::Tensor& tensor : tensors_) {
    memory_.emplace_back(std::calloc(1, tensor.bytes));
    tensor.data = memory_.back().get();
    if (tensor.data == nullptr) return absl::ResourceExhaustedError("register: out of memory");
  }
  return absl::OkStatus();
}

absl::Status Shard::PlaceOnDevice(int device) {
  absl::StatusOr<std::unique_ptr<DeviceMemory>> memory = DeviceMemory::Open(device);
  if (!memory.ok()) return memory.status();
  on_device_ = *std::move(memory);
  for (tensorhub::Tensor& tensor : tensors_) {
    const absl::StatusOr<void*> block = on_device_->Allocate(tensor.bytes);
    if (!block.ok()) return block.status();
    tensor.data = *block;
    tensor.device = tensorhub::Device::kCuda;
    tensor.device_index = device;
  }
  return absl::OkStatus();
}

absl::Status Shard::PlaceInArena(const ShardOptions& options, const Allocator& allocate) {
  const bool shuffled = options.layout == "shuffled";
  constexpr size_t kGap = 4096;
  const size_t spare = kGap + tensors_.size() * (shuffled ? kGap : 16);
  size_t total = spare;
  for (const tensorhub::Tensor& tensor : tensors_) total += tensor.bytes;
  char* base = nullptr;
  if (options.shared) {
    const absl::StatusOr<void*> memory = allocate(total);
    if (!memory.ok()) return memory.status();
    base = static_cast<char*>(*memory);
  } else {
    memory_.emplace_back(std::calloc(1, total));
    base = static_cast<char*>(memory_.back().get());
  }
  if (base == nullptr) return absl::ResourceExhaustedError("register: out of memory");
  const std::vector<size_t> order = Shuffled(tensors_.size(), shuffled ? options.seed + 1 : 0);
  size_t offset = 0;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    tensorhub::Tensor& tensor = tensors_[shuffled ? order[i] : i];
    if (options.unaligned) offset |= 1;
    tensor.data = base + offset;
    offset += tensor.bytes + (shuffled ? kGap / 2 : 0);
    if (!options.unaligned) offset = (offset + 7) / 8 * 8;
  }
  if (shuffled) {
    for (size_t i = 0; i < order.size(); ++i) std::swap(tensors_[i], tensors_[order[i]]);
  }
  return absl::OkStatus();
}

absl::Status Shard::Spoil(const std::string& fault) {
  if (fault.empty()) return absl::OkStatus();
  if (tensors_.size() < 2) return absl::InvalidArgumentError("register: faults take two tensors");
  tensorhub::Tensor& victim = tensors_[1];
  if (fault == "overlap") {
    victim.data = static_cast<char*>(tensors_[0].data) + tensors_[0].bytes - 1;
  } else if (fault == "null") {
    victim.data = nullptr;
  } else if (fault == "duplicate") {
    victim.name = tensors_[0].name;
  } else if (fault == "size") {
    victim.shape[0] += 1;
  } else if (fault == "dtype") {
    victim.dtype = "U7";
  } else {
    return absl::InvalidArgumentError("register: unknown fault=" + fault);
  }
  return absl::OkStatus();
}

absl::Status Shard::Fill(uint64_t version, uint32_t rank) {
  for (const tensorhub::Tensor& tensor : tensors_) {
    if (on_device_ == nullptr) {
      FillContent({version, rank, tensor.name}, tensor.data, tensor.bytes);
      continue;
    }
    std::string bytes(tensor.bytes, '\0');
    FillContent({version, rank, tensor.name}, bytes.data(), bytes.size());
    const absl::Status status = on_device_->Copy(tensor.data, bytes.data(), bytes.size());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Shard::Damage() {
  const tensorhub::Tensor& tensor = tensors_[tensors_.size() / 2];
  if (tensor.bytes == 0 || on_device_ != nullptr) {
    return absl::FailedPreconditionError("damage: no bytes of that tensor in host memory");
  }
  static_cast<char*>(tensor.data)[tensor.bytes / 2] ^= 16;
  return absl::OkStatus();
}

absl::Status Shard::Forbid() {
  const tensorhub::Tensor& tensor = tensors_[tensors_.size() / 2];
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(tensor.data) + page - 1) / page * page;
  const auto end = (reinterpret_cast<uintptr_t>(tensor.data) + tensor.bytes) / page * page;
  if (end <= begin) return absl::FailedPreconditionError("forbid: no whole page in that tensor");
  signal(SIGSEGV, [](int) { kill(getpid(), SIGKILL); });
  if (mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_NONE) == 0)
    return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "forbid");
}

absl::Status Shard::Check(uint64_t version, uint32_t rank) const {
  for (const tensorhub::Tensor& tensor : tensors_) {
    std::string bytes;
    if (on_device_ != nullptr) {
      bytes.resize(tensor.bytes);
      const absl::Status status = on_device_->Copy(bytes.data(), tensor.data, bytes.size());
      if (!status.ok()) return status;
    }
    const void* const data = on_device_ != nullptr ? bytes.data() : tensor.data;
    const std::optional<size_t> at =
        FirstDifference({version, rank, tensor.name}, data, tensor.bytes);
    if (at.has_value()) {
      return absl::DataLossError(absl::StrFormat("tensor %s differs from version %d at byte %d",
                                                 tensor.name, version, *at));
    }
  }
  return absl::OkStatus();
}

}  // namespace tensorhub::worker
