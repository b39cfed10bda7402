// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/cli/program.h"

#include <cstdlib>

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

// Names are looked up as the system does: gRPC reads this when it starts (common/grpc_names.h).
void StartProgram() {
  OccupyStandardStreams();
  setenv("GRPC_DNS_RESOLVER", "native", /*overwrite=*/0);
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace tensorhub::cli
