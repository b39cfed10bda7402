// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/cli/lock_tracking.h"

#include "absl/synchronization/mutex.h"

namespace tensorhub::cli {

void StopLockTracking() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }

}  // namespace tensorhub::cli
