// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/device_digests.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "worker_agent/cuda/owned.h"
#include "worker_agent/cuda/staging.h"
#include "worker_agent/memory/chunk_digest.h"

namespace tensorhub::agent {
namespace {

// Chunks of a slice, at most: enough for two blocks on each of a device's processors, twice over.
constexpr uint32_t kSliceChunks = 512;

kernels::DigestTables TablesOf(const Memory& memory, const HashChunks& what) {
  kernels::DigestTables tables;
  std::vector<Memory::Piece> pieces;
  std::vector<DigestPiece> of_chunk;
  for (uint32_t chunk = what.first; chunk < what.first + what.count; ++chunk) {
    memory.Pieces(what.at(chunk), pieces);
    of_chunk.clear();
    for (const Memory::Piece& piece : pieces) of_chunk.push_back({piece.data, piece.bytes});
    tables.Add(of_chunk);
  }
  return tables;
}

}  // namespace

// --- by the device -------------------------------------------------------------------------------

class DeviceDigests::KernelLane : public Lane {
 public:
  explicit KernelLane(std::unique_ptr<kernels::DeviceDigester> digester)
      : digester_(std::move(digester)) {}
  CudaStream stream() const override { return digester_->stream(); }
  absl::Status Start(const kernels::DigestTables& tables) override {
    return digester_->Start(tables);
  }
  absl::Status Finish(std::vector<uint64_t>& digests) override {
    return digester_->Finish(digests);
  }

 private:
  const std::unique_ptr<kernels::DeviceDigester> digester_;
};

// --- by the CPU ----------------------------------------------------------------------------------

class DeviceDigests::CopyLane : public Lane {
 public:
  CopyLane(const CudaPrimary& primary, OwnedStream stream)
      : primary_(primary), stream_(std::move(stream)) {}
  CudaStream stream() const override { return stream_.get(); }
  absl::Status Start(const kernels::DigestTables& tables) override {
    const CudaCurrent current(primary_);
    made_.clear();
    for (const kernels::Chunk& chunk : tables.chunks) {
      if (absl::Status status = CopyOut(chunk, tables.pieces); !status.ok()) return status;
      const DigestPiece whole{buffer_.data(), chunk.bytes};
      made_.push_back(ChunkDigest(&whole, 1));
    }
    return absl::OkStatus();
  }
  absl::Status Finish(std::vector<uint64_t>& digests) override {
    digests.insert(digests.end(), made_.begin(), made_.end());
    made_.clear();
    return absl::OkStatus();
  }

 private:
  absl::Status CopyOut(const kernels::Chunk& chunk, const std::vector<kernels::Piece>& pieces);

  const CudaPrimary& primary_;
  const OwnedStream stream_;
  HostBuffer buffer_;  // a chunk
  std::vector<uint64_t> made_;
};

absl::Status DeviceDigests::CopyLane::CopyOut(const kernels::Chunk& chunk,
                                              const std::vector<kernels::Piece>& pieces) {
  if (buffer_.bytes() < chunk.bytes) {
    absl::StatusOr<HostBuffer> made = HostBuffer::Make(primary_, chunk.bytes);
    if (!made.ok()) return made.status();
    buffer_ = *std::move(made);
  }
  for (uint32_t i = 0; i < chunk.pieces; ++i) {
    const kernels::Piece& piece = pieces[chunk.first_piece + i];
    const absl::Status status = primary_.driver()->CopyAsync(
        buffer_.data() + piece.begin, reinterpret_cast<const void*>(piece.address),
        kernels::EndOfPiece(chunk, pieces, i) - piece.begin, stream());
    if (!status.ok()) return status;
  }
  return primary_.driver()->SynchronizeStream(stream());
}

// --- slices, by lanes in turn --------------------------------------------------------------------

class DeviceDigests::InTurn {
 public:
  // `idle`: where the lanes are taken from.
  InTurn(DeviceDigests& of, Lanes& idle) : of_(of), idle_(idle) {}
  // Waits for the slice before the last.
  absl::Status Start(const kernels::DigestTables& tables);
  // The digests of all slices, unless it came to the error that is given. No lane is at anything
  // afterwards.
  absl::StatusOr<std::vector<uint64_t>> Finish(absl::Status status);

