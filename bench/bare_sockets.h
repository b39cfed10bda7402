// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The limit of the served way over TCP: one connection over loopback, frames with headers as long
// as the agent's, sent from one buffer and received straight into another, by calls that block.

#ifndef TENSORHUB_BENCH_BARE_SOCKETS_H_
#define TENSORHUB_BENCH_BARE_SOCKETS_H_

#include "tools/child/child.h"

namespace tensorhub::bench {

int RunBareSockets(const Fields& args);

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_BARE_SOCKETS_H_
