// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What each of our programs does first.

#ifndef TENSORHUB_COMMON_CLI_PROGRAM_H_
#define TENSORHUB_COMMON_CLI_PROGRAM_H_

namespace tensorhub::cli {

// For the whole process: first thing in main, before any thread and any open file.
// - Standard streams that the program was started without are /dev/null (common/descriptors.h).
// - Locks are not tracked. Debian's abseil is a debug build in one respect: each lock of an
//   absl::Mutex, and gRPC's are such, enters a graph of which lock was taken under which
//   (absl/synchronization/mutex.h, SetMutexDeadlockDetectionMode). That is an eighth of a busy
//   server's time.
void StartProgram();

}  // namespace tensorhub::cli

#endif  // TENSORHUB_COMMON_CLI_PROGRAM_H_
