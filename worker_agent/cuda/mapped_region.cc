// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/mapped_region.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "common/bytes.h"

namespace tensorhub::agent {
namespace {

constexpr size_t kEntryBytes = 16;

absl::Status Unmappable(const absl::Status& why) {
  return absl::FailedPreconditionError(absl::StrFormat(
      "the peer's device memory cannot be mapped here (%s)", std::string(why.message())));
}

}  // namespace

LocalKey LocalKey::Of(std::string entry, const std::byte* base, CudaDriver& driver) {
  LocalKey key{std::move(entry)};
  const absl::StatusOr<CudaPointer> found = driver.Lookup(base);
  if (!found.ok() || found->kind != CudaMemoryKind::kDevice) return key;
  absl::StatusOr<std::string> name =
      driver.NameAllocation(reinterpret_cast<const void*>(found->begin));
  if (!name.ok()) return key;
  key.allocation = *std::move(name);
  key.offset = reinterpret_cast<uint64_t>(base) - found->begin;
  return key;
}

std::string LocalKey::Encode() const {
  std::string out = entry;
  if (allocation.empty()) return out;
  ByteWriter writer(out);
  writer.Put(offset);
  writer.PutBytes(allocation);
  return out;
}

LocalKey LocalKey::Decode(std::string_view encoded) {
  LocalKey key{std::string(encoded.substr(0, kEntryBytes))};
  ByteReader in(encoded.substr(key.entry.size()));
  key.offset = in.Take<uint64_t>();
  key.allocation = std::string(in.TakeBytes(in.left()));
  return key;
}

absl::StatusOr<std::shared_ptr<PeerRegion>> MappedRegion::Map(const CudaPrimary& primary,
                                                              const LocalKey& key, uint64_t bytes) {
  if (key.allocation.empty()) {
    return Unmappable(absl::NotFoundError("the peer has no name for it"));
  }
  CudaCurrent current(primary);
  CudaDriver& driver = *primary.driver();
  const absl::StatusOr<void*> memory = driver.MapNamed(key.allocation);
  if (!memory.ok()) return Unmappable(memory.status());
  auto* const allocation = static_cast<std::byte*>(*memory);
  const absl::StatusOr<CudaPointer> found = driver.Lookup(allocation);
  const bool device = found.ok() && found->kind == CudaMemoryKind::kDevice;
  const uint64_t room =
      device ? found->begin + found->bytes - reinterpret_cast<uint64_t>(allocation) : 0;
  if (key.offset <= room && bytes <= room - key.offset) {
    return std::shared_ptr<PeerRegion>(
        new MappedRegion(primary, allocation, key.offset, bytes, found->device));
  }
  static_cast<void>(driver.UnmapNamed(allocation));
  return Unmappable(absl::InvalidArgumentError(
      absl::StrFormat("it has %d bytes from %d on, not %d", room, key.offset, bytes)));
}

MappedRegion::~MappedRegion() {
  CudaCurrent current(primary_);
  static_cast<void>(primary_.driver()->UnmapNamed(allocation_));
}

}  // namespace tensorhub::agent
