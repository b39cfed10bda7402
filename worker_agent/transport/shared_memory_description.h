// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a peer needs to read a shard's memory without its owner's help: where the bytes of the
// canonical byte space lie, by which keys, and where the control word is. Opaque to the core; it
// travels in one message. There are two kinds: of shared memory, which a peer on the same host
// maps, word and all; and of memory that gets reach elsewhere (a device's), whose word is asked
// for.
//
// Decoded descriptions come from peers and are checked (R9): they cover the byte space without
// holes, and every segment lies inside its region.

#ifndef TENSORHUB_WORKER_AGENT_TRANSPORT_SHARED_MEMORY_DESCRIPTION_H_
#define TENSORHUB_WORKER_AGENT_TRANSPORT_SHARED_MEMORY_DESCRIPTION_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "worker_agent/core/transport.h"
#include "worker_agent/memory/memory.h"

namespace tensorhub::agent {

struct SharedMemoryDescription {
  struct Region {
    uint64_t base = 0;
    uint64_t bytes = 0;
    std::string packed_key;
    std::string local_key = {};  // only if the word is asked for
  };
  struct Segment {
    uint64_t begin = 0;  // in the canonical byte space
    uint32_t region = 0;
    uint64_t offset = 0;  // in the region
    uint64_t bytes = 0;
  };
  // A contiguous part of a region.
  struct Place {
    uint32_t region = 0;
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };

  std::string host;     // HostIdentity of the owner
  std::string address;  // GetTransport::Address of the owner
  std::string process;  // LocalProcess of the owner; only if the word is asked for
  bool word_by_message = false;
  std::vector<Region> regions;
  std::vector<Segment> segments;  // in canonical order, without holes
  uint32_t word_region = 0;       // unless it is asked for, as the next one
  uint64_t word_offset = 0;       // with the region's base a multiple of 8

  uint64_t total_bytes() const {
    return segments.empty() ? 0 : segments.back().begin + segments.back().bytes;
  }
};

// Goes through the places of a range, in order.
class PlaceWalk {
 public:
  // From `begin` on, which must lie within the byte space. `description` outlives the walk.
  PlaceWalk(const SharedMemoryDescription& description, uint64_t begin);
  // The next so many bytes, or fewer: up to the end of the segment. Not behind the byte space.
  SharedMemoryDescription::Place Take(uint64_t bytes);

 private:
  const std::vector<SharedMemoryDescription::Segment>& segments_;
  size_t at_ = 0;
  uint64_t taken_ = 0;  // of the segment
};

// Equal for two processes only if shared memory of one can be mapped by the other: the boot, and
// the namespaces in which such memory is named. Empty if the system does not say.
std::string HostIdentity();

// Another one for each process.
const std::string& LocalProcess();

// The description of `memory` and of the control word at `word`; null: peers ask for it. NOT_FOUND
// if any of them lies outside `regions`.
absl::StatusOr<SharedMemoryDescription> DescribeSharedMemory(
    const Memory& memory, const std::vector<SharedRegion>& regions, const void* word,
    std::string address);

std::string Encode(const SharedMemoryDescription& description);
// INVALID_ARGUMENT for anything that Encode would not have written for a valid description.
absl::StatusOr<SharedMemoryDescription> DecodeSharedMemoryDescription(std::string_view encoded);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_TRANSPORT_SHARED_MEMORY_DESCRIPTION_H_
