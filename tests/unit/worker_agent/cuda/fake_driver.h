// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A CUDA driver without a GPU. Device memory is real memory that the CPU cannot touch at the
// address that the driver gives (a load or store there ends the test), only through Shadow; calls
// that need a current context fail without one; work in a stream is not done when the call returns,
// but when somebody waits for it or asks, in the streams' order; a copy reads its source only then,
// whatever kind of memory that is. Bytes that a network card writes are seen only after a flush.
//
// Thread contract: any thread.

#ifndef TENSORHUB_TESTS_UNIT_WORKER_AGENT_CUDA_FAKE_DRIVER_H_
#define TENSORHUB_TESTS_UNIT_WORKER_AGENT_CUDA_FAKE_DRIVER_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/mutex.h"
#include "worker_agent/cuda/driver.h"

namespace tensorhub::agent::testing {

class FakeDriver : public CudaDriver {
 public:
  struct Options {
    int devices = 1;
    CudaDevice::WritesOrdering writes_ordering = CudaDevice::WritesOrdering::kNone;
    bool flush_by_host = true;
    uint64_t memory_bytes = uint64_t{8} << 30;  // per device
    bool kernels = false;                       // else it is too old for any image
    bool maps_its_own = false;  // MapNamed takes names of this process, for tests of two agents
    // Bytes per second of copies within devices, and to and from the host. 0: no model.
    double memory_rate = 0;
    double bus_rate = 50e9;
  };
  // What a test allocates may differ from what AllocateDevice gives.
  struct Kind {
    CudaMemoryKind kind = CudaMemoryKind::kDevice;
    bool legacy_ipc = true;
    bool pooled = false;
  };

  FakeDriver() : FakeDriver(Options{}) {}
  explicit FakeDriver(const Options& options) : options_(options) {}
  ~FakeDriver() override;

