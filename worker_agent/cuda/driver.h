// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The few calls of the CUDA driver that the agent makes, as an interface: the one behind
// OpenCudaDriver finds libcuda at run time, so that one binary runs with and without a GPU; tests
// have another. Translates and decides nothing. Includes nothing of CUDA: handles are the driver's
// own types, declared and never looked into.
//
// Errors name the driver's call and its own error ("cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY: …"):
// RESOURCE_EXHAUSTED out of memory, UNAVAILABLE no device or a device that is gone,
// FAILED_PRECONDITION what this driver or device cannot do, INVALID_ARGUMENT a value or handle that
// the driver does not know, ABORTED an earlier kernel or copy that failed (after it the context is
// of no more use), INTERNAL everything else. Out-values are unchanged on failure.
//
// Thread contract: any thread, several at once. Methods marked CURRENT need a context that is
// current on the calling thread (CudaCurrent), the one that the streams, events and memory belong
// to.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_DRIVER_H_
#define TENSORHUB_WORKER_AGENT_CUDA_DRIVER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;

namespace tensorhub::agent {

using CudaContext = CUctx_st*;
// A stream may be null: the context's default stream, which waits for all others that do not say
// otherwise, and which they wait for.
using CudaStream = CUstream_st*;
using CudaEvent = CUevent_st*;
using CudaModule = CUmod_st*;
using CudaKernel = CUfunc_st*;

// The driver's own numbers.
enum class CaptureMode { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };

enum class CudaMemoryKind {
  kUnknown,  // not of the driver: ordinary host memory, or memory that was freed
  kHost,     // page-locked host memory
  kDevice,
  kManaged,  // migrates between host and device
};

struct CudaPointer {
  CudaMemoryKind kind = CudaMemoryKind::kUnknown;
  int device = -1;  // ordinal; of managed memory and host memory the one that it was made on
  // The allocation that the pointer is in; 0 where the kind is kUnknown.
  uint64_t begin = 0;
  uint64_t bytes = 0;
  // Unique within the process: an allocation that later takes the same place has another.
  uint64_t allocation_id = 0;
  // Whether another process can map it by the interface that cuda_ipc has always used. Memory of
  // the virtual memory interface (expandable segments) and of stream-ordered pools cannot.
  bool legacy_ipc = false;
  bool pooled = false;  // of a stream-ordered pool
};

struct CudaDevice {
  // After which of its consumers remote writes (a network card's) are seen in order without a
  // flush.
  enum class WritesOrdering { kNone, kOwner, kAllDevices };

  std::string name;
  std::string pci_bus_id;  // "0000:1b:00.0"
  int compute_major = 0;
  int compute_minor = 0;
  int multiprocessors = 0;
  uint64_t memory_bytes = 0;
  bool gpu_direct_rdma = false;
  WritesOrdering writes_ordering = WritesOrdering::kNone;
  bool flush_by_host = false;  // FlushRemoteWrites works
};

// How many blocks, and threads of each.
struct CudaGrid {
  uint32_t blocks_x = 1;
  uint32_t blocks_y = 1;
  uint32_t threads = 1;
  uint32_t shared_bytes = 0;  // dynamic shared memory per block
};

class CudaDriver {
 public:
  virtual ~CudaDriver() = default;

  // Devices.
  virtual int Version() const = 0;  // 1000 * major + 10 * minor of the CUDA that the driver offers
  virtual absl::StatusOr<int> DeviceCount() = 0;
  virtual absl::StatusOr<CudaDevice> Device(int ordinal) = 0;
  // Whether `device` can address memory of `peer`.
  virtual absl::StatusOr<bool> CanAccessPeer(int device, int peer) = 0;
  // The current context may use memory of `peer`'s device; also if it may already. CURRENT.
  virtual absl::Status EnablePeer(CudaContext peer) = 0;

  // What the driver knows of an address. Not an error for an address that it does not know.
  // CURRENT, or of memory of the virtual memory interface it is not known how much is mapped.
  virtual absl::StatusOr<CudaPointer> Lookup(const void* address) = 0;

  // Memory between processes of a host. A name by which another process maps the allocation that
  // begins there; FAILED_PRECONDITION or INVALID_ARGUMENT if none can (CudaPointer::legacy_ipc).
  virtual absl::StatusOr<std::string> NameAllocation(const void* begin) = 0;
  // The begin of the named allocation, mapped for the current context's device, and back. CURRENT.
  // Fails for a name of this process, of one that is gone, and of a device that is out of reach.
  virtual absl::StatusOr<void*> MapNamed(std::string_view name) = 0;
  virtual absl::Status UnmapNamed(void* memory) = 0;

  // Contexts. The primary context is the one that the CUDA runtime, and so PyTorch, uses; each
  // Retain needs one Release. See CudaPrimary and CudaCurrent below.
  virtual absl::StatusOr<CudaContext> RetainPrimary(int device) = 0;
  virtual absl::Status ReleasePrimary(int device) = 0;
  virtual absl::Status PushCurrent(CudaContext context) = 0;
  virtual absl::Status PopCurrent() = 0;
  // Sets for the calling thread which calls a capture of a stream forbids meanwhile, also one in
  // another thread, whose capture they would spoil. Returns the mode so far.
  virtual absl::StatusOr<CaptureMode> ExchangeCaptureMode(CaptureMode mode) = 0;

