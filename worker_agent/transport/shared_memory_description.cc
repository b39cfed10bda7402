// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The encoding: a magic with the format's number, then varints (common/bytes.h) and strings with
// their length in front. A segment's `begin` is not written: segments follow one another, so that
// holes cannot be expressed.

#include "worker_agent/transport/shared_memory_description.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "common/bytes.h"
#include "common/check.h"
#include "common/random.h"

namespace tensorhub::agent {
namespace {

constexpr std::string_view kMagic = "THSM1";
constexpr std::string_view kMagicAsked = "THDM1";  // the control word is asked for
constexpr uint64_t kWordBytes = 8;
constexpr uint64_t kRegionsMax = 4096;

void PutString(ByteWriter& writer, std::string_view text) {
  writer.PutVarint(text.size());
  writer.PutBytes(text);
}

std::string TakeString(ByteReader& reader) {
  return std::string(reader.TakeBytes(reader.TakeVarint()));
}

absl::Status Malformed(const std::string& what) {
  return absl::InvalidArgumentError("description of a peer's shared memory: " + what);
}

bool Inside(uint64_t offset, uint64_t bytes, uint64_t whole) {
  return offset <= whole && bytes <= whole - offset;
}

absl::Status ReadRegions(ByteReader& in, SharedMemoryDescription& out) {
  const uint64_t count = in.TakeCount(3);
  if (count > kRegionsMax) return Malformed("too many regions");
  out.regions.reserve(count);
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    SharedMemoryDescription::Region region;
    region.base = in.TakeVarint();
    region.bytes = in.TakeVarint();
    region.packed_key = TakeString(in);
    if (out.word_by_message) region.local_key = TakeString(in);
    if (region.bytes > std::numeric_limits<uint64_t>::max() - region.base) {
      return Malformed(absl::StrFormat("region %d wraps around", i));
    }
    out.regions.push_back(std::move(region));
  }
  return absl::OkStatus();
}

absl::Status ReadSegments(ByteReader& in, SharedMemoryDescription& out) {
  const uint64_t count = in.TakeCount(3);
  out.segments.reserve(count);
  uint64_t begin = 0;
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    const uint64_t region = in.TakeVarint();
    const uint64_t offset = in.TakeVarint();
    const uint64_t bytes = in.TakeVarint();
    if (!in.ok()) break;
    if (region >= out.regions.size() || bytes == 0 ||
        !Inside(offset, bytes, out.regions[region].bytes) ||
        bytes > std::numeric_limits<uint64_t>::max() - begin) {
      return Malformed(absl::StrFormat("segment %d is outside its region", i));
    }
    out.segments.push_back({begin, static_cast<uint32_t>(region), offset, bytes});
    begin += bytes;
  }
  return absl::OkStatus();
}

absl::Status ReadWord(ByteReader& in, SharedMemoryDescription& out) {
  const uint64_t region = in.TakeVarint();
  out.word_offset = in.TakeVarint();
  if (!in.ok()) return absl::OkStatus();
  if (region >= out.regions.size() ||
      !Inside(out.word_offset, kWordBytes, out.regions[region].bytes) ||
      (out.regions[region].base + out.word_offset) % kWordBytes != 0) {
    return Malformed("the control word is outside its region");
  }
  out.word_region = static_cast<uint32_t>(region);
  return absl::OkStatus();
}

struct Home {
  uint32_t region;
  uint64_t offset;
  uint64_t room;  // bytes up to the region's end
};

// There are few (one per Allocate, or per allocation of a device), so they are simply tried.
std::optional<Home> FindHome(const std::vector<SharedRegion>& regions, const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  for (size_t i = 0; i < regions.size(); ++i) {
    const auto base = reinterpret_cast<uintptr_t>(regions[i].base);
    if (wanted < base || wanted - base >= regions[i].bytes) continue;
    return Home{static_cast<uint32_t>(i), wanted - base, regions[i].bytes - (wanted - base)};
  }
  return std::nullopt;
}

// A segment may run through regions that happen to be neighbours; a peer maps each for itself.
bool AppendSegment(const Memory::Segment& segment, const std::vector<SharedRegion>& regions,
                   SharedMemoryDescription& out) {
  uint64_t done = 0;
  while (done < segment.bytes) {
    const std::optional<Home> home = FindHome(regions, segment.data + done);
    if (!home) return false;
    const uint64_t bytes = std::min(home->room, segment.bytes - done);
    out.segments.push_back({segment.begin + done, home->region, home->offset, bytes});
    done += bytes;
  }
  return true;
}

