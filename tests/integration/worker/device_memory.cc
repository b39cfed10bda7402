// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/integration/worker/device_memory.h"

#include <utility>

namespace tensorhub::worker {

absl::StatusOr<std::unique_ptr<DeviceMemory>> DeviceMemory::Open(int device) {
  const absl::StatusOr<agent::CudaDriver*> driver = agent::OpenCudaDriver();
  if (!driver.ok()) return driver.status();
  std::unique_ptr<DeviceMemory> memory(new DeviceMemory);
  absl::StatusOr<agent::CudaPrimary> primary = agent::CudaPrimary::Retain(*driver, device);
  if (!primary.ok()) return primary.status();
  memory->primary_ = *std::move(primary);
  absl::StatusOr<agent::OwnedStream> stream =
      agent::OwnedStream::Make(memory->primary_, agent::StreamKind::kOrdinary);
  if (!stream.ok()) return stream.status();
  memory->stream_ = *std::move(stream);
  return memory;
}

DeviceMemory::~DeviceMemory() {
  const agent::CudaCurrent current(primary_);
  for (void* const block : blocks_) static_cast<void>(primary_.driver()->FreeDevice(block));
}

absl::StatusOr<void*> DeviceMemory::Allocate(size_t bytes) {
  const agent::CudaCurrent current(primary_);
  const absl::StatusOr<void*> block = primary_.driver()->AllocateDevice(bytes);
  if (block.ok()) blocks_.push_back(*block);
  return block;
}

absl::Status DeviceMemory::Copy(void* to, const void* from, size_t bytes) {
  const agent::CudaCurrent current(primary_);
  const absl::Status status = primary_.driver()->CopyAsync(to, from, bytes, stream_.get());
  return status.ok() ? primary_.driver()->SynchronizeStream(stream_.get()) : status;
}

}  // namespace tensorhub::worker
