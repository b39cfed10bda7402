// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/device_digests.h"

#include <utility>

#include "worker_agent/chunk_digest.h"
#include "worker_agent/cuda/owned.h"
#include "worker_agent/cuda/staging.h"

namespace tensorhub::agent {
namespace {

kernels::DigestTables TablesOf(const Memory& memory, const HashChunks& what) {
  kernels::DigestTables tables;
  std::vector<Memory::Piece> pieces;
  std::vector<DigestPiece> of_chunk;
  for (uint32_t chunk = what.first; chunk < what.first + what.count; ++chunk) {
    memory.Pieces({what.chunking.begin(chunk), what.chunking.size(chunk)}, pieces);
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
  absl::Status Digest(const kernels::DigestTables& tables,
                      std::vector<uint64_t>& digests) override {
    return digester_->Digest(tables, digests);
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
  absl::Status Digest(const kernels::DigestTables& tables,
                      std::vector<uint64_t>& digests) override {
    const CudaCurrent current(primary_);
    digests.clear();
    for (const kernels::Chunk& chunk : tables.chunks) {
      if (absl::Status status = CopyOut(chunk, tables.pieces); !status.ok()) return status;
      const DigestPiece whole{buffer_.data(), chunk.bytes};
      digests.push_back(ChunkDigest(&whole, 1));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CopyOut(const kernels::Chunk& chunk, const std::vector<kernels::Piece>& pieces);

  const CudaPrimary& primary_;
  const OwnedStream stream_;
  HostBuffer buffer_;  // a chunk
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
    const uint64_t end =
        i + 1 < chunk.pieces ? pieces[chunk.first_piece + i + 1].begin : chunk.bytes;
    const absl::Status status = primary_.driver()->CopyAsync(
        buffer_.data() + piece.begin, reinterpret_cast<const void*>(piece.address),
        end - piece.begin, stream());
    if (!status.ok()) return status;
  }
  return primary_.driver()->SynchronizeStream(stream());
}

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
  {
    MutexLock lock(mutex_);
    if (!idle.empty()) {
      std::unique_ptr<Lane> lane = std::move(idle.back());
      idle.pop_back();
      return lane;
    }
  }
  return Make(idle);
}

absl::StatusOr<std::vector<uint64_t>> DeviceDigests::Run(Lanes& idle,
                                                         const kernels::DigestTables& tables) {
  absl::StatusOr<std::unique_ptr<Lane>> lane = Take(idle);
  if (!lane.ok()) return lane.status();
  std::vector<uint64_t> digests;
  absl::Status status = order_before_((*lane)->stream());
  if (status.ok()) status = (*lane)->Digest(tables, digests);
  MutexLock lock(mutex_);
  idle.push_back(*std::move(lane));
  if (!status.ok()) return status;
  return digests;
}

// Nothing has happened to the shard's memory when the device has none left for the tables.
absl::StatusOr<std::vector<uint64_t>> DeviceDigests::Of(const Memory& memory,
                                                        const HashChunks& what) {
  const kernels::DigestTables tables = TablesOf(memory, what);
  if (module_ != nullptr) {
    absl::StatusOr<std::vector<uint64_t>> digests = Run(kernel_lanes_, tables);
    if (!absl::IsResourceExhausted(digests.status())) return digests;
  }
  return Run(copy_lanes_, tables);
}

}  // namespace tensorhub::agent
