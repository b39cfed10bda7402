// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the driver knows of an address.

#include <cstring>

#include "tests/standin_driver/standin.h"

using tensorhub::agent::CudaMemoryKind;
using tensorhub::agent::CudaPointer;
using tensorhub::standin::Address;
using tensorhub::standin::FakeDriver;
using tensorhub::standin::ResultOf;
using tensorhub::standin::TheDriver;

namespace {

CUmemorytype TypeOf(const CudaPointer& found) {
  switch (found.kind) {
    case CudaMemoryKind::kUnknown:
      return static_cast<CUmemorytype>(0);
    case CudaMemoryKind::kHost:
      return CU_MEMORYTYPE_HOST;
    default:
      return CU_MEMORYTYPE_DEVICE;
  }
}

template <typename T>
bool Put(void* to, T value) {
  std::memcpy(to, &value, sizeof(value));
  return true;
}

// False for an attribute that this driver does not know.
bool PutAttribute(const CudaPointer& found, CUpointer_attribute attribute, void* to) {
  const bool known = found.kind != CudaMemoryKind::kUnknown;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return Put(to, TypeOf(found));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return Put<unsigned>(to, found.kind == CudaMemoryKind::kManaged);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return Put<int>(to, known ? found.device : -2);
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return Put(to, known ? FakeDriver::ContextOf(found.device) : nullptr);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return Put(to, static_cast<CUdeviceptr>(found.begin));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return Put(to, static_cast<size_t>(found.bytes));
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return Put(to, static_cast<unsigned long long>(found.allocation_id));
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return Put<int>(to, found.legacy_ipc);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return Put<uint64_t>(to, 0);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return Put<CUmemoryPool>(to, nullptr);
    default:
      return false;
  }
}

}  // namespace

extern "C" {

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values,
                                CUdeviceptr pointer) {
  const auto found = TheDriver().Lookup(Address(pointer));
  for (unsigned i = 0; found.ok() && i < count; ++i) {
    if (!PutAttribute(*found, attributes[i], values[i])) return CUDA_ERROR_INVALID_VALUE;
  }
  return ResultOf(found.status());
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  const auto found = TheDriver().Lookup(Address(pointer));
  if (found.ok() && found->kind == CudaMemoryKind::kUnknown) return CUDA_ERROR_INVALID_VALUE;
  return cuPointerGetAttributes(1, &attribute, &value, pointer);
}

CUresult cuPointerSetAttribute(const void* /*value*/, CUpointer_attribute /*attribute*/,
                               CUdeviceptr /*pointer*/) {
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* begin, size_t* bytes, CUdeviceptr pointer) {
  const auto found = TheDriver().Lookup(Address(pointer));
  if (found.ok() && found->kind != CudaMemoryKind::kDevice) return CUDA_ERROR_NOT_FOUND;
  if (found.ok() && begin != nullptr) *begin = found->begin;
  if (found.ok() && bytes != nullptr) *bytes = found->bytes;
  return ResultOf(found.status());
}

}  // extern "C"
