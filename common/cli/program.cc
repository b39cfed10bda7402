// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/cli/program.h"

#include "absl/synchronization/mutex.h"
#include "common/descriptors.h"

namespace tensorhub::cli {
namespace {

// gRPC opens descriptors while it is loaded, and so before main; this comes before that. Sanitizers
// are not ready for it.
#ifndef TENSORHUB_SANITIZED
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const kBeforeLibraries)() = &OccupyStandardStreams;
#endif

}  // namespace

void StartProgram() {
  OccupyStandardStreams();
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace tensorhub::cli
