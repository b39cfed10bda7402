// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What UCX is linked with and this driver cannot do: the virtual memory interface, stream-ordered
// pools, managed memory. Without the driver's header, since the parameters do not matter.

#define TENSORHUB_REFUSED(name) \
  int name();                   \
  int name() { return kNotSupported; }

namespace {

constexpr int kNotSupported = 801;  // CUDA_ERROR_NOT_SUPPORTED

}  // namespace

extern "C" {

TENSORHUB_REFUSED(cuMemAddressFree)
TENSORHUB_REFUSED(cuMemAddressReserve)
TENSORHUB_REFUSED(cuMemAllocManaged)
TENSORHUB_REFUSED(cuMemCreate)
TENSORHUB_REFUSED(cuMemExportToShareableHandle)
TENSORHUB_REFUSED(cuMemGetAllocationGranularity)
TENSORHUB_REFUSED(cuMemGetAllocationPropertiesFromHandle)
TENSORHUB_REFUSED(cuMemImportFromShareableHandle)
TENSORHUB_REFUSED(cuMemMap)
TENSORHUB_REFUSED(cuMemPoolDestroy)
TENSORHUB_REFUSED(cuMemPoolExportPointer)
TENSORHUB_REFUSED(cuMemPoolExportToShareableHandle)
TENSORHUB_REFUSED(cuMemPoolImportFromShareableHandle)
TENSORHUB_REFUSED(cuMemPoolImportPointer)
TENSORHUB_REFUSED(cuMemPoolSetAccess)
TENSORHUB_REFUSED(cuMemRangeGetAttribute)
TENSORHUB_REFUSED(cuMemRelease)
TENSORHUB_REFUSED(cuMemRetainAllocationHandle)
TENSORHUB_REFUSED(cuMemSetAccess)
TENSORHUB_REFUSED(cuMemUnmap)

}  // extern "C"
