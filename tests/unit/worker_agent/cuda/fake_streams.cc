// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// FakeDriver's work in streams: copies, events, kernels.

#include <cstring>
#include <utility>

#include "common/check.h"
#include "tests/unit/worker_agent/cuda/fake_driver.h"

namespace tensorhub::agent::testing {

template <typename Done>
void FakeDriver::RunUntil(Done done) {
  RunAll();
  while (!done()) {
    TH_CHECK(options_.memory_rate > 0);  // held: this would wait for ever
    turn_.WaitUntil(mutex_, Clock::now() + std::chrono::microseconds(20));
    RunAll();
  }
}

// --- streams -------------------------------------------------------------------------------------

absl::Status FakeDriver::CopyAsync(void* to, const void* from, uint64_t bytes, CudaStream stream) {
  MutexLock lock(mutex_);
  if (absl::Status status = EnterCurrent("CopyAsync"); !status.ok()) return status;
  std::byte* const target = ShadowLocked(to, bytes);
  const std::byte* const source = ShadowLocked(from, bytes);
  if (target == nullptr || source == nullptr) {
    return absl::InvalidArgumentError("cuMemcpyAsync: CUDA_ERROR_INVALID_VALUE: out of bounds");
  }
  Stream& in = streams_[stream];
  const bool within = FindAllocation(from) != nullptr && FindAllocation(to) != nullptr;
  const Clock::duration takes =
      TimeOf(static_cast<double>(bytes), within ? options_.memory_rate : options_.bus_rate);
  if (options_.memory_rate > 0) {
    in.ops.push_back({.work = nullptr, .takes = takes});
  } else {
    in.ops.push_back({[=] { std::memcpy(target, source, bytes); }});
  }
  if (FindAllocation(to) == nullptr && !Pinned(to)) RunUntil([&] { return in.ops.empty(); });
  return absl::OkStatus();
}

absl::Status FakeDriver::FillAsync(void* to, uint8_t value, uint64_t bytes, CudaStream stream) {
  MutexLock lock(mutex_);
  if (absl::Status status = EnterCurrent("FillAsync"); !status.ok()) return status;
  std::byte* const target = ShadowLocked(to, bytes);
  if (target == nullptr) {
    return absl::InvalidArgumentError("cuMemsetD8Async: CUDA_ERROR_INVALID_VALUE: out of bounds");
  }
  if (options_.memory_rate > 0) {
    const Clock::duration takes = TimeOf(static_cast<double>(bytes) / 2, options_.memory_rate);
    streams_[stream].ops.push_back({.work = nullptr, .takes = takes});
  } else {
    streams_[stream].ops.push_back({[=] { std::memset(target, value, bytes); }});
  }
  return absl::OkStatus();
}

absl::StatusOr<CudaStream> FakeDriver::CreateStream(bool /*urgent*/) {
  MutexLock lock(mutex_);
  if (absl::Status status = EnterCurrent("CreateStream"); !status.ok()) return status;
  const auto stream = static_cast<CudaStream>(NewHandle());
  streams_[stream];
  return stream;
}

absl::Status FakeDriver::DestroyStream(CudaStream stream) {
  MutexLock lock(mutex_);
  if (absl::Status status = EnterCurrent("DestroyStream"); !status.ok()) return status;
  RunAll();
  TH_CHECK(streams_.erase(stream) == 1);
  return absl::OkStatus();
}

absl::StatusOr<bool> FakeDriver::StreamDone(CudaStream stream) {
  MutexLock lock(mutex_);
  if (absl::Status status = EnterUncaptured("StreamDone"); !status.ok()) return status;
  const bool done = streams_[stream].ops.empty();
  RunAll();  // a moment later
  return done;
}

absl::Status FakeDriver::SynchronizeStream(CudaStream stream) {
  MutexLock lock(mutex_);
  if (absl::Status status = EnterUncaptured("SynchronizeStream"); !status.ok()) return status;
  RunUntil([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return streams_[stream].ops.empty(); });
  return absl::OkStatus();
}

// --- events --------------------------------------------------------------------------------------

absl::StatusOr<CudaEvent> FakeDriver::CreateEvent(bool /*timed*/) {
  MutexLock lock(mutex_);
  if (absl::Status status = EnterCurrent("CreateEvent"); !status.ok()) return status;
  const auto event = static_cast<CudaEvent>(NewHandle());
  events_[event];
  return event;
}

absl::Status FakeDriver::DestroyEvent(CudaEvent event) {
  MutexLock lock(mutex_);
  if (absl::Status status = EnterCurrent("DestroyEvent"); !status.ok()) return status;
  TH_CHECK(events_.erase(event) == 1);
  return absl::OkStatus();
}

absl::Status FakeDriver::RecordEvent(CudaEvent event, CudaStream stream) {
  MutexLock lock(mutex_);
  if (absl::Status status = EnterCurrent("RecordEvent"); !status.ok()) return status;
  const uint64_t count = ++events_[event].recorded;
  streams_[stream].ops.push_back({[this, event, stream, count]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const auto found = events_.find(event);
    if (found == events_.end()) return;
    found->second.done = count;
    found->second.at = streams_[stream].ended;
  }});
  return absl::OkStatus();
}

