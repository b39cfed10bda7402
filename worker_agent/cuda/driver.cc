// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/driver.h"

#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/mutex.h"
#include "worker_agent/cuda/driver_status.h"
#include "worker_agent/cuda/libcuda.h"

namespace tensorhub::agent {
namespace {

constexpr int kOldestVersion = 12000;

CUdeviceptr DevicePointer(const void* address) { return reinterpret_cast<CUdeviceptr>(address); }

class RealDriver : public CudaDriver {
 public:
  explicit RealDriver(const LibCuda& calls) : cu_(calls) {}

  absl::Status Init() {
    const absl::Status status = Check("cuInit", cu_.Init(0));
    if (status.ok()) return Check("cuDriverGetVersion", cu_.DriverGetVersion(&version_));
    if (!absl::IsUnavailable(status)) return status;
    return absl::UnavailableError(
        absl::StrCat(std::string(status.message()),
                     "; the driver offers this process no GPU (is CUDA_VISIBLE_DEVICES empty, or "
                     "the container run without the GPUs?)"));
  }

  int Version() const override { return version_; }
  absl::StatusOr<int> DeviceCount() override;
  absl::StatusOr<CudaDevice> Device(int ordinal) override;
  absl::StatusOr<bool> CanAccessPeer(int device, int peer) override;
  absl::StatusOr<CudaPointer> Lookup(const void* address) override;

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
  // For the queries, whose answer "not yet" is no error.
  absl::StatusOr<bool> Done(std::string_view call, CUresult result) const;
  absl::StatusOr<int> Attribute(int device, CUdevice_attribute attribute) const;

