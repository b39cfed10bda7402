// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The limit of the one-sided way: bare `ucp_get_nbx` from shared memory that UCX allocated into one
// ordinary buffer, the agent's chunks, as many outstanding as its window holds, no control word.
// (From UCX 1.22 on, which has no such gets, copies from where UCX has mapped that memory.)
//
// Commands of the role: `connect address=HEX key=HEX base=N` (of the source), `serve` (answers at
// once: the source's CPU has no part in it), `read` (answers seconds), `digest`.

#ifndef TENSORHUB_BENCH_BARE_GETS_H_
#define TENSORHUB_BENCH_BARE_GETS_H_

#include "tools/child/child.h"

namespace tensorhub::bench {

int RunBareGets(const Fields& args);

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_BARE_GETS_H_
