// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The encoding: a magic with the format's number, then varints (7 bits a byte, low first) and
// strings with their length in front. A segment's `begin` is not written: segments follow one
// another, so that holes cannot be expressed.

#include "worker_agent/shared_memory_description.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "common/check.h"

namespace tensorhub::agent {
namespace {

constexpr std::string_view kMagic = "THSM1";
constexpr uint64_t kWordBytes = 8;
constexpr uint64_t kRegionsMax = 4096;

void PutNumber(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(0x80 | (value & 0x7f)));
  out.push_back(static_cast<char>(value));
}

void PutString(std::string& out, std::string_view text) {
  PutNumber(out, text.size());
  out.append(text);
}

// Reads what Put… wrote. After a failure everything reads as 0 and `ok` stays false.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  size_t left() const { return rest_.size(); }

  uint64_t Number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const uint64_t byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      if (shift == 63 && byte > 1) break;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return byte == 0 && shift > 0 ? Fail() : value;  // one spelling only
    }
    return Fail();
  }

  std::string String() {
    const uint64_t size = Number();
    if (size > rest_.size()) {
      Fail();
      return "";
    }
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }

  // A count of things that take at least `bytes_each`: bounds what a short message can claim.
  uint64_t Count(uint64_t bytes_each) {
    const uint64_t count = Number();
    return count > rest_.size() / bytes_each ? Fail() : count;
  }

  bool Take(std::string_view expected) {
    const bool found = rest_.substr(0, expected.size()) == expected;
    if (found) rest_.remove_prefix(expected.size());
    return found;
  }

 private:
  uint64_t Fail() {
    ok_ = false;
    rest_ = {};
    return 0;
  }

  std::string_view rest_;
  bool ok_ = true;
};

absl::Status Malformed(const std::string& what) {
  return absl::InvalidArgumentError("description of a peer's shared memory: " + what);
}

bool Inside(uint64_t offset, uint64_t bytes, uint64_t whole) {
  return offset <= whole && bytes <= whole - offset;
}

absl::Status ReadRegions(Input& in, SharedMemoryDescription& out) {
  const uint64_t count = in.Count(3);
  if (count > kRegionsMax) return Malformed("too many regions");
  out.regions.reserve(count);
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    SharedMemoryDescription::Region region;
    region.base = in.Number();
    region.bytes = in.Number();
    region.packed_key = in.String();
    if (region.bytes > std::numeric_limits<uint64_t>::max() - region.base) {
      return Malformed(absl::StrFormat("region %d wraps around", i));
    }
    out.regions.push_back(std::move(region));
  }
  return absl::OkStatus();
}

absl::Status ReadSegments(Input& in, SharedMemoryDescription& out) {
  const uint64_t count = in.Count(3);
  out.segments.reserve(count);
  uint64_t begin = 0;
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    const uint64_t region = in.Number();
    const uint64_t offset = in.Number();
    const uint64_t bytes = in.Number();
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

absl::Status ReadWord(Input& in, SharedMemoryDescription& out) {
  const uint64_t region = in.Number();
  out.word_offset = in.Number();
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

// Regions are few (one per Allocate), so they are simply tried.
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

SharedMemoryDescription::Place SharedMemoryDescription::Find(ByteRange range) const {
  TH_CHECK(range.bytes > 0 && Inside(range.begin, range.bytes, total_bytes()));
  const auto after =
      std::upper_bound(segments.begin(), segments.end(), range.begin,
                       [](uint64_t wanted, const Segment& s) { return wanted < s.begin; });
  const Segment& segment = *(after - 1);
  const uint64_t skipped = range.begin - segment.begin;
  return {segment.region, segment.offset + skipped, std::min(range.bytes, segment.bytes - skipped)};
}

std::string HostIdentity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  const std::string ipc = LinkTarget("/proc/self/ns/ipc");
  const std::string user = LinkTarget("/proc/self/ns/user");
  if (boot.empty() || ipc.empty() || user.empty()) return "";
  return boot + " " + ipc + " " + user;
}

absl::StatusOr<SharedMemoryDescription> DescribeSharedMemory(
    const Memory& memory, const std::vector<SharedRegion>& regions, const void* word,
    std::string address) {
  SharedMemoryDescription out;
  out.host = HostIdentity();
  out.address = std::move(address);
  for (const SharedRegion& region : regions) {
    out.regions.push_back(
        {reinterpret_cast<uintptr_t>(region.base), region.bytes, region.packed_key});
  }
  const std::optional<Home> home = FindHome(regions, word);
  if (!home || home->room < kWordBytes) return absl::NotFoundError("the control word is private");
  out.word_region = home->region;
  out.word_offset = home->offset;
  for (const Memory::Segment& segment : memory.segments()) {
    if (!AppendSegment(segment, regions, out)) {
      return absl::NotFoundError("some tensors lie outside memory from Allocate");
    }
  }
  return out;
}

std::string Encode(const SharedMemoryDescription& description) {
  std::string out(kMagic);
  PutString(out, description.host);
  PutString(out, description.address);
  PutNumber(out, description.regions.size());
  for (const SharedMemoryDescription::Region& region : description.regions) {
    PutNumber(out, region.base);
    PutNumber(out, region.bytes);
    PutString(out, region.packed_key);
  }
  PutNumber(out, description.segments.size());
  for (const SharedMemoryDescription::Segment& segment : description.segments) {
    PutNumber(out, segment.region);
    PutNumber(out, segment.offset);
    PutNumber(out, segment.bytes);
  }
  PutNumber(out, description.word_region);
  PutNumber(out, description.word_offset);
  return out;
}

absl::StatusOr<SharedMemoryDescription> DecodeSharedMemoryDescription(std::string_view encoded) {
  Input in(encoded);
  if (!in.Take(kMagic)) return Malformed("an unknown format");
  SharedMemoryDescription out;
  out.host = in.String();
  out.address = in.String();
  absl::Status status = ReadRegions(in, out);
  if (status.ok()) status = ReadSegments(in, out);
  if (status.ok()) status = ReadWord(in, out);
  if (!status.ok()) return status;
  if (!in.ok() || in.left() != 0) return Malformed("cut off, or too long");
  return out;
}

}  // namespace tensorhub::agent
