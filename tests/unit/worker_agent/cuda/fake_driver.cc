// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/worker_agent/cuda/fake_driver.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace tensorhub::agent::testing {
namespace {

// What the name of an allocation holds.
struct Name {
  int process = 0;
  int file = 0;
  uint64_t inode = 0;  // so that another file of that number is not taken for it
  uint64_t bytes = 0;
  int device = 0;
};
constexpr size_t kNameBytes = 64;
static_assert(sizeof(Name) <= kNameBytes);

// Of each thread, whichever driver.
std::vector<CudaContext>& CurrentContexts() {
  thread_local std::vector<CudaContext> contexts;
  return contexts;
}

CaptureMode& ModeOfThread() {
  thread_local CaptureMode mode = CaptureMode::kGlobal;
  return mode;
}

}  // namespace

CudaContext FakeDriver::ContextOf(int device) {
  return reinterpret_cast<CudaContext>(static_cast<uintptr_t>(device) + 1);
}

int FakeDriver::DeviceOf(CudaContext context) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(context)) - 1;
}

CudaContext FakeDriver::CurrentContext() {
  return CurrentContexts().empty() ? nullptr : CurrentContexts().back();
}

FakeDriver::~FakeDriver() {
  MutexLock lock(mutex_);
  for (const auto& [begin, allocation] : allocations_) {
    munmap(reinterpret_cast<void*>(begin), allocation.bytes);
    munmap(allocation.shadow, allocation.bytes);
    close(allocation.file);
  }
}

// --- what tests do -------------------------------------------------------------------------------

std::byte* FakeDriver::Allocate(int device, uint64_t bytes, const Kind& kind) {
  const int file = memfd_create("fake device memory", MFD_CLOEXEC);
  TH_CHECK(file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0);
  return Map(file, device, bytes, kind);
}

std::byte* FakeDriver::Map(int file, int device, uint64_t bytes, const Kind& kind) {
  void* const address = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0);
  void* const shadow = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  TH_CHECK(address != MAP_FAILED && shadow != MAP_FAILED);
  MutexLock lock(mutex_);
  allocations_[reinterpret_cast<uintptr_t>(address)] = {
      file, bytes, static_cast<std::byte*>(shadow), device, next_handle_++, kind};
  return static_cast<std::byte*>(address);
}

// The address stays without access, so that a late touch shows.
void FakeDriver::Free(void* memory) {
  MutexLock lock(mutex_);
  const auto found = allocations_.find(reinterpret_cast<uintptr_t>(memory));
  TH_CHECK(found != allocations_.end());
  munmap(found->second.shadow, found->second.bytes);
  close(found->second.file);
  allocations_.erase(found);
}

std::byte* FakeDriver::Shadow(const void* address) {
  MutexLock lock(mutex_);
  return ShadowLocked(address, 1);
}

void FakeDriver::Enqueue(CudaStream stream, std::function<void()> kernel) {
  MutexLock lock(mutex_);
  streams_[stream].ops.push_back({std::move(kernel)});
}

void FakeDriver::Hold(CudaStream stream) {
  MutexLock lock(mutex_);
  streams_[stream].held = true;
}

void FakeDriver::Go(CudaStream stream) {
  MutexLock lock(mutex_);
  streams_[stream].held = false;
}

void FakeDriver::WriteRemotely(void* to, const std::string& bytes) {
  MutexLock lock(mutex_);
  remote_writes_.emplace_back(ShadowLocked(to, bytes.size()), bytes);
}

void FakeDriver::FailNext(const std::string& call, const absl::Status& status) {
  MutexLock lock(mutex_);
  failures_[call] = status;
}

int FakeDriver::count(const std::string& call) {
  MutexLock lock(mutex_);
  return counts_[call];
}

size_t FakeDriver::contexts_retained() {
  MutexLock lock(mutex_);
  size_t sum = 0;
  for (const auto& [device, count] : retained_) sum += static_cast<size_t>(count);
  return sum;
}

bool FakeDriver::IsRetained(int device) {
  MutexLock lock(mutex_);
  const auto found = retained_.find(device);
  return found != retained_.end() && found->second > 0;
}

size_t FakeDriver::left_over() {
  MutexLock lock(mutex_);
  const size_t streams = streams_.size() - streams_.count(nullptr);
  return streams + events_.size() + pinned_.size() + modules_.size();
}

// --- the machinery -------------------------------------------------------------------------------

absl::Status FakeDriver::Enter(const std::string& call) {
  ++counts_[call];
  const auto planned = failures_.find(call);
  if (planned == failures_.end()) return absl::OkStatus();
  const absl::Status status = planned->second;
  failures_.erase(planned);
  return status;
}

absl::Status FakeDriver::EnterCurrent(const std::string& call) {
  if (CurrentContexts().empty()) {
    return absl::InvalidArgumentError(call + ": CUDA_ERROR_INVALID_CONTEXT: none is current");
  }
  return Enter(call);
}

absl::Status FakeDriver::EnterUncaptured(const std::string& call) {
  if (capturing_ && ModeOfThread() != CaptureMode::kRelaxed) {
    return absl::FailedPreconditionError(call + ": CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED");
  }
  return EnterCurrent(call);
}

