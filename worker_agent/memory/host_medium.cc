// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The only code that reads and writes tensors in host memory, besides UCX.

#include <cstring>

#include "worker_agent/memory/chunk_digest.h"
#include "worker_agent/memory/medium.h"

namespace tensorhub::agent {
namespace {

class InHostMemory : public Medium {
 public:
  std::string Describe() const override { return "host memory"; }
  std::vector<Memory::Piece> Regions() const override { return {}; }
  absl::StatusOr<std::unique_ptr<Scope>> EnterThread() override { return nullptr; }

  absl::Status CopyIn(std::span<const Memory::Piece> pieces, std::string_view bytes) override {
    for (const Memory::Piece& piece : pieces) {
      std::memcpy(piece.data, bytes.data(), piece.bytes);
      bytes.remove_prefix(piece.bytes);
    }
    return absl::OkStatus();
  }
  // The control word is stored with release order.
  absl::Status MakeVisible() override { return absl::OkStatus(); }
  absl::Status Expose(std::span<const Memory::Piece> pieces, uint64_t /*token*/,
                      std::vector<ConstPiece>& exposed) override {
    exposed.clear();
    for (const Memory::Piece& piece : pieces) exposed.push_back({piece.data, piece.bytes});
    return absl::OkStatus();
  }
  void Conceal(uint64_t /*token*/) override {}

  absl::StatusOr<std::vector<uint64_t>> Digests(const Memory& memory,
                                                const HashChunks& what) override;

  absl::Status Await(const DeviceWork& work, TimeMs /*timeout_ms*/) override { return None(work); }
  absl::Status ShowTo(const DeviceWork& work) override { return None(work); }
  absl::Status CheckThere() override { return absl::OkStatus(); }

 private:
  static absl::Status None(const DeviceWork& work) {
    if (!work.any()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "a stream or event was given, but the registered tensors are in host memory; leave it out");
  }
};

absl::StatusOr<std::vector<uint64_t>> InHostMemory::Digests(const Memory& memory,
                                                            const HashChunks& what) {
  std::vector<uint64_t> digests;
  std::vector<Memory::Piece> pieces;
  std::vector<DigestPiece> digest_pieces;
  digests.reserve(what.count);
  for (uint32_t chunk = what.first; chunk < what.first + what.count; ++chunk) {
    memory.Pieces(what.at(chunk), pieces);
    digest_pieces.clear();
    for (const Memory::Piece& piece : pieces) digest_pieces.push_back({piece.data, piece.bytes});
    digests.push_back(ChunkDigest(digest_pieces.data(), digest_pieces.size()));
  }
  return digests;
}

}  // namespace

std::shared_ptr<Medium> HostMedium() {
  static const auto medium = std::make_shared<InHostMemory>();
  return medium;
}

}  // namespace tensorhub::agent
