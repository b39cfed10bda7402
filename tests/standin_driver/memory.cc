// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Memory of devices and of the host, also of other processes.

#include <string_view>

#include "tests/standin_driver/standin.h"

using tensorhub::standin::Address;
using tensorhub::standin::Pointer;
using tensorhub::standin::ResultOf;
using tensorhub::standin::TheDriver;

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
  const auto name = TheDriver().NameAllocation(Address(pointer));
  if (name.ok()) name->copy(handle->reserved, sizeof(handle->reserved));
  return ResultOf(name.status());
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned /*flags*/) {
  const auto memory =
      TheDriver().MapNamed(std::string_view(handle.reserved, sizeof(handle.reserved)));
  if (memory.ok()) *pointer = Pointer(*memory);
  return ResultOf(memory.status());
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) {
  return ResultOf(TheDriver().UnmapNamed(Address(pointer)));
}

}  // extern "C"
