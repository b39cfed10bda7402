// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Finding libcuda. One driver for the process, never unloaded: contexts and streams may outlive
// everything of ours.

#include "worker_agent/cuda/driver.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/mutex.h"
#include "worker_agent/cuda/libcuda.h"
#include "worker_agent/cuda/real_driver.h"

namespace tensorhub::agent {
namespace {

constexpr int kOldestVersion = 12000;

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
