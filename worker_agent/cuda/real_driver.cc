// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/real_driver.h"

#include <cuda.h>

#include <array>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "worker_agent/cuda/driver_status.h"

namespace tensorhub::agent {

absl::Status RealDriver::Init() {
  const absl::Status status = Check("cuInit", cu_.Init(0));
  if (status.ok()) return Check("cuDriverGetVersion", cu_.DriverGetVersion(&version_));
  if (!absl::IsUnavailable(status)) return status;
  return absl::UnavailableError(
      absl::StrCat(std::string(status.message()),
                   "; the driver offers this process no GPU (is CUDA_VISIBLE_DEVICES empty, or the "
                   "container run without the GPUs?)"));
}

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

namespace {

CudaDevice::WritesOrdering OrderingOf(int attribute) {
  if (attribute >= CU_GPU_DIRECT_RDMA_WRITES_ORDERING_ALL_DEVICES) {
    return CudaDevice::WritesOrdering::kAllDevices;
  }
  return attribute >= CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER ? CudaDevice::WritesOrdering::kOwner
                                                               : CudaDevice::WritesOrdering::kNone;
}

}  // namespace

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

absl::Status RealDriver::EnablePeer(CudaContext peer) {
  const CUresult result = cu_.CtxEnablePeerAccess(peer, 0);
  if (result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) return absl::OkStatus();
  return Check("cuCtxEnablePeerAccess", result);
}

// --- pointers ------------------------------------------------------------------------------------

namespace {

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
};

CudaMemoryKind KindOf(const Attributes& found) {
  if (found.managed != 0) return CudaMemoryKind::kManaged;
  if (found.type == CU_MEMORYTYPE_DEVICE) return CudaMemoryKind::kDevice;
  return found.type == CU_MEMORYTYPE_HOST ? CudaMemoryKind::kHost : CudaMemoryKind::kUnknown;
}

}  // namespace

absl::StatusOr<CudaPointer> RealDriver::Lookup(const void* address) {
  Attributes found;
  // No others than cuPointerGetAttributes is documented to take: for the rest it may fail.
  std::array<CUpointer_attribute, 8> which = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
      CU_POINTER_ATTRIBUTE_IS_MANAGED,
      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
      CU_POINTER_ATTRIBUTE_RANGE_SIZE,
      CU_POINTER_ATTRIBUTE_BUFFER_ID,
      CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
      CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
  };
  std::array<void*, 8> where = {&found.type,  &found.managed, &found.device,     &found.begin,
                                &found.bytes, &found.id,      &found.legacy_ipc, &found.pool};
  const CUresult result = cu_.PointerGetAttributes(
      static_cast<unsigned>(which.size()), which.data(), where.data(), DevicePointer(address));
  // Nobody has used the driver in this process, so that there is no memory of a device; or no
  // context knows the address.
  const bool unknown = result == CUDA_ERROR_NOT_INITIALIZED || result == CUDA_ERROR_INVALID_CONTEXT;
  if (unknown) return CudaPointer{};
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
  if (out.kind == CudaMemoryKind::kDevice && !out.legacy_ipc) NarrowToMapped(address, out);
  return out;
}

// Attributes of virtual memory say how much is reserved, parts of which may not be mapped.
void RealDriver::NarrowToMapped(const void* address, CudaPointer& pointer) {
  CUdeviceptr begin = 0;
  size_t bytes = 0;
  if (cu_.MemGetAddressRange(&begin, &bytes, DevicePointer(address)) != CUDA_SUCCESS) return;
  pointer.begin = begin;
  pointer.bytes = bytes;
}

absl::StatusOr<std::string> RealDriver::NameAllocation(const void* address) {
  CUipcMemHandle handle = {};
  const absl::Status status =
      Check("cuIpcGetMemHandle", cu_.IpcGetMemHandle(&handle, DevicePointer(address)));
  if (!status.ok()) return status;
  return std::string(handle.reserved, sizeof(handle.reserved));
}

absl::StatusOr<void*> RealDriver::MapNamed(std::string_view name) {
  CUipcMemHandle handle = {};
  if (name.size() != sizeof(handle.reserved)) {
    return absl::InvalidArgumentError("the name of an allocation has another length");
  }
  name.copy(handle.reserved, name.size());
  CUdeviceptr memory = 0;
  const absl::Status status =
      Check("cuIpcOpenMemHandle",
            cu_.IpcOpenMemHandle(&memory, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  if (!status.ok()) return status;
  return reinterpret_cast<void*>(memory);
}

// --- contexts and memory -------------------------------------------------------------------------

absl::StatusOr<CudaContext> RealDriver::RetainPrimary(int device) {
  CUcontext context = nullptr;
  const absl::Status status =
      Check("cuDevicePrimaryCtxRetain", cu_.DevicePrimaryCtxRetain(&context, device));
  if (!status.ok()) return status;
  return context;
}

absl::StatusOr<CaptureMode> RealDriver::ExchangeCaptureMode(CaptureMode mode) {
  static_assert(CU_STREAM_CAPTURE_MODE_GLOBAL == static_cast<int>(CaptureMode::kGlobal) &&
                CU_STREAM_CAPTURE_MODE_RELAXED == static_cast<int>(CaptureMode::kRelaxed));
  auto exchanged = static_cast<CUstreamCaptureMode>(mode);
  const absl::Status status =
      Check("cuThreadExchangeStreamCaptureMode", cu_.ThreadExchangeStreamCaptureMode(&exchanged));
  if (!status.ok()) return status;
  return static_cast<CaptureMode>(exchanged);
}

namespace {

absl::Status WithBytes(const absl::Status& status, uint64_t bytes) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(std::string(status.message()), " (", bytes, " bytes)"));
}

}  // namespace

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

// Waits by an event, since whether cuStreamSynchronize sleeps is for the context's flags to say.
// R4: it waits whatever becomes of the event.
absl::Status RealDriver::SynchronizeStream(CudaStream stream) {
  const absl::StatusOr<CudaEvent> event = CreateEvent(/*timed=*/false);
  absl::Status status = event.ok() ? RecordEvent(*event, stream) : event.status();
  status = status.ok() ? SynchronizeEvent(*event)
                       : Check("cuStreamSynchronize", cu_.StreamSynchronize(stream));
  if (event.ok()) static_cast<void>(DestroyEvent(*event));
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

}  // namespace tensorhub::agent
