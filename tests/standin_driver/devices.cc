// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The driver itself, its devices and their contexts.

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "tests/standin_driver/standin.h"

using tensorhub::standin::FakeDriver;
using tensorhub::standin::ResultOf;
using tensorhub::standin::TheDriver;
using tensorhub::standin::TheSettings;

namespace {

constexpr std::array<std::pair<CUresult, const char*>, 6> kNames = {{
    {CUDA_SUCCESS, "CUDA_SUCCESS"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED"},
}};

bool Known(int device) { return device >= 0 && device < TheSettings().devices; }

// What is asked for and not here is not on the device.
int AttributeOf(CUdevice_attribute attribute, CUdevice device) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return 9;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 4;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      return device + 1;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED:
      return 1;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS:
      return CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST;
    default:
      return 0;
  }
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned /*flags*/) {
  TheDriver();
  return TheSettings().devices > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult cuDriverGetVersion(int* version) {
  *version = TheDriver().Version();
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  const auto* const found =
      std::find_if(kNames.begin(), kNames.end(), [&](const auto& at) { return at.first == error; });
  *name = found == kNames.end() ? "CUDA_ERROR_UNKNOWN" : found->second;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) { return cuGetErrorName(error, text); }

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int /*version*/,
                             cuuint64_t /*flags*/, CUdriverProcAddressQueryResult* result) {
  static void* const self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  *function = self == nullptr ? nullptr : dlsym(self, symbol);
  if (result != nullptr) {
    *result =
        *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuDeviceGetCount(int* count) {
  *count = TheSettings().devices;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (!Known(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  if (!Known(device)) return CUDA_ERROR_INVALID_DEVICE;
  snprintf(name, static_cast<size_t>(bytes), "Stand-in for a GPU");
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* id, int bytes, CUdevice device) {
  if (!Known(device)) return CUDA_ERROR_INVALID_DEVICE;
  snprintf(id, static_cast<size_t>(bytes), "0000:%02x:00.0", device + 1);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  if (!Known(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::memset(uuid->bytes, device + 1, sizeof(uuid->bytes));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (!Known(device)) return CUDA_ERROR_INVALID_DEVICE;
  *value = AttributeOf(attribute, device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  if (!Known(device)) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = TheSettings().memory_bytes;
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  *can = Known(device) && Known(peer) && device != peer;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return tensorhub::standin::Give(TheDriver().RetainPrimary(device), context);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return ResultOf(TheDriver().ReleasePrimary(device));
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  *flags = 0;
  *active = TheDriver().IsRetained(device);
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  return ResultOf(TheDriver().PushCurrent(context));
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  CUcontext const current = FakeDriver::CurrentContext();
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr) *context = current;
  return ResultOf(TheDriver().PopCurrent());
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = FakeDriver::CurrentContext();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  CUcontext const current = FakeDriver::CurrentContext();
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = FakeDriver::DeviceOf(current);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  CUcontext const wanted = context != nullptr ? context : FakeDriver::CurrentContext();
  if (wanted == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *id = static_cast<unsigned long long>(FakeDriver::DeviceOf(wanted)) + 1;
  return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  const auto wanted = static_cast<tensorhub::agent::CaptureMode>(*mode);
  const auto before = TheDriver().ExchangeCaptureMode(wanted);
  if (before.ok()) *mode = static_cast<CUstreamCaptureMode>(*before);
  return ResultOf(before.status());
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned /*flags*/) {
  return ResultOf(TheDriver().EnablePeer(peer));
}

CUresult cuCtxGetStreamPriorityRange(int* lowest, int* highest) {
  *lowest = 0;
  *highest = -5;
  return CUDA_SUCCESS;
}

}  // extern "C"
