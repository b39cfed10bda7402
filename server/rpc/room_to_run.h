// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whether the limits of this process let a server run. gRPC 1.51 does not look: where it gets no
// thread it waits for ever or aborts, and where it gets no memory it aborts without a word.

#ifndef TENSORHUB_SERVER_RPC_ROOM_TO_RUN_H_
#define TENSORHUB_SERVER_RPC_ROOM_TO_RUN_H_

#include <cstdint>

#include "absl/status/status.h"

namespace tensorhub::rpc {

// Starts and ends as many threads as a server has at its start, and takes and gives back address
// space. RESOURCE_EXHAUSTED, with the limits that are to be raised. Before gRPC and other threads.
absl::Status CheckRoomToRun();

// As the process is allowed (ulimit -v), or the largest number there is.
uint64_t AddressBytesMax();

// From now on, whoever gets no memory ends the process with exit code 1 and one line. Where address
// space is limited, so does what aborts, which gRPC does then.
void EndWithAWordIfMemoryEnds();

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_ROOM_TO_RUN_H_