  const LibCuda cu_;
  int version_ = 0;
};

absl::Status RealDriver::Check(std::string_view call, CUresult result) const {
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  const char* name = nullptr;
  const char* text = nullptr;
  if (cu_.GetErrorName(result, &name) != CUDA_SUCCESS) name = "an unknown error";
  if (cu_.GetErrorString(result, &text) != CUDA_SUCCESS) text = "no description";
  return CudaStatus(result, call, name, text);
}

absl::StatusOr<bool> RealDriver::Done(std::string_view call, CUresult result) const {
  if (result == CUDA_ERROR_NOT_READY) return false;
  if (absl::Status status = Check(call, result); !status.ok()) return status;
  return true;
}

// --- devices -------------------------------------------------------------------------------------

absl::StatusOr<int> RealDriver::Attribute(int device, CUdevice_attribute attribute) const {
  int value = 0;
  const absl::Status status =
      Check("cuDeviceGetAttribute", cu_.DeviceGetAttribute(&value, attribute, device));
  if (!status.ok()) return status;
  return value;
}

absl::StatusOr<int> RealDriver::DeviceCount() {
  int count = 0;
  const absl::Status status = Check("cuDeviceGetCount", cu_.DeviceGetCount(&count));
  if (!status.ok()) return status;
  return count;
}

CudaDevice::WritesOrdering OrderingOf(int attribute) {
  if (attribute >= CU_GPU_DIRECT_RDMA_WRITES_ORDERING_ALL_DEVICES) {
    return CudaDevice::WritesOrdering::kAllDevices;
  }
  return attribute >= CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER ? CudaDevice::WritesOrdering::kOwner
                                                               : CudaDevice::WritesOrdering::kNone;
}

absl::StatusOr<CudaDevice> RealDriver::Device(int ordinal) {
  CUdevice device = 0;
  std::array<char, 128> name{};
  std::array<char, 32> bus{};
  size_t bytes = 0;
  absl::Status status = Check("cuDeviceGet", cu_.DeviceGet(&device, ordinal));
  if (!status.ok()) return status;
  status.Update(Check("cuDeviceGetName", cu_.DeviceGetName(name.data(), name.size(), device)));
  status.Update(
      Check("cuDeviceGetPCIBusId", cu_.DeviceGetPCIBusId(bus.data(), bus.size(), device)));
  status.Update(Check("cuDeviceTotalMem", cu_.DeviceTotalMem(&bytes, device)));
  const auto get = [&](CUdevice_attribute attribute) {
    const absl::StatusOr<int> value = Attribute(device, attribute);
    status.Update(value.status());
    return value.value_or(0);
  };
  CudaDevice out;
  out.name = name.data();
  out.pci_bus_id = bus.data();
  out.memory_bytes = bytes;
  out.compute_major = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  out.compute_minor = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  out.multiprocessors = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  out.gpu_direct_rdma = get(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED) != 0;
  out.writes_ordering = OrderingOf(get(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING));
  out.flush_by_host = (get(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS) &
                       CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST) != 0;
  if (!status.ok()) return status;
  return out;
}

absl::StatusOr<bool> RealDriver::CanAccessPeer(int device, int peer) {
  int can = 0;
  const absl::Status status =
      Check("cuDeviceCanAccessPeer", cu_.DeviceCanAccessPeer(&can, device, peer));
  if (!status.ok()) return status;
  return can != 0;
}

// --- pointers ------------------------------------------------------------------------------------

// What cuPointerGetAttributes writes; zero where the driver knows nothing of the address.
struct Attributes {
  CUmemorytype type = static_cast<CUmemorytype>(0);
  unsigned managed = 0;
  int device = -1;
  CUdeviceptr begin = 0;
  size_t bytes = 0;
  unsigned long long id = 0;
  unsigned legacy_ipc = 0;
  CUmemoryPool pool = nullptr;
  unsigned rdma = 0;
};

CudaMemoryKind KindOf(const Attributes& found) {
  if (found.managed != 0) return CudaMemoryKind::kManaged;
  if (found.type == CU_MEMORYTYPE_DEVICE) return CudaMemoryKind::kDevice;
  return found.type == CU_MEMORYTYPE_HOST ? CudaMemoryKind::kHost : CudaMemoryKind::kUnknown;
}

absl::StatusOr<CudaPointer> RealDriver::Lookup(const void* address) {
  Attributes found;
  std::array<CUpointer_attribute, 9> which = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
      CU_POINTER_ATTRIBUTE_IS_MANAGED,
      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
      CU_POINTER_ATTRIBUTE_RANGE_SIZE,
      CU_POINTER_ATTRIBUTE_BUFFER_ID,
      CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
      CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
      CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE,
  };
  std::array<void*, 9> where = {&found.type,       &found.managed, &found.device,
                                &found.begin,      &found.bytes,   &found.id,
                                &found.legacy_ipc, &found.pool,    &found.rdma};
  const CUresult result = cu_.PointerGetAttributes(
      static_cast<unsigned>(which.size()), which.data(), where.data(), DevicePointer(address));
  // Nobody has used the driver in this process, so that there is no memory of a device.
  if (result == CUDA_ERROR_NOT_INITIALIZED) return CudaPointer{};
  if (absl::Status status = Check("cuPointerGetAttributes", result); !status.ok()) return status;
  CudaPointer out;
  out.kind = KindOf(found);
  if (out.kind == CudaMemoryKind::kUnknown) return out;
  out.device = found.device;
  out.begin = found.begin;
  out.bytes = found.bytes;
  out.allocation_id = found.id;
  out.legacy_ipc = found.legacy_ipc != 0;
  out.pooled = found.pool != nullptr;
  out.gpu_direct_rdma = found.rdma != 0;
  return out;
}

// --- contexts and memory -------------------------------------------------------------------------

absl::StatusOr<CudaContext> RealDriver::RetainPrimary(int device) {
  CUcontext context = nullptr;
  const absl::Status status =
      Check("cuDevicePrimaryCtxRetain", cu_.DevicePrimaryCtxRetain(&context, device));
  if (!status.ok()) return status;
  return context;
}

absl::Status WithBytes(const absl::Status& status, uint64_t bytes) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(std::string(status.message()), " (", bytes, " bytes)"));
}

absl::StatusOr<void*> RealDriver::AllocateDevice(uint64_t bytes) {
  CUdeviceptr memory = 0;
  const absl::Status status = WithBytes(Check("cuMemAlloc", cu_.MemAlloc(&memory, bytes)), bytes);
  if (!status.ok()) return status;
  return reinterpret_cast<void*>(memory);
}

absl::StatusOr<uint64_t> RealDriver::FreeBytes() {
  size_t free = 0;
  size_t total = 0;
  const absl::Status status = Check("cuMemGetInfo", cu_.MemGetInfo(&free, &total));
  if (!status.ok()) return status;
  return free;
}

absl::StatusOr<void*> RealDriver::AllocateHost(uint64_t bytes) {
  void* memory = nullptr;
  const absl::Status status = WithBytes(
      Check("cuMemHostAlloc", cu_.MemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE)), bytes);
  if (!status.ok()) return status;
  return memory;
}

// --- streams and events --------------------------------------------------------------------------

absl::StatusOr<CudaStream> RealDriver::CreateStream(bool urgent) {
  int lowest = 0;
  int highest = 0;
  absl::Status status =
      Check("cuCtxGetStreamPriorityRange", cu_.CtxGetStreamPriorityRange(&lowest, &highest));
  if (!status.ok()) return status;
  CUstream stream = nullptr;
  status = Check(
      "cuStreamCreateWithPriority",
      cu_.StreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, urgent ? highest : lowest));
  if (!status.ok()) return status;
  return stream;
}

