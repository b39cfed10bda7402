// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Memory of devices and of the host, also of other processes.

#include <unistd.h>

#include <cstring>

#include "tests/standin_driver/standin.h"

using tensorhub::standin::Address;
using tensorhub::standin::FakeDriver;
using tensorhub::standin::Pointer;
using tensorhub::standin::ResultOf;
using tensorhub::standin::TheDriver;

static_assert(sizeof(FakeDriver::Exported) <= sizeof(CUipcMemHandle));

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  const auto memory = TheDriver().AllocateDevice(bytes);
  if (memory.ok()) *pointer = Pointer(*memory);
  return ResultOf(memory.status());
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  return ResultOf(TheDriver().FreeDevice(Address(pointer)));
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  *total = tensorhub::standin::TheSettings().memory_bytes;
  return tensorhub::standin::Give(TheDriver().FreeBytes(), free);
}

CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned /*flags*/) {
  return tensorhub::standin::Give(TheDriver().AllocateHost(bytes), memory);
}

CUresult cuMemFreeHost(void* memory) { return ResultOf(TheDriver().FreeHost(memory)); }

CUresult cuMemHostRegister_v2(void* memory, size_t bytes, unsigned /*flags*/) {
  return ResultOf(TheDriver().RegisterHost(memory, bytes));
}

CUresult cuMemHostUnregister(void* memory) { return ResultOf(TheDriver().UnregisterHost(memory)); }

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr pointer) {
  const auto exported = TheDriver().Export(Address(pointer));
  if (exported.ok()) std::memcpy(handle, &*exported, sizeof(*exported));
  return ResultOf(exported.status());
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned /*flags*/) {
  FakeDriver::Exported exported;
  std::memcpy(static_cast<void*>(&exported), &handle, sizeof(exported));
  if (exported.process == getpid() || FakeDriver::CurrentContext() == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  const auto memory = TheDriver().Import(exported);
  if (memory.ok()) *pointer = Pointer(*memory);
  return ResultOf(memory.status());
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) {
  return ResultOf(TheDriver().FreeDevice(Address(pointer)));
}

}  // extern "C"
