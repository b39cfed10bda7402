// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

// The memory that a client registers: what of it peers may read without this process's CPU, what
// they and the core are told of it, and the memory that peers on this host can map.

#include <utility>

#include "absl/strings/str_cat.h"
#include "worker_agent/loop/progress_loop.h"
#include "worker_agent/runtime/log.h"

namespace tensorhub::agent {
namespace {

constexpr size_t kPageBytes = 4096;
// What a device of 2 TB/s copies in a quarter of a millisecond, in which the source answers for its
// word; ten milliseconds of a card of 400 Gbit/s.
constexpr uint64_t kDeviceWindowBytes = 512 << 20;
// An event of the core costs a microsecond, in which a device copies megabytes; a card of 400
// Gbit/s takes a third of a millisecond, by which each hop of a chain is later.
constexpr uint64_t kDeviceGetBytes = 16 << 20;
// Beside what asking a device costs, some tens of microseconds, the hashing is long, and over in a
// quarter of a millisecond.
constexpr uint64_t kDeviceScanBytes = 1 << 30;

}  // namespace

absl::Status ProgressLoop::Register(Memory memory) {
  const StallWatch::Call call(watch_, "registering tensors", StallWatch::Kind::kOwners);
  if (memory_) {
    return absl::FailedPreconditionError(
        "tensors are registered already; they are fixed for the life of a client");
  }
  if (absl::Status status = hasher_.Start(); !status.ok()) return status;
  memory_ = std::move(memory);
  if (absl::Status status = ShareMemory(); !status.ok()) {
    ForgetMemory();
    return status;
  }
  description_ = DescribeMemory();
  const Layout& layout = memory_->layout();
  Log().info("{} registered {} tensors, {} bytes in {} regions of {}, {}",
             ToString(options_.facts.self.key), layout.entries().size(), layout.total_bytes(),
             memory_->region_count(), memory_->medium().Describe(),
             description_.empty() ? "served to peers" : "readable by peers");
  hub_->calls().SetDocuments(layout.Encode(), options_.attachment);
  Feed(Facts());
  return absl::OkStatus();
}

// What can be read without this process's CPU, and by whom.
absl::Status ProgressLoop::ShareMemory() {
  Medium& medium = memory_->medium();
  const std::optional<int> device =
      memory_->cuda_device() ? memory_->cuda_device() : options_.local_device;
  if (!device || !options_.one_sided) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<Medium::Scope>> scope = medium.EnterThread();
  if (!scope.ok()) return scope.status();
  scope_ = *std::move(scope);
  std::vector<Memory::Piece> regions = medium.Regions();
  if (memory_->cuda_device()) {
    const absl::Status direct = one_sided_.ShareDevice(options_.make_device_gets, regions);
    if (!direct.ok() && !options_.through_host) return direct;
    if (!direct.ok()) {
      Log().warn("{}: peers on other hosts read through host memory: {}",
                 ToString(options_.facts.self.key), std::string(direct.message()));
    }
  } else {
    for (const Memory::Segment& each : memory_->segments()) {
      regions.push_back({each.data, each.bytes});
    }
  }
  const bool of_device = memory_->cuda_device().has_value();
  return one_sided_.ShareWithin(
      options_.make_local_gets(*device), regions,
      {.of_device = of_device, .with_host = of_device && options_.device_copies});
}

// Whatever reads it, or works on its device, ends first.
void ProgressLoop::ForgetMemory() {
  one_sided_.StopSharing();
  scope_.reset();
  memory_.reset();
}

Registered ProgressLoop::Facts() const {
  const Layout& layout = memory_->layout();
  Registered event;
  event.layout = layout.fingerprint();
  event.total_bytes = layout.total_bytes();
  if (!options_.attachment.empty()) event.attachment = FingerprintOf(options_.attachment);
  event.description = description_;
  event.reads_far = one_sided_.word_by_message();
  event.medium = "host";
  if (const std::optional<int> device = memory_->cuda_device()) {
    event.medium = absl::StrCat("cuda:", *device);
    event.window_bytes = kDeviceWindowBytes;
    event.get_bytes = kDeviceGetBytes;
    if (memory_->medium().DigestsManyAtOnce()) {
      event.scan_bytes = kDeviceScanBytes;
      event.check_bytes = kDeviceGetBytes;
    }
    return event;  // a frame of a device's memory is one piece
  }
  for (const Memory::Segment& segment : memory_->segments()) {
    event.piece_begins.push_back(segment.begin);
  }
  return event;
}

std::string ProgressLoop::DescribeMemory() const {
  if (one_sided_.regions().empty() || memory_->total_bytes() == 0) return "";
  const bool asked = one_sided_.word_by_message();
  const absl::StatusOr<SharedMemoryDescription> made = DescribeSharedMemory(
      *memory_, one_sided_.regions(), asked ? nullptr : word_.place(), one_sided_.Address());
  if (!made.ok() || (made->host.empty() && !asked)) return "";
  std::string encoded = Encode(*made);
  if (encoded.size() <= messages_->MaxPayloadBytes()) return encoded;
  Log().info("{} tensors are too scattered to describe to peers; serving them",
             memory_->layout().entries().size());
  return "";
}

absl::StatusOr<void*> ProgressLoop::Allocate(size_t bytes) {
  const StallWatch::Call call(watch_, "allocating memory", StallWatch::Kind::kOwners);
  const bool first = one_sided_.regions().empty();
  if (first) {
    const absl::StatusOr<SharedRegion> page = one_sided_.Allocate(kPageBytes);
    if (!page.ok()) return page.status();
    // Peers that were told of no place so far are served, and need none.
    if (!memory_) word_.MoveTo(page->base);
  }
  const absl::StatusOr<SharedRegion> region = one_sided_.Allocate(bytes);
  if (!region.ok()) return region.status();
  return region->base;
}

}  // namespace tensorhub::agent