absl::StatusOr<CudaEvent> RealDriver::CreateEvent(bool timed) {
  CUevent event = nullptr;
  const unsigned flags =
      CU_EVENT_BLOCKING_SYNC | (timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING);
  const absl::Status status = Check("cuEventCreate", cu_.EventCreate(&event, flags));
  if (!status.ok()) return status;
  return event;
}

// By an event, since whether cuStreamSynchronize sleeps is for the context's flags to say.
absl::Status RealDriver::SynchronizeStream(CudaStream stream) {
  const absl::StatusOr<CudaEvent> event = CreateEvent(/*timed=*/false);
  if (!event.ok()) return event.status();
  absl::Status status = RecordEvent(*event, stream);
  if (status.ok()) status = SynchronizeEvent(*event);
  static_cast<void>(DestroyEvent(*event));
  return status;
}

absl::StatusOr<float> RealDriver::ElapsedMs(CudaEvent begin, CudaEvent end) {
  float ms = 0;
  const absl::Status status = Check("cuEventElapsedTime", cu_.EventElapsedTime(&ms, begin, end));
  if (!status.ok()) return status;
  return ms;
}

// --- kernels -------------------------------------------------------------------------------------

absl::StatusOr<CudaModule> RealDriver::LoadModule(std::span<const char> image) {
  std::array<char, 2048> said{};
  std::array<CUjit_option, 2> options = {CU_JIT_ERROR_LOG_BUFFER,
                                         CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void*, 2> values = {said.data(), reinterpret_cast<void*>(said.size())};
  CUmodule module = nullptr;
  const absl::Status status =
      Check("cuModuleLoadDataEx",
            cu_.ModuleLoadDataEx(&module, image.data(), static_cast<unsigned>(options.size()),
                                 options.data(), values.data()));
  if (status.ok()) return module;
  if (said[0] == '\0') return status;
  return absl::Status(status.code(),
                      absl::StrCat(std::string(status.message()), "; ", std::string(said.data())));
}

absl::StatusOr<CudaKernel> RealDriver::FindKernel(CudaModule module, const std::string& name) {
  CUfunction kernel = nullptr;
  const absl::Status status = Check(absl::StrCat("cuModuleGetFunction(", name, ")"),
                                    cu_.ModuleGetFunction(&kernel, module, name.c_str()));
  if (!status.ok()) return status;
  return kernel;
}

// --- finding it ----------------------------------------------------------------------------------

// One object for the process, never unloaded: contexts and streams may outlive everything of ours.
struct Opened {
  Mutex mutex;
  RealDriver* driver ABSL_GUARDED_BY(mutex) = nullptr;
  bool initialised ABSL_GUARDED_BY(mutex) = false;
};

Opened& TheOpened() {
  static Opened* const opened = new Opened;
  return *opened;
}

absl::Status Find(Opened& opened, int flags) ABSL_EXCLUSIVE_LOCKS_REQUIRED(opened.mutex) {
  if (opened.driver != nullptr) return absl::OkStatus();
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | flags);
  if (library == nullptr) {
    const char* const why = dlerror();
    return absl::UnavailableError(
        absl::StrCat("NVIDIA's driver is not there (", why != nullptr ? why : "libcuda.so.1",
                     "); install it, or run the container with the GPUs"));
  }
  const absl::StatusOr<LibCuda> calls = FindCalls(library);
  if (!calls.ok()) return calls.status();
  opened.driver = new RealDriver(*calls);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CudaDriver*> OpenCudaDriver() {
  Opened& opened = TheOpened();
  MutexLock lock(opened.mutex);
  absl::Status status = Find(opened, /*flags=*/0);
  if (!status.ok()) return status;
  if (!opened.initialised) status = opened.driver->Init();
  if (!status.ok()) return status;
  if (const int version = opened.driver->Version(); version < kOldestVersion) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "NVIDIA's driver offers CUDA %d.%d, which is too old; install one that offers 12.0 or "
        "newer (525 or newer)",
        version / 1000, version % 1000 / 10));
  }
  opened.initialised = true;
  return opened.driver;
}

CudaDriver* LoadedCudaDriver() {
  Opened& opened = TheOpened();
  MutexLock lock(opened.mutex);
  return Find(opened, RTLD_NOLOAD).ok() ? opened.driver : nullptr;
}

bool BuiltWithCuda() { return true; }

}  // namespace tensorhub::agent
