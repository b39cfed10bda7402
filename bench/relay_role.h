// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A node of plain TCP sockets, without TensorHub and UCX: what strategies are compared with. It
// takes a block of bytes from one node and gives it to others, each part as soon as it is there
// (a static pipelined chain, or a star), or not before it has all (a store).
//
// Answers its start with port=N. Commands: `run downstreams=N whole=0|1 [upstream=ADDRESS:PORT]`
// takes N connections and moves one block; answers start and end (of what it took; what it gave, if
// it has no upstream), on the machine's steady clock. `digest`, `scrub`, `stat` as an agent's.

#ifndef TENSORHUB_BENCH_RELAY_ROLE_H_
#define TENSORHUB_BENCH_RELAY_ROLE_H_

#include "tools/child/child.h"

namespace tensorhub::bench {

// Arguments: bytes, source=0|1 (fills its block), address (to listen on).
int RunRelay(const Fields& args);

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_RELAY_ROLE_H_
