// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Work in streams: copies, events, callbacks, kernels.

#include <span>

#include "tests/standin_driver/standin.h"

using tensorhub::standin::Address;
using tensorhub::standin::Give;
using tensorhub::standin::ResultOf;
using tensorhub::standin::TheDriver;

namespace {

CUresult Done(const absl::StatusOr<bool>& done) {
  if (!done.ok()) return ResultOf(done.status());
  return *done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

}  // namespace

extern "C" {

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return ResultOf(TheDriver().CopyAsync(Address(to), Address(from), bytes, stream));
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return cuMemcpyAsync(to, from, bytes, stream);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  const absl::Status status = TheDriver().CopyAsync(Address(to), from, bytes, nullptr);
  return ResultOf(status.ok() ? TheDriver().SynchronizeStream(nullptr) : status);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  return ResultOf(TheDriver().FillAsync(Address(to), value, bytes, stream));
}

CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget /*target*/,
                                    CUflushGPUDirectRDMAWritesScope /*scope*/) {
  return ResultOf(TheDriver().FlushRemoteWrites());
}

CUresult cuStreamCreate(CUstream* stream, unsigned /*flags*/) {
  return Give(TheDriver().CreateStream(/*urgent=*/false), stream);
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned /*flags*/, int priority) {
  return Give(TheDriver().CreateStream(priority < 0), stream);
}

CUresult cuStreamDestroy_v2(CUstream stream) { return ResultOf(TheDriver().DestroyStream(stream)); }

CUresult cuStreamQuery(CUstream stream) { return Done(TheDriver().StreamDone(stream)); }

CUresult cuStreamSynchronize(CUstream stream) {
  return ResultOf(TheDriver().SynchronizeStream(stream));
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned /*flags*/) {
  return ResultOf(TheDriver().WaitEvent(stream, event));
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* argument,
                             unsigned /*flags*/) {
  TheDriver().Enqueue(stream, [=] { callback(stream, CUDA_SUCCESS, argument); });
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned /*flags*/) {
  return Give(TheDriver().CreateEvent(/*timed=*/true), event);
}

CUresult cuEventDestroy_v2(CUevent event) { return ResultOf(TheDriver().DestroyEvent(event)); }

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return ResultOf(TheDriver().RecordEvent(event, stream));
}

CUresult cuEventQuery(CUevent event) { return Done(TheDriver().EventDone(event)); }

CUresult cuEventSynchronize(CUevent event) { return ResultOf(TheDriver().SynchronizeEvent(event)); }

// The name of before CUDA 12.8, which our programs ask for; newer headers rename it.
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float* ms, CUevent begin, CUevent end);
CUresult cuEventElapsedTime(float* ms, CUevent begin, CUevent end) {
  return Give(TheDriver().ElapsedMs(begin, end), ms);
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* /*image*/, unsigned /*options*/,
                            CUjit_option* /*which*/, void** /*values*/) {
  return Give(TheDriver().LoadModule({}), module);
}

CUresult cuModuleUnload(CUmodule module) { return ResultOf(TheDriver().UnloadModule(module)); }

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return Give(TheDriver().FindKernel(module, name), function);
}

CUresult cuLaunchKernel(CUfunction function, unsigned blocks_x, unsigned blocks_y,
                        unsigned /*blocks_z*/, unsigned threads, unsigned /*threads_y*/,
                        unsigned /*threads_z*/, unsigned shared_bytes, CUstream stream,
                        void** arguments, void** /*extra*/) {
  constexpr size_t kMostArguments = 3;  // of the kernels that there are
  const tensorhub::agent::CudaGrid grid{
      .blocks_x = blocks_x, .blocks_y = blocks_y, .threads = threads, .shared_bytes = shared_bytes};
  return ResultOf(
      TheDriver().Launch(function, grid, stream, std::span<void*>(arguments, kMostArguments)));
}

}  // extern "C"
