// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/bench/content.h"

#include <cstring>
#include <utility>
#include <vector>

#include "tools/bench/device_block.h"
#include "tools/bench/tensors.h"

namespace tensorhub::bench {
namespace {

// At most what a chunk has.
constexpr size_t kStampEvery = 64 << 10;
constexpr int kScrubbed = 0x5a;

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
    for (size_t at = 0; at + sizeof(version) <= bytes_; at += kStampEvery) {
      std::memcpy(data_ + at, &version, sizeof(version));
    }
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> Digest() override { return DigestOf(data_, bytes_); }

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
  std::vector<std::byte> bytes(block_->bytes());
  bench::Fill(bytes.data(), bytes.size(), seed);
  const absl::Status status = driver().CopyAsync(data(), bytes.data(), bytes.size(), stream_.get());
  const absl::Status done = Done();
  return status.ok() ? done : status;
}

absl::Status OnDevice::Scrub() {
  const agent::CudaCurrent current(primary_);
  const absl::Status status = driver().FillAsync(data(), kScrubbed, block_->bytes(), stream_.get());
  return status.ok() ? Done() : status;
}

absl::Status OnDevice::Stamp(uint64_t version) {
  const agent::CudaCurrent current(primary_);
  for (size_t at = 0; at + sizeof(version) <= block_->bytes(); at += kStampEvery) {
    const absl::Status status = driver().FillAsync(data() + at, static_cast<uint8_t>(version),
                                                   sizeof(version), stream_.get());
    if (!status.ok()) return status;
  }
  return Done();
}

absl::StatusOr<std::string> OnDevice::Digest() {
  const agent::CudaCurrent current(primary_);
  std::vector<std::byte> bytes(block_->bytes());
  const absl::Status status = driver().CopyAsync(bytes.data(), data(), bytes.size(), stream_.get());
  const absl::Status done = Done();
  if (!status.ok()) return status;
  if (!done.ok()) return done;
  return DigestOf(bytes.data(), bytes.size());
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
