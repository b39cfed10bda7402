// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One rank of a group that holds a model cut in some way: a tensorhub::Client in a process of its
// own, with slices. What an element holds follows from its place in the whole model, so that each
// rank of any cut can tell whether it has the right ones. Commands: `publish version=N`,
// `unpublish`, `fetch version=N` (seconds, end: on the machine's steady clock, way, sources, read:
// bytes), `scrub` (other bytes into the unpublished buffers), `verify version=N` (DATA_LOSS names a
// tensor). Says `bytes` when it is ready.

#ifndef TENSORHUB_BENCH_SHARD_ROLE_H_
#define TENSORHUB_BENCH_SHARD_ROLE_H_

#include "tools/child/child.h"

namespace tensorhub::bench {

// Arguments: server, model, group, rank, world, location, cut (ToString of Cut), shape and layers
// (ModelOfShape), allocate=0|1 (slices in memory of tensorhub::Client::Allocate).
int RunShard(const Fields& args);

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_SHARD_ROLE_H_
