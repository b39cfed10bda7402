// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/doctor/idle_memory.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "worker_agent/cuda/owned.h"

namespace tensorhub::ctl {
namespace {

using Bytes = std::vector<unsigned char>;

class InHostMemory : public IdleMemory {
 public:
  explicit InHostMemory(uint64_t bytes) : bytes_(bytes) {}
  void* data() override { return bytes_.data(); }
  absl::Status Write(const Bytes& bytes) override {
    std::copy(bytes.begin(), bytes.end(), bytes_.begin());
    return absl::OkStatus();
  }
  absl::StatusOr<Bytes> Read() override { return bytes_; }

 private:
  Bytes bytes_;
};

class OnDevice : public IdleMemory {
 public:
  explicit OnDevice(agent::CudaPrimary primary) : primary_(std::move(primary)) {}
  ~OnDevice() override {
    if (data_ != nullptr) static_cast<void>(driver().FreeDevice(data_));
  }
  absl::Status Open(uint64_t bytes) {
    current_.emplace(primary_);
    if (!current_->status().ok()) return current_->status();
    absl::StatusOr<agent::OwnedStream> stream =
        agent::OwnedStream::Make(primary_, agent::StreamKind::kOrdinary);
    if (!stream.ok()) return stream.status();
    stream_ = *std::move(stream);
    const absl::StatusOr<void*> data = driver().AllocateDevice(bytes);
    if (!data.ok()) return data.status();
    data_ = *data;
    bytes_ = bytes;
    return absl::OkStatus();
  }
  void* data() override { return data_; }
  absl::Status Write(const Bytes& bytes) override { return Copy(data_, bytes.data()); }
  absl::StatusOr<Bytes> Read() override {
    Bytes bytes(bytes_);
    if (absl::Status status = Copy(bytes.data(), data_); !status.ok()) return status;
    return bytes;
  }

 private:
  agent::CudaDriver& driver() { return *primary_.driver(); }
  absl::Status Copy(void* to, const void* from) {
    const absl::Status status = driver().CopyAsync(to, from, bytes_, stream_.get());
    return status.ok() ? driver().SynchronizeStream(stream_.get()) : status;
  }

  const agent::CudaPrimary primary_;
  std::optional<agent::CudaCurrent> current_;
  agent::OwnedStream stream_;
  void* data_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<IdleMemory> HostMemoryForRead(uint64_t bytes) {
  return std::make_unique<InHostMemory>(bytes);
}

absl::StatusOr<std::unique_ptr<IdleMemory>> DeviceMemoryForRead(agent::CudaDriver* driver,
                                                                int device, uint64_t bytes) {
  absl::StatusOr<agent::CudaPrimary> primary = agent::CudaPrimary::Retain(driver, device);
  if (!primary.ok()) return primary.status();
  auto memory = std::make_unique<OnDevice>(*std::move(primary));
  if (absl::Status status = memory->Open(bytes); !status.ok()) return status;
  return memory;
}

}  // namespace tensorhub::ctl