  // Memory. CURRENT. Freeing device memory waits for the work that uses it.
  virtual absl::StatusOr<void*> AllocateDevice(uint64_t bytes) = 0;
  virtual absl::Status FreeDevice(void* memory) = 0;
  // Free bytes of the device.
  virtual absl::StatusOr<uint64_t> FreeBytes() = 0;
  // Page-locked, for all contexts.
  virtual absl::StatusOr<void*> AllocateHost(uint64_t bytes) = 0;
  virtual absl::Status FreeHost(void* memory) = 0;
  // Page-locks memory that exists, for all contexts; it must stay until UnregisterHost.
  virtual absl::Status RegisterHost(void* memory, uint64_t bytes) = 0;
  virtual absl::Status UnregisterHost(void* memory) = 0;

  // Work in a stream. CURRENT. Copies go between any two of host and device memory; from or to host
  // memory that is not page-locked the caller waits for them.
  virtual absl::Status CopyAsync(void* to, const void* from, uint64_t bytes, CudaStream stream) = 0;
  virtual absl::Status FillAsync(void* to, uint8_t value, uint64_t bytes, CudaStream stream) = 0;

  // Streams. CURRENT. Made without ties to the default stream; `urgent`: of the highest priority.
  virtual absl::StatusOr<CudaStream> CreateStream(bool urgent) = 0;
  virtual absl::Status DestroyStream(CudaStream stream) = 0;
  // Whether all work given to it so far is done.
  virtual absl::StatusOr<bool> StreamDone(CudaStream stream) = 0;
  // Waits for it, asleep.
  virtual absl::Status SynchronizeStream(CudaStream stream) = 0;

  // Events. CURRENT. `timed`: ElapsedMs works, at some cost.
  virtual absl::StatusOr<CudaEvent> CreateEvent(bool timed) = 0;
  virtual absl::Status DestroyEvent(CudaEvent event) = 0;
  virtual absl::Status RecordEvent(CudaEvent event, CudaStream stream) = 0;
  // What is given to `stream` from now on waits for `event`; the caller does not.
  virtual absl::Status WaitEvent(CudaStream stream, CudaEvent event) = 0;
  // True also for an event that was never recorded.
  virtual absl::StatusOr<bool> EventDone(CudaEvent event) = 0;
  virtual absl::Status SynchronizeEvent(CudaEvent event) = 0;
  virtual absl::StatusOr<float> ElapsedMs(CudaEvent begin, CudaEvent end) = 0;

  // Returns once what network cards have written into memory of the current context's device is
  // seen by every device. CURRENT. FAILED_PRECONDITION unless CudaDevice::flush_by_host.
  virtual absl::Status FlushRemoteWrites() = 0;

  // Kernels. CURRENT. `image`: PTX text (ending in a zero byte), a cubin or a fat binary; what the
  // compiler said of PTX that it refuses is part of the error.
  virtual absl::StatusOr<CudaModule> LoadModule(std::span<const char> image) = 0;
  virtual absl::Status UnloadModule(CudaModule module) = 0;
  virtual absl::StatusOr<CudaKernel> FindKernel(CudaModule module, const std::string& name) = 0;
  // `arguments`: for each parameter of the kernel the address of its value, which is copied.
  virtual absl::Status Launch(CudaKernel kernel, const CudaGrid& grid, CudaStream stream,
                              std::span<void*> arguments) = 0;
};

// The driver of this machine, once per process; it stays to the end. UNAVAILABLE: no libcuda.so.1,
// or no device; FAILED_PRECONDITION: the driver is too old, lacks a call, or this build was made
// without CUDA's headers. The message says what to do.
absl::StatusOr<CudaDriver*> OpenCudaDriver();

// The driver if this process has loaded libcuda already, else null: then no pointer of the process
// is a device's. Initialises nothing; where nobody has, Lookup knows no address.
CudaDriver* LoadedCudaDriver();

// Whether this build has the real driver in it.
bool BuiltWithCuda();

// A device's primary context, retained. Movable; empty when default-constructed.
class CudaPrimary {
 public:
  static absl::StatusOr<CudaPrimary> Retain(CudaDriver* driver, int device);
  CudaPrimary() = default;
  ~CudaPrimary();
  CudaPrimary(CudaPrimary&& other) noexcept;
  CudaPrimary& operator=(CudaPrimary&& other) noexcept;

  explicit operator bool() const { return context_ != nullptr; }
  CudaDriver* driver() const { return driver_; }
  int device() const { return device_; }
  CudaContext context() const { return context_; }

 private:
  CudaPrimary(CudaDriver* driver, int device, CudaContext context)
      : driver_(driver), device_(device), context_(context) {}

  CudaDriver* driver_ = nullptr;
  int device_ = -1;
  CudaContext context_ = nullptr;
};

// Makes a context current on this thread for as long as the object lives, and its calls harmless to
// whatever stream is being captured; afterwards all is as before. Nests. Nothing happens for an
// empty CudaPrimary. Not movable: guards end in the reverse order of their beginning, on the thread
// that made them.
class CudaCurrent {
 public:
  explicit CudaCurrent(const CudaPrimary& primary);
  ~CudaCurrent();
  CudaCurrent(const CudaCurrent&) = delete;
  CudaCurrent& operator=(const CudaCurrent&) = delete;

  // Why the context is not current; calls will fail then.
  const absl::Status& status() const { return status_; }

 private:
  CudaDriver* const driver_;
  absl::Status status_;
  CaptureMode mode_before_ = CaptureMode::kGlobal;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CUDA_DRIVER_H_