absl::Status FakeDriver::WaitEvent(CudaStream stream, CudaEvent event) {
  MutexLock lock(mutex_);
  if (absl::Status status = EnterCurrent("WaitEvent"); !status.ok()) return status;
  streams_[stream].ops.push_back(
      {.work = nullptr, .event = event, .count = events_[event].recorded});
  return absl::OkStatus();
}

absl::StatusOr<bool> FakeDriver::EventDone(CudaEvent event) {
  MutexLock lock(mutex_);
  if (absl::Status status = EnterUncaptured("EventDone"); !status.ok()) return status;
  const bool done = events_[event].done == events_[event].recorded;
  RunAll();  // a moment later
  return done;
}

absl::Status FakeDriver::SynchronizeEvent(CudaEvent event) {
  MutexLock lock(mutex_);
  if (absl::Status status = EnterUncaptured("SynchronizeEvent"); !status.ok()) return status;
  RunUntil([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return events_[event].done == events_[event].recorded;
  });
  return absl::OkStatus();
}

absl::StatusOr<float> FakeDriver::ElapsedMs(CudaEvent begin, CudaEvent end) {
  if (options_.memory_rate == 0) return 1.0F;
  MutexLock lock(mutex_);
  return std::chrono::duration<float, std::milli>(events_[end].at - events_[begin].at).count();
}

absl::Status FakeDriver::FlushRemoteWrites() {
  MutexLock lock(mutex_);
  if (absl::Status status = EnterCurrent("FlushRemoteWrites"); !status.ok()) return status;
  if (!options_.flush_by_host) {
    return absl::FailedPreconditionError(
        "cuFlushGPUDirectRDMAWrites: CUDA_ERROR_NOT_SUPPORTED: not on this device");
  }
  for (const auto& [to, bytes] : std::exchange(remote_writes_, {})) {
    std::memcpy(to, bytes.data(), bytes.size());
  }
  return absl::OkStatus();
}

// --- kernels -------------------------------------------------------------------------------------

absl::StatusOr<CudaModule> FakeDriver::LoadModule(std::span<const char> /*image*/) {
  MutexLock lock(mutex_);
  if (absl::Status status = EnterCurrent("LoadModule"); !status.ok()) return status;
  if (!options_.kernels) {
    return absl::FailedPreconditionError(
        "cuModuleLoadDataEx: CUDA_ERROR_UNSUPPORTED_PTX_VERSION: made for a newer driver");
  }
  const auto module = static_cast<CudaModule>(NewHandle());
  modules_.insert(module);
  return module;
}

absl::Status FakeDriver::UnloadModule(CudaModule module) {
  MutexLock lock(mutex_);
  if (absl::Status status = EnterCurrent("UnloadModule"); !status.ok()) return status;
  TH_CHECK(modules_.erase(module) == 1);
  return absl::OkStatus();
}

absl::StatusOr<CudaKernel> FakeDriver::FindKernel(CudaModule /*module*/, const std::string& name) {
  MutexLock lock(mutex_);
  if (absl::Status status = EnterCurrent("FindKernel"); !status.ok()) return status;
  const auto kernel = static_cast<CudaKernel>(NewHandle());
  kernels_[kernel] = name;
  return kernel;
}

absl::Status FakeDriver::Launch(CudaKernel kernel, const CudaGrid& grid, CudaStream stream,
                                std::span<void*> arguments) {
  std::string name;
  {
    MutexLock lock(mutex_);
    if (absl::Status status = EnterCurrent("Launch"); !status.ok()) return status;
    if (grid.blocks_x == 0) {
      return absl::InvalidArgumentError("cuLaunchKernel: CUDA_ERROR_INVALID_VALUE: no blocks");
    }
    name = kernels_[kernel];
  }
  absl::StatusOr<Work> work = Kernel(name, grid, arguments);
  if (!work.ok()) return work.status();
  if (options_.memory_rate == 0) {
    Enqueue(stream, std::move(work->run));
    return absl::OkStatus();
  }
  MutexLock lock(mutex_);
  const Clock::duration takes = TimeOf(static_cast<double>(work->bytes), options_.memory_rate);
  streams_[stream].ops.push_back({.work = nullptr, .takes = takes});
  return absl::OkStatus();
}

absl::StatusOr<FakeDriver::Work> FakeDriver::Kernel(const std::string& name,
                                                    const CudaGrid& /*grid*/,
                                                    std::span<void*> /*arguments*/) {
  return absl::InvalidArgumentError("cuLaunchKernel: CUDA_ERROR_NOT_FOUND: " + name);
}

}  // namespace tensorhub::agent::testing
