// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The limit of the served way: bare UCX active messages doing the same operation on one buffer,
// with the agent's own settings. The reader raises a credit by half a window at a time; the source
// sends eager frames up to it, as many ahead of their completion as the agent does; the reader
// copies each frame to its place. No hub, no checks, no confirmations, one piece per frame.
//
// Commands of the role: `connect address=HEX`, `serve` (a round, as the source), `read` (a round,
// as the reader; answers seconds), `digest`.

#ifndef TENSORHUB_BENCH_BARE_MESSAGES_H_
#define TENSORHUB_BENCH_BARE_MESSAGES_H_

#include "tools/child/child.h"

namespace tensorhub::bench {

int RunBareMessages(const Fields& args);

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_BARE_MESSAGES_H_
