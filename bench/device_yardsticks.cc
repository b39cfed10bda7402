// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/device_yardsticks.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "bench/tensors.h"
#include "common/layout.h"

namespace tensorhub::bench {
namespace {

using agent::kernels::MovePiece;

constexpr int kFilled = 0xa5;
// Page-locking is slow, and the bus as fast with so many bytes as with more.
constexpr size_t kPinnedMax = size_t{1} << 30;
// As the agent does with device memory.
constexpr uint64_t kBatchBytes = 1 << 30;
// The same of gathers: the host makes the tables of one batch while the device moves another.
constexpr uint64_t kGatherBytes = 64 << 20;

std::vector<std::span<const MovePiece>> InBatches(std::span<const MovePiece> pieces) {
  std::vector<std::span<const MovePiece>> batches;
  for (size_t begin = 0, end = 0; begin < pieces.size(); begin = end) {
    for (uint64_t bytes = 0; end < pieces.size() && bytes < kGatherBytes; ++end) {
      bytes += pieces[end].bytes;
    }
    batches.push_back(pieces.subspan(begin, end - begin));
  }
  return batches;
}

absl::StatusOr<std::unique_ptr<DeviceTimer>> MakeTimer(const agent::CudaPrimary& primary) {
  absl::StatusOr<DeviceTimer> timer = DeviceTimer::Make(primary);
  if (!timer.ok()) return timer.status();
  return std::make_unique<DeviceTimer>(*std::move(timer));
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceYardsticks>> DeviceYardsticks::Make(const Options& options) {
  std::unique_ptr<DeviceYardsticks> yardsticks(new DeviceYardsticks(options));
  if (absl::Status status = yardsticks->Open(); !status.ok()) return status;
  return yardsticks;
}

absl::Status DeviceYardsticks::Open() {
  absl::Status status = OpenBlocks();
  if (status.ok()) status = OpenMedium();
  if (!status.ok()) return status;
  absl::StatusOr<agent::HostBuffer> pinned =
      agent::HostBuffer::Make(primary_, std::min(options_.bytes, kPinnedMax));
  if (!pinned.ok()) return pinned.status();
  pinned_ = *std::move(pinned);
  absl::StatusOr<std::unique_ptr<DeviceTimer>> timer = MakeTimer(primary_);
  if (!timer.ok()) return timer.status();
  timer_ = *std::move(timer);
  return absl::OkStatus();
}

absl::Status DeviceYardsticks::OpenBlocks() {
  const struct {
    int device;
    agent::CudaPrimary* primary;
    std::unique_ptr<DeviceBlock>* block;
  } kinds[] = {{options_.device, &primary_, &to_}, {options_.from_device, &from_primary_, &from_}};
  for (const auto& kind : kinds) {
    absl::StatusOr<agent::CudaPrimary> primary =
        agent::CudaPrimary::Retain(options_.driver, kind.device);
    if (!primary.ok()) return primary.status();
    *kind.primary = *std::move(primary);
    absl::StatusOr<std::unique_ptr<DeviceBlock>> block =
        DeviceBlock::Make(*kind.primary, options_.bytes);
    if (!block.ok()) return block.status();
    *kind.block = *std::move(block);
    absl::StatusOr<DeviceTimer> timer = DeviceTimer::Make(*kind.primary);
    if (!timer.ok()) return timer.status();
    const absl::StatusOr<double> filled = timer->Time([&](agent::CudaStream stream) {
      return driver().FillAsync((*kind.block)->data(), kFilled, options_.bytes, stream);
    });
    if (!filled.ok()) return filled.status();
  }
  return options_.device == options_.from_device ? absl::OkStatus() : EnablePeer();
}

// Without it a copy between two devices goes through the host, and is no limit.
absl::Status DeviceYardsticks::EnablePeer() {
  const agent::CudaCurrent current(primary_);
  return driver().EnablePeer(from_primary_.context());
}

absl::Status DeviceYardsticks::OpenMedium() {
  agent::TensorBuffer tensor;
  tensor.name = "all";
  tensor.dtype = "U8";
  tensor.shape = {options_.bytes};
  tensor.data = to_->data();
  tensor.bytes = options_.bytes;
  tensor.cuda = true;
  tensor.cuda_device = options_.device;
  absl::StatusOr<agent::Memory> memory = agent::Memory::Make({tensor});
  if (!memory.ok()) return memory.status();
  memory_ = *std::move(memory);
  absl::StatusOr<std::shared_ptr<agent::CudaMedium>> medium =
      agent::CudaMedium::Make({tensor}, options_.driver, options_.image);
  if (!medium.ok()) return medium.status();
  medium_ = *std::move(medium);
  return absl::OkStatus();
}

absl::StatusOr<double> DeviceYardsticks::Copy() {
  return timer_->Time([this](agent::CudaStream stream) {
    return driver().CopyAsync(to_->data(), from_->data(), options_.bytes, stream);
  });
}

absl::StatusOr<double> DeviceYardsticks::CopyPinned(bool out) {
  const absl::StatusOr<double> seconds = timer_->Time([&](agent::CudaStream stream) {
    return out ? driver().CopyAsync(pinned_.data(), to_->data(), pinned_.bytes(), stream)
               : driver().CopyAsync(to_->data(), pinned_.data(), pinned_.bytes(), stream);
  });
  if (!seconds.ok()) return seconds.status();
  return *seconds * static_cast<double>(options_.bytes) / static_cast<double>(pinned_.bytes());
}

absl::StatusOr<double> DeviceYardsticks::CopyOut() { return CopyPinned(/*out=*/true); }
absl::StatusOr<double> DeviceYardsticks::CopyIn() { return CopyPinned(/*out=*/false); }

// The host's clock measures: asking and answering are part of it.
absl::StatusOr<double> DeviceYardsticks::Digest() {
  const Chunking chunking{options_.bytes, DefaultChunkBytes(options_.bytes)};
  const auto batch =
      static_cast<uint32_t>(std::max<uint64_t>(1, kBatchBytes / chunking.chunk_bytes));
  const auto start = std::chrono::steady_clock::now();
  for (uint32_t first = 0; first < chunking.count(); first += batch) {
    const uint32_t count = std::min(batch, chunking.count() - first);
    const auto digests = medium_->Digests(memory_, {1, chunking, first, count, false});
    if (!digests.ok()) return digests.status();
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string DeviceYardsticks::WhyNoKernels() const {
  const absl::Status& status = medium_->digests_by_device();
  return status.ok() ? "" : std::string(status.message());
}

// In the order of the names, which is not that of the addresses: as a version's bytes lie.
std::vector<MovePiece> DeviceYardsticks::Scattered(size_t tensors) const {
  std::vector<tensorhub::Tensor> cut = CutIntoTensors(from_->data(), options_.bytes, tensors);
  std::sort(cut.begin(), cut.end(),
            [](const tensorhub::Tensor& a, const tensorhub::Tensor& b) { return a.name < b.name; });
  std::vector<MovePiece> pieces;
  std::byte* to = to_->data();
  for (const tensorhub::Tensor& tensor : cut) {
    pieces.push_back({tensor.data, to, tensor.bytes});
    to += tensor.bytes;
  }
  return pieces;
}

absl::StatusOr<double> DeviceYardsticks::CopySmall(size_t tensors) {
  const std::vector<MovePiece> pieces = Scattered(tensors);
  return timer_->Time([&](agent::CudaStream stream) {
    for (const MovePiece& piece : pieces) {
      const absl::Status status = driver().CopyAsync(piece.to, piece.from, piece.bytes, stream);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<double> DeviceYardsticks::GatherSmall(size_t tensors) {
  const auto module = agent::kernels::KernelModule::Load(primary_, options_.image);
  if (!module.ok()) return module.status();
  const std::vector<MovePiece> pieces = Scattered(tensors);
  std::vector<std::pair<std::unique_ptr<agent::kernels::DeviceMover>, std::span<const MovePiece>>>
      batches;
  for (const std::span<const MovePiece> batch : InBatches(pieces)) {
    auto mover = agent::kernels::DeviceMover::Create(module->get());
    if (!mover.ok()) return mover.status();
    batches.emplace_back(*std::move(mover), batch);
  }
  const auto move = [&](agent::CudaStream stream) {
    absl::Status status;
    for (const auto& [mover, batch] : batches) status.Update(mover->Start(batch, stream));
    return status;
  };
  // The first round makes the tables' memory.
  const absl::StatusOr<double> first = timer_->Time(move);
  return first.ok() ? timer_->Time(move) : first;
}

}  // namespace tensorhub::bench