std::string LinkTarget(const char* path) {
  char target[256];
  const ssize_t size = readlink(path, target, sizeof(target));
  return size > 0 ? std::string(target, static_cast<size_t>(size)) : std::string();
}

}  // namespace

PlaceWalk::PlaceWalk(const SharedMemoryDescription& description, uint64_t begin)
    : segments_(description.segments) {
  TH_CHECK(begin < description.total_bytes());
  const auto after = std::upper_bound(
      segments_.begin(), segments_.end(), begin,
      [](uint64_t wanted, const SharedMemoryDescription::Segment& s) { return wanted < s.begin; });
  at_ = static_cast<size_t>(after - segments_.begin()) - 1;
  taken_ = begin - segments_[at_].begin;
}

SharedMemoryDescription::Place PlaceWalk::Take(uint64_t bytes) {
  if (taken_ == segments_[at_].bytes) {
    ++at_;
    taken_ = 0;
  }
  TH_CHECK(bytes > 0 && at_ < segments_.size());
  const SharedMemoryDescription::Segment& segment = segments_[at_];
  const SharedMemoryDescription::Place place{segment.region, segment.offset + taken_,
                                             std::min(bytes, segment.bytes - taken_)};
  taken_ += place.bytes;
  return place;
}

std::string HostIdentity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  const std::string ipc = LinkTarget("/proc/self/ns/ipc");
  const std::string user = LinkTarget("/proc/self/ns/user");
  if (boot.empty() || ipc.empty() || user.empty()) return "";
  return boot + " " + ipc + " " + user;
}

const std::string& LocalProcess() {
  static const std::string process = absl::StrFormat("%016x", RandomSeed());
  return process;
}

absl::StatusOr<SharedMemoryDescription> DescribeSharedMemory(
    const Memory& memory, const std::vector<SharedRegion>& regions, const void* word,
    std::string address) {
  SharedMemoryDescription out;
  out.host = HostIdentity();
  out.address = std::move(address);
  for (const SharedRegion& region : regions) {
    out.regions.push_back({reinterpret_cast<uintptr_t>(region.base), region.bytes,
                           region.packed_key, region.local_key});
  }
  out.word_by_message = word == nullptr;
  if (out.word_by_message) {
    out.process = LocalProcess();
  } else {
    const std::optional<Home> home = FindHome(regions, word);
    if (!home || home->room < kWordBytes) return absl::NotFoundError("the control word is private");
    out.word_region = home->region;
    out.word_offset = home->offset;
  }
  for (const Memory::Segment& segment : memory.segments()) {
    if (!AppendSegment(segment, regions, out)) {
      return absl::NotFoundError("some tensors lie outside memory that the client allocated");
    }
  }
  return out;
}

std::string Encode(const SharedMemoryDescription& description) {
  std::string out(description.word_by_message ? kMagicAsked : kMagic);
  ByteWriter writer(out);
  PutString(writer, description.host);
  PutString(writer, description.address);
  if (description.word_by_message) PutString(writer, description.process);
  writer.PutVarint(description.regions.size());
  for (const SharedMemoryDescription::Region& region : description.regions) {
    writer.PutVarint(region.base);
    writer.PutVarint(region.bytes);
    PutString(writer, region.packed_key);
    if (description.word_by_message) PutString(writer, region.local_key);
  }
  writer.PutVarint(description.segments.size());
  for (const SharedMemoryDescription::Segment& segment : description.segments) {
    writer.PutVarint(segment.region);
    writer.PutVarint(segment.offset);
    writer.PutVarint(segment.bytes);
  }
  if (description.word_by_message) return out;
  writer.PutVarint(description.word_region);
  writer.PutVarint(description.word_offset);
  return out;
}

absl::StatusOr<SharedMemoryDescription> DecodeSharedMemoryDescription(std::string_view encoded) {
  ByteReader in(encoded);
  SharedMemoryDescription out;
  const std::string_view magic = in.TakeBytes(kMagic.size());
  out.word_by_message = magic == kMagicAsked;
  if (magic != kMagic && !out.word_by_message) return Malformed("an unknown format");
  out.host = TakeString(in);
  out.address = TakeString(in);
  if (out.word_by_message) out.process = TakeString(in);
  absl::Status status = ReadRegions(in, out);
  if (status.ok()) status = ReadSegments(in, out);
  if (status.ok() && !out.word_by_message) status = ReadWord(in, out);
  if (!status.ok()) return status;
  if (!in.ok() || in.left() != 0) return Malformed("cut off, or too long");
  return out;
}

}  // namespace tensorhub::agent
