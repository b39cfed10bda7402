// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/libcuda.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace tensorhub::agent {

absl::StatusOr<LibCuda> FindCalls(void* library) {
  LibCuda calls;
  const char* missing = nullptr;
#define TENSORHUB_LIBCUDA_FIND(member, symbol, parameters)                         \
  calls.member = reinterpret_cast<decltype(calls.member)>(dlsym(library, symbol)); \
  if (calls.member == nullptr) missing = symbol;
  TENSORHUB_LIBCUDA_CALLS(TENSORHUB_LIBCUDA_FIND)
#undef TENSORHUB_LIBCUDA_FIND
  if (missing == nullptr) return calls;
  return absl::FailedPreconditionError(
      absl::StrCat("NVIDIA's driver is too old: its libcuda.so.1 has no ", missing,
                   "; install one that offers CUDA 12.0 or newer (525 or newer)"));
}

}  // namespace tensorhub::agent
