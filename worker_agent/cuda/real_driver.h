// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// CudaDriver by libcuda. Thread contract: as CudaDriver's.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_REAL_DRIVER_H_
#define TENSORHUB_WORKER_AGENT_CUDA_REAL_DRIVER_H_

#include <string>
#include <string_view>

#include "worker_agent/cuda/driver.h"
#include "worker_agent/cuda/libcuda.h"

namespace tensorhub::agent {

inline CUdeviceptr DevicePointer(const void* address) {
  return reinterpret_cast<CUdeviceptr>(address);
}

class RealDriver : public CudaDriver {
 public:
  explicit RealDriver(const LibCuda& calls) : cu_(calls) {}

  // Before anything else. UNAVAILABLE: it offers this process no device.
  absl::Status Init();

  int Version() const override { return version_; }
  absl::StatusOr<int> DeviceCount() override;
  absl::StatusOr<CudaDevice> Device(int ordinal) override;
  absl::StatusOr<bool> CanAccessPeer(int device, int peer) override;
  absl::Status EnablePeer(CudaContext peer) override;
  absl::StatusOr<CudaPointer> Lookup(const void* address) override;

  absl::StatusOr<std::string> NameAllocation(const void* address) override;
  absl::StatusOr<void*> MapNamed(std::string_view name) override;
  absl::Status UnmapNamed(void* memory) override {
    return Check("cuIpcCloseMemHandle", cu_.IpcCloseMemHandle(DevicePointer(memory)));
  }

  absl::StatusOr<CudaContext> RetainPrimary(int device) override;
  absl::Status ReleasePrimary(int device) override {
    return Check("cuDevicePrimaryCtxRelease", cu_.DevicePrimaryCtxRelease(device));
  }
  absl::Status PushCurrent(CudaContext context) override {
    return Check("cuCtxPushCurrent", cu_.CtxPushCurrent(context));
  }
  absl::Status PopCurrent() override {
    CUcontext popped = nullptr;
    return Check("cuCtxPopCurrent", cu_.CtxPopCurrent(&popped));
  }

  absl::StatusOr<CaptureMode> ExchangeCaptureMode(CaptureMode mode) override;

  absl::StatusOr<void*> AllocateDevice(uint64_t bytes) override;
  absl::Status FreeDevice(void* memory) override {
    return Check("cuMemFree", cu_.MemFree(DevicePointer(memory)));
  }
  absl::StatusOr<uint64_t> FreeBytes() override;
  absl::StatusOr<void*> AllocateHost(uint64_t bytes) override;
  absl::Status FreeHost(void* memory) override {
    return Check("cuMemFreeHost", cu_.MemFreeHost(memory));
  }
  absl::Status RegisterHost(void* memory, uint64_t bytes) override {
    return Check("cuMemHostRegister",
                 cu_.MemHostRegister(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE));
  }
  absl::Status UnregisterHost(void* memory) override {
    return Check("cuMemHostUnregister", cu_.MemHostUnregister(memory));
  }

  absl::Status CopyAsync(void* to, const void* from, uint64_t bytes, CudaStream stream) override {
    return Check("cuMemcpyAsync",
                 cu_.MemcpyAsync(DevicePointer(to), DevicePointer(from), bytes, stream));
  }
  absl::Status FillAsync(void* to, uint8_t value, uint64_t bytes, CudaStream stream) override {
    return Check("cuMemsetD8Async", cu_.MemsetD8Async(DevicePointer(to), value, bytes, stream));
  }

  absl::StatusOr<CudaStream> CreateStream(bool urgent) override;
  absl::Status DestroyStream(CudaStream stream) override {
    return Check("cuStreamDestroy", cu_.StreamDestroy(stream));
  }
  absl::StatusOr<bool> StreamDone(CudaStream stream) override {
    return Done("cuStreamQuery", cu_.StreamQuery(stream));
  }
  absl::Status SynchronizeStream(CudaStream stream) override;

  absl::StatusOr<CudaEvent> CreateEvent(bool timed) override;
  absl::Status DestroyEvent(CudaEvent event) override {
    return Check("cuEventDestroy", cu_.EventDestroy(event));
  }
  absl::Status RecordEvent(CudaEvent event, CudaStream stream) override {
    return Check("cuEventRecord", cu_.EventRecord(event, stream));
  }
  absl::Status WaitEvent(CudaStream stream, CudaEvent event) override {
    return Check("cuStreamWaitEvent", cu_.StreamWaitEvent(stream, event, 0));
  }
  absl::StatusOr<bool> EventDone(CudaEvent event) override {
    return Done("cuEventQuery", cu_.EventQuery(event));
  }
  absl::Status SynchronizeEvent(CudaEvent event) override {
    return Check("cuEventSynchronize", cu_.EventSynchronize(event));
  }
  absl::StatusOr<float> ElapsedMs(CudaEvent begin, CudaEvent end) override;

  absl::Status FlushRemoteWrites() override {
    return Check("cuFlushGPUDirectRDMAWrites",
                 cu_.FlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                              CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES));
  }

  absl::StatusOr<CudaModule> LoadModule(std::span<const char> image) override;
  absl::Status UnloadModule(CudaModule module) override {
    return Check("cuModuleUnload", cu_.ModuleUnload(module));
  }
  absl::StatusOr<CudaKernel> FindKernel(CudaModule module, const std::string& name) override;
  absl::Status Launch(CudaKernel kernel, const CudaGrid& grid, CudaStream stream,
                      std::span<void*> arguments) override {
    return Check("cuLaunchKernel",
                 cu_.LaunchKernel(kernel, grid.blocks_x, grid.blocks_y, 1, grid.threads, 1, 1,
                                  grid.shared_bytes, stream, arguments.data(), nullptr));
  }

 private:
  absl::Status Check(std::string_view call, CUresult result) const;
  void NarrowToMapped(const void* address, CudaPointer& pointer);
  // For the queries, whose answer "not yet" is no error.
  absl::StatusOr<bool> Done(std::string_view call, CUresult result) const;
  absl::StatusOr<int> Attribute(int device, CUdevice_attribute attribute) const;

  const LibCuda cu_;
  int version_ = 0;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CUDA_REAL_DRIVER_H_
