// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/cuda_medium.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/check.h"
#include "worker_agent/cuda/finish.h"

namespace tensorhub::agent {
namespace {

// A frame: MessageTransport::MaxPayloadBytes of every transport that there is.
constexpr uint64_t kSlotBytes = 256 * 1024;
// What is copied in before the host waits for it, if nobody asks for it earlier: 4 MiB.
constexpr size_t kArrivingMax = 16;
// A frame over the bus, and some.
constexpr std::chrono::microseconds kFrameTakes(100);
// How often the owner's work is looked at: at first as often as a short kernel ends.
constexpr std::chrono::microseconds kFirstLook(20);
constexpr std::chrono::microseconds kLastLook(1000);

class CurrentScope : public Medium::Scope {
 public:
  explicit CurrentScope(const CudaPrimary& primary) : current_(primary) {}
  const absl::Status& status() const { return current_.status(); }

 private:
  CudaCurrent current_;
};

absl::Status CopyOut(CudaDriver& driver, std::span<const Memory::Piece> pieces, std::byte* to,
                     CudaStream stream) {
  for (const Memory::Piece& piece : pieces) {
    const absl::Status status = driver.CopyAsync(to, piece.data, piece.bytes, stream);
    if (!status.ok()) return status;
    to += piece.bytes;
  }
  return FinishStream(driver, stream, kFrameTakes);
}

uint64_t BytesOf(std::span<const Memory::Piece> pieces) {
  uint64_t bytes = 0;
  for (const Memory::Piece& piece : pieces) bytes += piece.bytes;
  return bytes;
}

}  // namespace

// --- making it -----------------------------------------------------------------------------------

absl::StatusOr<std::shared_ptr<CudaMedium>> CudaMedium::Make(
    const std::vector<TensorBuffer>& tensors, CudaDriver* driver, std::span<const char> image,
    bool network_cards) {
  std::shared_ptr<CudaMedium> medium(new CudaMedium);
  if (absl::Status status = medium->Open(tensors, driver, image); !status.ok()) return status;
  // A device that orders their writes for all has nothing to flush; one that cannot flush is only
  // written to by copies of its own (docs/gpu.md), which are ordered.
  const CudaDevice& device = medium->device_;
  const bool ordered = device.writes_ordering == CudaDevice::WritesOrdering::kAllDevices;
  medium->flushes_ = network_cards && !ordered && device.flush_by_host;
  return medium;
}

absl::Status CudaMedium::Open(const std::vector<TensorBuffer>& tensors, CudaDriver* driver,
                              std::span<const char> image) {
  driver_ = driver;
  const absl::StatusOr<int> ordinal = DeviceOf(tensors, *driver);
  if (!ordinal.ok()) return ordinal.status();
  absl::StatusOr<CudaPrimary> primary = CudaPrimary::Retain(driver, *ordinal);
  if (!primary.ok()) return primary.status();
  primary_ = *std::move(primary);
  CudaCurrent current(primary_);
  if (!current.status().ok()) return current.status();
  absl::StatusOr<CudaPlacement> placement = PlaceOnDevice(tensors, *driver);
  if (!placement.ok()) return placement.status();
  placement_ = *std::move(placement);
  absl::StatusOr<CudaDevice> device = driver->Device(*ordinal);
  if (!device.ok()) return device.status();
  device_ = *std::move(device);
  for (OwnedStream* stream : {&in_, &out_}) {
    absl::StatusOr<OwnedStream> made = OwnedStream::Make(primary_, StreamKind::kUrgent);
    if (!made.ok()) return made.status();
    *stream = *std::move(made);
  }
  absl::StatusOr<OwnedEvent> event = OwnedEvent::Make(primary_, EventKind::kOrdinary);
  if (!event.ok()) return event.status();
  {
    MutexLock lock(mutex_);
    arrived_ = *std::move(event);
  }
  digests_ = std::make_unique<DeviceDigests>(
      primary_, image, [this](CudaStream stream) { return OrderBefore(stream); });
  staging_ = std::make_unique<StagingPool>(primary_, kSlotBytes);
  return absl::OkStatus();
}

CudaMedium::~CudaMedium() {
  if (arriving_.empty()) return;
  CudaCurrent current(primary_);
  static_cast<void>(FinishCopyIn());  // whose slots go now
}

std::vector<std::string> CudaMedium::Warnings() const {
  std::vector<std::string> warnings = placement_.warnings;
  if (digests_->by_kernels().ok()) return warnings;
  warnings.push_back(absl::StrCat("digests of GPU memory are made by the CPU, slowly: ",
                                  std::string(digests_->by_kernels().message())));
  return warnings;
}

std::string CudaMedium::Describe() const {
  return absl::StrFormat("CUDA device %d (%s, %s)", placement_.device, device_.name,
                         device_.pci_bus_id);
}

std::vector<Memory::Piece> CudaMedium::Regions() const {
  std::vector<Memory::Piece> regions;
  for (const CudaPlacement::Region& region : placement_.regions) {
    regions.push_back({region.data, region.bytes});
  }
  return regions;
}

absl::StatusOr<std::unique_ptr<Medium::Scope>> CudaMedium::EnterThread() {
  auto scope = std::make_unique<CurrentScope>(primary_);
  if (!scope->status().ok()) return scope->status();
  return scope;
}

// --- bytes that come and go by messages ----------------------------------------------------------

// Copies by way of page-locked memory that stays until they have ended: whether the driver has
// taken bytes of ordinary memory when the call returns is not promised (CUDA Driver API, "API
// synchronization behavior"), and the message's are gone then.
absl::Status CudaMedium::CopyIn(std::span<const Memory::Piece> pieces, std::string_view bytes) {
  CudaCurrent current(primary_);
  std::byte* slot = nullptr;
  uint64_t room = 0;
  for (Memory::Piece piece : pieces) {
    while (piece.bytes > 0) {
      if (room == 0) {
        const absl::StatusOr<void*> taken = TakeArriving();
        if (!taken.ok()) return taken.status();
        slot = static_cast<std::byte*>(*taken);
        room = staging_->slot_bytes();
      }
      const uint64_t part = std::min(piece.bytes, room);
      std::memcpy(slot, bytes.data(), part);
      const absl::Status status = driver_->CopyAsync(piece.data, slot, part, in_.get());
      if (!status.ok()) return status;
      bytes.remove_prefix(part);
      piece = {piece.data + part, piece.bytes - part};
      slot += part;
      room -= part;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<void*> CudaMedium::TakeArriving() {
  if (arriving_.size() >= kArrivingMax) {
    if (absl::Status status = FinishCopyIn(); !status.ok()) return status;
  }
  const absl::StatusOr<void*> slot = staging_->Take();
  if (slot.ok()) arriving_.push_back(*slot);
  return slot;
}

absl::Status CudaMedium::FinishCopyIn() {
  if (arriving_.empty()) return absl::OkStatus();
  if (absl::Status status = FinishStream(*driver_, in_.get(), kFrameTakes); !status.ok())
    return status;
  for (void* const slot : arriving_) staging_->GiveBack(slot);
  arriving_.clear();
  return absl::OkStatus();
}

absl::Status CudaMedium::MakeVisible() {
  CudaCurrent current(primary_);
  if (absl::Status status = FinishCopyIn(); !status.ok()) return status;
  return FlushRemote();
}

absl::Status CudaMedium::FlushRemote() {
  return flushes_ ? driver_->FlushRemoteWrites() : absl::OkStatus();
}

absl::Status CudaMedium::Expose(std::span<const Memory::Piece> pieces, uint64_t token,
                                std::vector<ConstPiece>& exposed) {
  CudaCurrent current(primary_);
  const uint64_t bytes = BytesOf(pieces);
  TH_CHECK(bytes <= staging_->slot_bytes());
  const absl::StatusOr<void*> slot = staging_->Take();
  if (!slot.ok()) return slot.status();
  exposed_[token] = *slot;
  exposed.assign({ConstPiece{*slot, bytes}});
  return CopyOut(*driver_, pieces, static_cast<std::byte*>(*slot), out_.get());
}

void CudaMedium::Conceal(uint64_t token) {
  const auto found = exposed_.find(token);
  if (found == exposed_.end()) return;
  staging_->GiveBack(found->second);
  exposed_.erase(found);
}

// --- digests -------------------------------------------------------------------------------------

absl::Status CudaMedium::OrderBefore(CudaStream stream) {
  CudaCurrent current(primary_);
  MutexLock lock(mutex_);
  absl::Status status = FlushRemote();
  if (status.ok()) status = driver_->RecordEvent(arrived_.get(), in_.get());
  if (status.ok()) status = driver_->WaitEvent(stream, arrived_.get());
  return status;
}

absl::StatusOr<std::vector<uint64_t>> CudaMedium::Digests(const Memory& memory,
                                                          const HashChunks& what) {
  return digests_->Of(memory, what);
}

// --- the owner's work ----------------------------------------------------------------------------

absl::Status CudaMedium::AwaitEvent(CudaEvent event, TimeMs timeout_ms) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  for (auto rest = kFirstLook;; rest = std::min(2 * rest, kLastLook)) {
    const absl::StatusOr<bool> done = driver_->EventDone(event);
    if (!done.ok()) return done.status();
    if (*done) return absl::OkStatus();
    if (std::chrono::steady_clock::now() >= until) {
      return absl::DeadlineExceededError(absl::StrCat(
          "the device's work that the tensors wait for was not done after ", timeout_ms, " ms"));
    }
    std::this_thread::sleep_for(rest);
  }
}

absl::Status CudaMedium::Await(const DeviceWork& work, TimeMs timeout_ms) {
  CudaCurrent current(primary_);
  if (work.event != nullptr) {
    const absl::Status status = AwaitEvent(static_cast<CudaEvent>(work.event), timeout_ms);
    if (!status.ok()) return status;
  }
  if (!work.stream) return absl::OkStatus();
  const absl::StatusOr<OwnedEvent> event = OwnedEvent::Make(primary_, EventKind::kOrdinary);
  if (!event.ok()) return event.status();
  const absl::Status recorded =
      driver_->RecordEvent(event->get(), static_cast<CudaStream>(*work.stream));
  return recorded.ok() ? AwaitEvent(event->get(), timeout_ms) : recorded;
}

absl::Status CudaMedium::ShowTo(const DeviceWork& work) {
  if (!work.stream) return absl::OkStatus();
  return OrderBefore(static_cast<CudaStream>(*work.stream));
}

absl::Status CudaMedium::CheckThere() { return CheckStillThere(placement_, *driver_); }

}  // namespace tensorhub::agent