  // For tests; no context is needed.
  std::byte* Allocate(int device, uint64_t bytes, const Kind& kind) ABSL_LOCKS_EXCLUDED(mutex_);
  std::byte* Allocate(int device, uint64_t bytes) { return Allocate(device, bytes, Kind{}); }
  void Free(void* memory) ABSL_LOCKS_EXCLUDED(mutex_);
  // Where the CPU finds the bytes of a device address.
  std::byte* Shadow(const void* address) ABSL_LOCKS_EXCLUDED(mutex_);
  // A kernel; runs when the stream gets to it.
  void Enqueue(CudaStream stream, std::function<void()> kernel) ABSL_LOCKS_EXCLUDED(mutex_);
  // The stream gets no further until Go.
  void Hold(CudaStream stream) ABSL_LOCKS_EXCLUDED(mutex_);
  void Go(CudaStream stream) ABSL_LOCKS_EXCLUDED(mutex_);
  // A network card writes; nobody sees it before the next flush.
  void WriteRemotely(void* to, const std::string& bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // The next call of that name fails so ("CopyAsync").
  void FailNext(const std::string& call, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  int count(const std::string& call) ABSL_LOCKS_EXCLUDED(mutex_);
  size_t contexts_retained() ABSL_LOCKS_EXCLUDED(mutex_);
  // Streams, events, page-locked memory and modules that nobody has destroyed.
  size_t left_over() ABSL_LOCKS_EXCLUDED(mutex_);
  // All streams as far as they get; whether all are at their ends.
  bool Run() ABSL_LOCKS_EXCLUDED(mutex_);
  // The calling thread's, null if it has none.
  static CudaContext CurrentContext();
  // As if a stream were being captured by another thread: asking for the end of work is an error
  // for threads that have not said that they do not mind.
  void Capture(bool on) ABSL_LOCKS_EXCLUDED(mutex_);
  static CudaContext ContextOf(int device);
  static int DeviceOf(CudaContext context);
  bool IsRetained(int device) ABSL_LOCKS_EXCLUDED(mutex_);

  int Version() const override { return 13000; }
  absl::StatusOr<int> DeviceCount() override { return options_.devices; }
  absl::StatusOr<CudaDevice> Device(int ordinal) override;
  absl::StatusOr<bool> CanAccessPeer(int /*device*/, int /*peer*/) override { return true; }
  absl::Status EnablePeer(CudaContext /*peer*/) override { return absl::OkStatus(); }
  absl::StatusOr<CudaPointer> Lookup(const void* address) override;
  absl::StatusOr<std::string> NameAllocation(const void* address) override;
  absl::StatusOr<void*> MapNamed(std::string_view name) override;
  absl::Status UnmapNamed(void* memory) override;
  absl::StatusOr<CudaContext> RetainPrimary(int device) override;
  absl::Status ReleasePrimary(int device) override;
  absl::Status PushCurrent(CudaContext context) override;
  absl::Status PopCurrent() override;
  absl::StatusOr<CaptureMode> ExchangeCaptureMode(CaptureMode mode) override;
  absl::StatusOr<void*> AllocateDevice(uint64_t bytes) override;
  absl::Status FreeDevice(void* memory) override;
  absl::StatusOr<uint64_t> FreeBytes() override;
  absl::StatusOr<void*> AllocateHost(uint64_t bytes) override;
  absl::Status FreeHost(void* memory) override;
  absl::Status RegisterHost(void* memory, uint64_t bytes) override;
  absl::Status UnregisterHost(void* memory) override;
  absl::Status CopyAsync(void* to, const void* from, uint64_t bytes, CudaStream stream) override;
  absl::Status FillAsync(void* to, uint8_t value, uint64_t bytes, CudaStream stream) override;
  absl::StatusOr<CudaStream> CreateStream(bool urgent) override;
  absl::Status DestroyStream(CudaStream stream) override;
  absl::StatusOr<bool> StreamDone(CudaStream stream) override;
  absl::Status SynchronizeStream(CudaStream stream) override;
  absl::StatusOr<CudaEvent> CreateEvent(bool timed) override;
  absl::Status DestroyEvent(CudaEvent event) override;
  absl::Status RecordEvent(CudaEvent event, CudaStream stream) override;
  absl::Status WaitEvent(CudaStream stream, CudaEvent event) override;
  absl::StatusOr<bool> EventDone(CudaEvent event) override;
  absl::Status SynchronizeEvent(CudaEvent event) override;
  absl::StatusOr<float> ElapsedMs(CudaEvent begin, CudaEvent end) override;
  absl::Status FlushRemoteWrites() override;
  absl::StatusOr<CudaModule> LoadModule(std::span<const char> image) override;
  absl::Status UnloadModule(CudaModule module) override;
  absl::StatusOr<CudaKernel> FindKernel(CudaModule module, const std::string& name) override;
  absl::Status Launch(CudaKernel kernel, const CudaGrid& grid, CudaStream stream,
                      std::span<void*> arguments) override;

 protected:
  // Shadow, for a kernel that runs: the driver's lock is held then.
  std::byte* ShadowForKernel(const void* address) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return ShadowLocked(address, 1);
  }
  struct Work {
    std::function<void()> run;
    uint64_t bytes = 0;  // that it copies within the device, or as good as
  };
  // What a kernel of that name does with its arguments' values; here it is refused. Called with the
  // addresses that Launch was given; returns the work itself, for when the stream gets to it.
  virtual absl::StatusOr<Work> Kernel(const std::string& name, const CudaGrid& grid,
                                      std::span<void*> arguments);

 private:
  struct Allocation {
    int file = -1;  // owned
    uint64_t bytes = 0;
    std::byte* shadow = nullptr;
    int device = 0;
    uint64_t id = 0;
    Kind kind;
  };
  using Clock = std::chrono::steady_clock;
  // Either work, or a wait for the event's count.
  struct Op {
    std::function<void()> work;
    CudaEvent event = nullptr;
    uint64_t count = 0;
    // Of the model: what it takes, when it was given, and, once it is begun, when it ends.
    Clock::duration takes = {};
    Clock::time_point given = Clock::now();
    std::optional<Clock::time_point> until = {};
  };
  struct Stream {
    std::deque<Op> ops;
    bool held = false;
    Clock::time_point ended = {};  // its last op, in the model
  };
  struct Event {
    uint64_t recorded = 0;
    uint64_t done = 0;
    Clock::time_point at = {};
  };

  // Takes over `file`.
  std::byte* Map(int file, int device, uint64_t bytes, const Kind& kind)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Enter(const std::string& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status EnterUncaptured(const std::string& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status EnterCurrent(const std::string& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const std::pair<const uintptr_t, Allocation>* FindAllocation(const void* address) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::byte* ShadowLocked(const void* address, uint64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Pinned(const void* address) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool RunOne(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the stream's first op is done by now.
  bool Ended(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Clock::duration TimeOf(double bytes, double rate) const;
  // All streams until `done`; with the model that takes time.
  template <typename Done>
  void RunUntil(Done done) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void* NewHandle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  Mutex mutex_;
  std::map<uintptr_t, Allocation> allocations_ ABSL_GUARDED_BY(mutex_);
  std::map<uintptr_t, uint64_t> pinned_ ABSL_GUARDED_BY(mutex_);
  std::map<void*, std::unique_ptr<std::byte[]>> host_ ABSL_GUARDED_BY(mutex_);
  std::map<CudaStream, Stream> streams_ ABSL_GUARDED_BY(mutex_);
  std::map<CudaEvent, Event> events_ ABSL_GUARDED_BY(mutex_);
  std::set<CudaModule> modules_ ABSL_GUARDED_BY(mutex_);
  std::map<CudaKernel, std::string> kernels_ ABSL_GUARDED_BY(mutex_);
  std::map<int, int> retained_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::pair<std::byte*, std::string>> remote_writes_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, absl::Status> failures_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> counts_ ABSL_GUARDED_BY(mutex_);
  bool capturing_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_handle_ ABSL_GUARDED_BY(mutex_) = 0x1000;
  CondVar turn_;                                          // which nobody signals
  Clock::time_point busy_until_ ABSL_GUARDED_BY(mutex_);  // the model's device
};

}  // namespace tensorhub::agent::testing

#endif  // TENSORHUB_TESTS_UNIT_WORKER_AGENT_CUDA_FAKE_DRIVER_H_