 private:
  DeviceDigests& of_;
  Lanes& idle_;
  Lanes lanes_;  // the one that started first is in front
  std::vector<uint64_t> digests_;
};

// --- whichever there is --------------------------------------------------------------------------

DeviceDigests::DeviceDigests(const CudaPrimary& primary, std::span<const char> image,
                             OrderBefore order_before)
    : primary_(primary), order_before_(std::move(order_before)) {
  absl::StatusOr<std::unique_ptr<kernels::KernelModule>> loaded =
      kernels::KernelModule::Load(primary, image);
  by_kernels_ = loaded.status();
  if (loaded.ok()) module_ = *std::move(loaded);
}

DeviceDigests::~DeviceDigests() = default;

absl::StatusOr<std::unique_ptr<DeviceDigests::Lane>> DeviceDigests::Make(const Lanes& of) const {
  if (&of == &kernel_lanes_) {
    absl::StatusOr<std::unique_ptr<kernels::DeviceDigester>> digester =
        kernels::DeviceDigester::Create(module_.get());
    if (!digester.ok()) return digester.status();
    return std::make_unique<KernelLane>(*std::move(digester));
  }
  absl::StatusOr<OwnedStream> stream = OwnedStream::Make(primary_, StreamKind::kOrdinary);
  if (!stream.ok()) return stream.status();
  return std::make_unique<CopyLane>(primary_, *std::move(stream));
}

absl::StatusOr<std::unique_ptr<DeviceDigests::Lane>> DeviceDigests::Take(Lanes& idle) {
  std::unique_ptr<Lane> lane;
  {
    MutexLock lock(mutex_);
    if (!idle.empty()) {
      lane = std::move(idle.back());
      idle.pop_back();
    }
  }
  if (lane == nullptr) {
    absl::StatusOr<std::unique_ptr<Lane>> made = Make(idle);
    if (!made.ok()) return made.status();
    lane = *std::move(made);
  }
  if (absl::Status status = order_before_(lane->stream()); !status.ok()) return status;
  return lane;
}

void DeviceDigests::GiveBack(Lanes& idle, Lanes lanes) {
  MutexLock lock(mutex_);
  std::move(lanes.begin(), lanes.end(), std::back_inserter(idle));
}

absl::Status DeviceDigests::InTurn::Start(const kernels::DigestTables& tables) {
  constexpr size_t kLanes = 2;
  if (lanes_.size() == kLanes) {
    if (absl::Status status = lanes_.front()->Finish(digests_); !status.ok()) return status;
    std::rotate(lanes_.begin(), lanes_.begin() + 1, lanes_.end());
  } else {
    absl::StatusOr<std::unique_ptr<Lane>> lane = of_.Take(idle_);
    if (!lane.ok()) return lane.status();
    lanes_.push_back(*std::move(lane));
  }
  return lanes_.back()->Start(tables);
}

absl::StatusOr<std::vector<uint64_t>> DeviceDigests::InTurn::Finish(absl::Status status) {
  for (const std::unique_ptr<Lane>& lane : lanes_) status.Update(lane->Finish(digests_));
  of_.GiveBack(idle_, std::move(lanes_));
  if (!status.ok()) return status;
  return std::move(digests_);
}

absl::StatusOr<std::vector<uint64_t>> DeviceDigests::Run(Lanes& idle, const Memory& memory,
                                                         const HashChunks& what) {
  InTurn lanes(*this, idle);
  absl::Status status;
  HashChunks slice = what;
  for (uint32_t done = 0; status.ok() && done < what.count; done += slice.count) {
    slice.first = what.first + done;
    slice.count = std::min(kSliceChunks, what.count - done);
    status = lanes.Start(TablesOf(memory, slice));
  }
  return lanes.Finish(std::move(status));
}

// Nothing has happened to the shard's memory when the device has none left for the tables.
absl::StatusOr<std::vector<uint64_t>> DeviceDigests::Of(const Memory& memory,
                                                        const HashChunks& what) {
  if (module_ != nullptr) {
    absl::StatusOr<std::vector<uint64_t>> digests = Run(kernel_lanes_, memory, what);
    if (!absl::IsResourceExhausted(digests.status())) return digests;
  }
  return Run(copy_lanes_, memory, what);
}

}  // namespace tensorhub::agent
