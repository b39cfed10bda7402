// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Debian's abseil is a debug build in one respect: each lock of an absl::Mutex, and gRPC's are
// such, enters a graph of which lock was taken under which (absl/synchronization/mutex.h,
// SetMutexDeadlockDetectionMode). That is an eighth of a busy server's time.

#ifndef TENSORHUB_COMMON_CLI_LOCK_TRACKING_H_
#define TENSORHUB_COMMON_CLI_LOCK_TRACKING_H_

namespace tensorhub::cli {

// Ends it, for the whole process: for programs, in main and before any thread, not for libraries.
void StopLockTracking();

}  // namespace tensorhub::cli

#endif  // TENSORHUB_COMMON_CLI_LOCK_TRACKING_H_
