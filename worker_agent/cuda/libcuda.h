// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// libcuda.so.1 as a table of its functions, found at run time. A name ends in _v2 where the
// driver's ABI has a second version of the call, which every driver that is new enough exports.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_LIBCUDA_H_
#define TENSORHUB_WORKER_AGENT_CUDA_LIBCUDA_H_

#include <cuda.h>

#include <cstddef>

#include "absl/status/statusor.h"

namespace tensorhub::agent {

// (member, symbol, parameters). All return CUresult.
#define TENSORHUB_LIBCUDA_CALLS(CALL)                                                       \
  CALL(Init, "cuInit", (unsigned))                                                          \
  CALL(DriverGetVersion, "cuDriverGetVersion", (int*))                                      \
  CALL(GetErrorName, "cuGetErrorName", (CUresult, const char**))                            \
  CALL(GetErrorString, "cuGetErrorString", (CUresult, const char**))                        \
  CALL(DeviceGetCount, "cuDeviceGetCount", (int*))                                          \
  CALL(DeviceGet, "cuDeviceGet", (CUdevice*, int))                                          \
  CALL(DeviceGetName, "cuDeviceGetName", (char*, int, CUdevice))                            \
  CALL(DeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char*, int, CUdevice))                    \
  CALL(DeviceGetAttribute, "cuDeviceGetAttribute", (int*, CUdevice_attribute, CUdevice))    \
  CALL(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t*, CUdevice))                          \
  CALL(DeviceCanAccessPeer, "cuDeviceCanAccessPeer", (int*, CUdevice, CUdevice))            \
  CALL(PointerGetAttributes, "cuPointerGetAttributes",                                      \
       (unsigned, CUpointer_attribute*, void**, CUdeviceptr))                               \
  CALL(MemGetAddressRange, "cuMemGetAddressRange_v2", (CUdeviceptr*, size_t*, CUdeviceptr)) \
  CALL(IpcGetMemHandle, "cuIpcGetMemHandle", (CUipcMemHandle*, CUdeviceptr))                \
  CALL(IpcOpenMemHandle, "cuIpcOpenMemHandle_v2", (CUdeviceptr*, CUipcMemHandle, unsigned)) \
  CALL(IpcCloseMemHandle, "cuIpcCloseMemHandle", (CUdeviceptr))                             \
  CALL(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext*, CUdevice))          \
  CALL(DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice))                 \
  CALL(CtxPushCurrent, "cuCtxPushCurrent_v2", (CUcontext))                                  \
  CALL(CtxPopCurrent, "cuCtxPopCurrent_v2", (CUcontext*))                                   \
  CALL(ThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode",                \
       (CUstreamCaptureMode*))                                                              \
  CALL(CtxEnablePeerAccess, "cuCtxEnablePeerAccess", (CUcontext, unsigned))                 \
  CALL(CtxGetStreamPriorityRange, "cuCtxGetStreamPriorityRange", (int*, int*))              \
  CALL(MemAlloc, "cuMemAlloc_v2", (CUdeviceptr*, size_t))                                   \
  CALL(MemFree, "cuMemFree_v2", (CUdeviceptr))                                              \
  CALL(MemGetInfo, "cuMemGetInfo_v2", (size_t*, size_t*))                                   \
  CALL(MemHostAlloc, "cuMemHostAlloc", (void**, size_t, unsigned))                          \
  CALL(MemFreeHost, "cuMemFreeHost", (void*))                                               \
  CALL(MemHostRegister, "cuMemHostRegister_v2", (void*, size_t, unsigned))                  \
  CALL(MemHostUnregister, "cuMemHostUnregister", (void*))                                   \
  CALL(MemcpyAsync, "cuMemcpyAsync", (CUdeviceptr, CUdeviceptr, size_t, CUstream))          \
  CALL(MemsetD8Async, "cuMemsetD8Async", (CUdeviceptr, unsigned char, size_t, CUstream))    \
  CALL(StreamCreateWithPriority, "cuStreamCreateWithPriority", (CUstream*, unsigned, int))  \
  CALL(StreamDestroy, "cuStreamDestroy_v2", (CUstream))                                     \
  CALL(StreamQuery, "cuStreamQuery", (CUstream))                                            \
  CALL(StreamSynchronize, "cuStreamSynchronize", (CUstream))                                \
  CALL(StreamWaitEvent, "cuStreamWaitEvent", (CUstream, CUevent, unsigned))                 \
  CALL(EventCreate, "cuEventCreate", (CUevent*, unsigned))                                  \
  CALL(EventDestroy, "cuEventDestroy_v2", (CUevent))                                        \
  CALL(EventRecord, "cuEventRecord", (CUevent, CUstream))                                   \
  CALL(EventQuery, "cuEventQuery", (CUevent))                                               \
  CALL(EventSynchronize, "cuEventSynchronize", (CUevent))                                   \
  CALL(EventElapsedTime, "cuEventElapsedTime", (float*, CUevent, CUevent))                  \
  CALL(FlushGPUDirectRDMAWrites, "cuFlushGPUDirectRDMAWrites",                              \
       (CUflushGPUDirectRDMAWritesTarget, CUflushGPUDirectRDMAWritesScope))                 \
  CALL(ModuleLoadDataEx, "cuModuleLoadDataEx",                                              \
       (CUmodule*, const void*, unsigned, CUjit_option*, void**))                           \
  CALL(ModuleUnload, "cuModuleUnload", (CUmodule))                                          \
  CALL(ModuleGetFunction, "cuModuleGetFunction", (CUfunction*, CUmodule, const char*))      \
  CALL(LaunchKernel, "cuLaunchKernel",                                                      \
       (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
        CUstream, void**, void**))

struct LibCuda {
#define TENSORHUB_LIBCUDA_MEMBER(member, symbol, parameters) CUresult(*member) parameters = nullptr;
  TENSORHUB_LIBCUDA_CALLS(TENSORHUB_LIBCUDA_MEMBER)
#undef TENSORHUB_LIBCUDA_MEMBER
};

// `library` is a handle of dlopen. FAILED_PRECONDITION names a call that it lacks.
absl::StatusOr<LibCuda> FindCalls(void* library);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CUDA_LIBCUDA_H_