const std::pair<const uintptr_t, FakeDriver::Allocation>* FakeDriver::FindAllocation(
    const void* address) const {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  auto after = allocations_.upper_bound(wanted);
  if (after == allocations_.begin()) return nullptr;
  --after;
  return wanted - after->first < after->second.bytes ? &*after : nullptr;
}

// Null for a range that leaves its allocation.
std::byte* FakeDriver::ShadowLocked(const void* address, uint64_t bytes) {
  const auto* const found = FindAllocation(address);
  if (found == nullptr) return static_cast<std::byte*>(const_cast<void*>(address));
  const uint64_t offset = reinterpret_cast<uintptr_t>(address) - found->first;
  return bytes <= found->second.bytes - offset ? found->second.shadow + offset : nullptr;
}

bool FakeDriver::Pinned(const void* address) const {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  auto after = pinned_.upper_bound(wanted);
  if (after == pinned_.begin()) return false;
  --after;
  return wanted - after->first < after->second;
}

FakeDriver::Clock::duration FakeDriver::TimeOf(double bytes, double rate) const {
  if (options_.memory_rate == 0) return {};
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(bytes / rate));
}

bool FakeDriver::Ended(Stream& stream) {
  if (options_.memory_rate == 0) return true;
  Op& op = stream.ops.front();
  if (!op.until) {
    const bool short_one = op.takes == Clock::duration::zero();
    const Clock::time_point begin = std::max(op.given, stream.ended);
    op.until = short_one ? begin : std::max(begin, busy_until_) + op.takes;
    busy_until_ = std::max(busy_until_, *op.until);
  }
  if (*op.until > Clock::now()) return false;
  stream.ended = *op.until;
  return true;
}

bool FakeDriver::RunOne(Stream& stream) {
  if (stream.held || stream.ops.empty()) return false;
  const Op& op = stream.ops.front();
  if (op.event != nullptr && events_.contains(op.event) && events_[op.event].done < op.count) {
    return false;
  }
  if (!Ended(stream)) return false;
  const std::function<void()> work = op.work;
  stream.ops.pop_front();
  if (work) work();
  return true;
}

bool FakeDriver::Run() {
  MutexLock lock(mutex_);
  RunAll();
  return std::all_of(streams_.begin(), streams_.end(),
                     [](const auto& stream) { return stream.second.ops.empty(); });
}

void FakeDriver::RunAll() {
  bool moved = true;
  while (moved) {
    moved = false;
    for (auto& [handle, stream] : streams_) moved = RunOne(stream) || moved;
  }
}

void* FakeDriver::NewHandle() { return reinterpret_cast<void*>(next_handle_++); }

// --- devices, pointers, contexts -----------------------------------------------------------------

absl::StatusOr<CudaDevice> FakeDriver::Device(int ordinal) {
  if (ordinal < 0 || ordinal >= options_.devices) {
    return absl::InvalidArgumentError("cuDeviceGet: CUDA_ERROR_INVALID_DEVICE: invalid ordinal");
  }
  CudaDevice device;
  device.name = "Fake H200";
  device.pci_bus_id = absl::StrCat("0000:0", ordinal, ":00.0");
  device.compute_major = 9;
  device.multiprocessors = 4;
  device.memory_bytes = options_.memory_bytes;
  device.gpu_direct_rdma = true;
  device.writes_ordering = options_.writes_ordering;
  device.flush_by_host = options_.flush_by_host;
  return device;
}

absl::StatusOr<CudaPointer> FakeDriver::Lookup(const void* address) {
  MutexLock lock(mutex_);
  if (absl::Status status = Enter("Lookup"); !status.ok()) return status;
  CudaPointer pointer;
  if (Pinned(address)) pointer.kind = CudaMemoryKind::kHost;
  const auto* const found = FindAllocation(address);
  if (found == nullptr) return pointer;
  const Allocation& allocation = found->second;
  pointer.kind = allocation.kind.kind;
  pointer.device = allocation.device;
  pointer.begin = found->first;
  pointer.bytes = allocation.bytes;
  pointer.allocation_id = allocation.id;
  pointer.legacy_ipc = allocation.kind.legacy_ipc;
  pointer.pooled = allocation.kind.pooled;
  return pointer;
}

absl::StatusOr<std::string> FakeDriver::NameAllocation(const void* address) {
  MutexLock lock(mutex_);
  if (absl::Status status = Enter("NameAllocation"); !status.ok()) return status;
  const auto* const found = FindAllocation(address);
  if (found == nullptr || !found->second.kind.legacy_ipc) {
    return absl::InvalidArgumentError("cuIpcGetMemHandle: CUDA_ERROR_INVALID_VALUE: not its own");
  }
  const Allocation& allocation = found->second;
  struct stat file = {};
  TH_CHECK(fstat(allocation.file, &file) == 0);
  const Name name{getpid(), allocation.file, file.st_ino, allocation.bytes, allocation.device};
  std::string encoded(reinterpret_cast<const char*>(&name), sizeof(name));
  encoded.resize(kNameBytes);
  return encoded;
}

