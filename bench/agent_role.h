// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One worker of the measured transfer, as a user would write it: a tensorhub::Client in a process
// of its own. Commands: `publish version=N` (answers ms, and message: bytes sent to the hub
// meanwhile), `unpublish` (ms), `fetch version=N` (seconds, way, sources, end: on the machine's
// steady clock), `scrub` (other bytes into the unpublished buffers), `echo` (ms: the median of
// empty calls to the hub), `stall version=N` (ms by which publishing held up other work of the
// tensors' GPU), `digest`, `stat` (growth of resident memory in bytes, CPU seconds so far).

#ifndef TENSORHUB_BENCH_AGENT_ROLE_H_
#define TENSORHUB_BENCH_AGENT_ROLE_H_

#include "tools/child/child.h"

namespace tensorhub::bench {

// Arguments: server, group, bytes, tensors, source=0|1 (fills its buffers), allocate=0|1 (tensors
// in memory of tensorhub::Client::Allocate), mapped (bytes of a peer's tensors that count into our
// resident memory once they were read); optionally location, device (the GPU in whose memory the
// tensors are; without it, or -1: the host's), and timeline: a file to which the
// progress of fetches goes, "SECONDS BYTES SOURCE" a line.
int RunAgent(const Fields& args);

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_AGENT_ROLE_H_
