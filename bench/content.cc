// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/content.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "bench/device_block.h"
#include "bench/tensors.h"
#include "common/layout.h"
#include "worker_agent/cuda/staging.h"

namespace tensorhub::bench {
namespace {

constexpr size_t kWindowBytes = 64 << 20;  // between a device's memory and the CPU
constexpr int kScrubbed = 0x5a;

// What is digested or filled at a time: [begin, end).
size_t EndOfWindow(size_t begin, size_t bytes) { return std::min(bytes, begin + kWindowBytes); }

std::string DigestOfAll(const std::string& digests) {
  return DigestOf(reinterpret_cast<const std::byte*>(digests.data()), digests.size());
}

class InHostMemory : public Content {
 public:
  InHostMemory(std::byte* data, size_t bytes) : data_(data), bytes_(bytes) {}
  std::byte* data() const override { return data_; }
  absl::Status Fill(uint64_t seed) override {
    bench::Fill(data_, bytes_, seed);
    return absl::OkStatus();
  }
  absl::Status Scrub() override {
    std::memset(data_, kScrubbed, bytes_);
    return absl::OkStatus();
  }
  absl::Status Stamp(uint64_t version) override {
    for (size_t at = 0; at + sizeof(version) <= bytes_; at += DefaultChunkBytes(bytes_)) {
      std::memcpy(data_ + at, &version, sizeof(version));
    }
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> Digest() override {
    std::string digests;
    for (size_t begin = 0, end = 0; begin < bytes_; begin = end) {
      end = EndOfWindow(begin, bytes_);
      digests += DigestOf(data_ + begin, end - begin);
    }
    return DigestOfAll(digests);
  }

 private:
  std::byte* const data_;
  const size_t bytes_;
};

class OnDevice : public Content {
 public:
  explicit OnDevice(agent::CudaPrimary primary) : primary_(std::move(primary)) {}
  absl::Status Open(size_t bytes);
  std::byte* data() const override { return block_->data(); }
  absl::Status Fill(uint64_t seed) override;
  absl::Status Scrub() override;
  absl::Status Stamp(uint64_t version) override;
  absl::StatusOr<std::string> Digest() override;

 private:
  absl::StatusOr<agent::HostBuffer> Window() const {
    return agent::HostBuffer::Make(primary_, std::min(block_->bytes(), kWindowBytes));
  }
  absl::Status Done() { return driver().SynchronizeStream(stream_.get()); }
  agent::CudaDriver& driver() const { return *primary_.driver(); }

  const agent::CudaPrimary primary_;
  std::unique_ptr<DeviceBlock> block_;
  agent::OwnedStream stream_;
};

absl::Status OnDevice::Open(size_t bytes) {
  absl::StatusOr<std::unique_ptr<DeviceBlock>> block = DeviceBlock::Make(primary_, bytes);
  if (!block.ok()) return block.status();
  block_ = *std::move(block);
  absl::StatusOr<agent::OwnedStream> stream =
      agent::OwnedStream::Make(primary_, agent::StreamKind::kOrdinary);
  if (!stream.ok()) return stream.status();
  stream_ = *std::move(stream);
  return Scrub();
}

absl::Status OnDevice::Fill(uint64_t seed) {
  const agent::CudaCurrent current(primary_);
  const absl::StatusOr<agent::HostBuffer> window = Window();
  if (!window.ok()) return window.status();
  for (size_t begin = 0, end = 0; begin < block_->bytes(); begin = end) {
    end = EndOfWindow(begin, block_->bytes());
    bench::Fill(window->data(), end - begin, seed + begin);
    const absl::Status status =
        driver().CopyAsync(data() + begin, window->data(), end - begin, stream_.get());
    if (!status.ok()) return status;
    if (absl::Status done = Done(); !done.ok()) return done;
  }
  return absl::OkStatus();
}

absl::Status OnDevice::Scrub() {
  const agent::CudaCurrent current(primary_);
  const absl::Status status = driver().FillAsync(data(), kScrubbed, block_->bytes(), stream_.get());
  return status.ok() ? Done() : status;
}

absl::Status OnDevice::Stamp(uint64_t version) {
  const agent::CudaCurrent current(primary_);
  const size_t bytes = block_->bytes();
  for (size_t at = 0; at + sizeof(version) <= bytes; at += DefaultChunkBytes(bytes)) {
    const absl::Status status = driver().FillAsync(data() + at, static_cast<uint8_t>(version),
                                                   sizeof(version), stream_.get());
    if (!status.ok()) return status;
  }
  return Done();
}

absl::StatusOr<std::string> OnDevice::Digest() {
  const agent::CudaCurrent current(primary_);
  const absl::StatusOr<agent::HostBuffer> window = Window();
  if (!window.ok()) return window.status();
  std::string digests;
  for (size_t begin = 0, end = 0; begin < block_->bytes(); begin = end) {
    end = EndOfWindow(begin, block_->bytes());
    const absl::Status status =
        driver().CopyAsync(window->data(), data() + begin, end - begin, stream_.get());
    if (!status.ok()) return status;
    if (absl::Status done = Done(); !done.ok()) return done;
    digests += DigestOf(window->data(), end - begin);
  }
  return DigestOfAll(digests);
}

}  // namespace

std::unique_ptr<Content> ContentInHostMemory(std::byte* data, size_t bytes) {
  return std::make_unique<InHostMemory>(data, bytes);
}

absl::StatusOr<std::unique_ptr<Content>> ContentOnDevice(agent::CudaDriver* driver, int device,
                                                         size_t bytes) {
  absl::StatusOr<agent::CudaPrimary> primary = agent::CudaPrimary::Retain(driver, device);
  if (!primary.ok()) return primary.status();
  auto content = std::make_unique<OnDevice>(*std::move(primary));
  if (absl::Status status = content->Open(bytes); !status.ok()) return status;
  return content;
}

}  // namespace tensorhub::bench