absl::StatusOr<void*> FakeDriver::MapNamed(std::string_view encoded) {
  {
    MutexLock lock(mutex_);
    if (absl::Status status = EnterCurrent("MapNamed"); !status.ok()) return status;
  }
  Name name;
  if (encoded.size() != kNameBytes) return absl::InvalidArgumentError("no name of an allocation");
  std::memcpy(static_cast<void*>(&name), encoded.data(), sizeof(name));
  if (name.process == getpid() && !options_.maps_its_own) {
    return absl::InvalidArgumentError(
        "cuIpcOpenMemHandle: CUDA_ERROR_INVALID_CONTEXT: the process's own");
  }
  const std::string path = absl::StrCat("/proc/", name.process, "/fd/", name.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat found = {};
  if (file < 0 || fstat(file, &found) != 0 || found.st_ino != name.inode) {
    if (file >= 0) close(file);
    return absl::InvalidArgumentError(
        "cuIpcOpenMemHandle: CUDA_ERROR_INVALID_VALUE: nobody has such memory any more");
  }
  return static_cast<void*>(Map(file, name.device, name.bytes, Kind{}));
}

absl::Status FakeDriver::UnmapNamed(void* memory) { return FreeDevice(memory); }

absl::StatusOr<CudaContext> FakeDriver::RetainPrimary(int device) {
  MutexLock lock(mutex_);
  if (absl::Status status = Enter("RetainPrimary"); !status.ok()) return status;
  if (device < 0 || device >= options_.devices) {
    return absl::InvalidArgumentError(
        "cuDevicePrimaryCtxRetain: CUDA_ERROR_INVALID_DEVICE: invalid device ordinal");
  }
  ++retained_[device];
  return ContextOf(device);
}

absl::Status FakeDriver::ReleasePrimary(int device) {
  MutexLock lock(mutex_);
  TH_CHECK(retained_[device] > 0);
  --retained_[device];
  return absl::OkStatus();
}

absl::Status FakeDriver::PushCurrent(CudaContext context) {
  MutexLock lock(mutex_);
  if (absl::Status status = Enter("PushCurrent"); !status.ok()) return status;
  CurrentContexts().push_back(context);
  return absl::OkStatus();
}

absl::Status FakeDriver::PopCurrent() {
  TH_CHECK(!CurrentContexts().empty());
  CurrentContexts().pop_back();
  return absl::OkStatus();
}

absl::StatusOr<CaptureMode> FakeDriver::ExchangeCaptureMode(CaptureMode mode) {
  return std::exchange(ModeOfThread(), mode);
}

void FakeDriver::Capture(bool on) {
  MutexLock lock(mutex_);
  capturing_ = on;
}

// --- memory --------------------------------------------------------------------------------------

absl::StatusOr<void*> FakeDriver::AllocateDevice(uint64_t bytes) {
  {
    MutexLock lock(mutex_);
    if (absl::Status status = EnterCurrent("AllocateDevice"); !status.ok()) return status;
  }
  return static_cast<void*>(Allocate(DeviceOf(CurrentContexts().back()), bytes));
}

absl::Status FakeDriver::FreeDevice(void* memory) {
  {
    MutexLock lock(mutex_);
    if (absl::Status status = EnterCurrent("FreeDevice"); !status.ok()) return status;
    RunAll();
  }
  Free(memory);
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> FakeDriver::FreeBytes() { return options_.memory_bytes; }

absl::StatusOr<void*> FakeDriver::AllocateHost(uint64_t bytes) {
  MutexLock lock(mutex_);
  if (absl::Status status = EnterCurrent("AllocateHost"); !status.ok()) return status;
  auto memory = std::make_unique<std::byte[]>(bytes);
  void* const address = memory.get();
  pinned_[reinterpret_cast<uintptr_t>(address)] = bytes;
  host_[address] = std::move(memory);
  return address;
}

absl::Status FakeDriver::FreeHost(void* memory) {
  MutexLock lock(mutex_);
  if (absl::Status status = EnterCurrent("FreeHost"); !status.ok()) return status;
  RunAll();
  TH_CHECK(host_.erase(memory) == 1);
  pinned_.erase(reinterpret_cast<uintptr_t>(memory));
  return absl::OkStatus();
}

absl::Status FakeDriver::RegisterHost(void* memory, uint64_t bytes) {
  MutexLock lock(mutex_);
  if (absl::Status status = EnterCurrent("RegisterHost"); !status.ok()) return status;
  pinned_[reinterpret_cast<uintptr_t>(memory)] = bytes;
  return absl::OkStatus();
}

absl::Status FakeDriver::UnregisterHost(void* memory) {
  MutexLock lock(mutex_);
  if (absl::Status status = EnterCurrent("UnregisterHost"); !status.ok()) return status;
  RunAll();
  TH_CHECK(pinned_.erase(reinterpret_cast<uintptr_t>(memory)) == 1);
  return absl::OkStatus();
}

}  // namespace tensorhub::agent::testing
