// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One worker that publishes and nobody reads: a tensorhub::Client in a process of its own, and
// beside it empty calls to the same server. Between commands nothing is published. Commands:
//   `first`            a new client, its Register and first Publish; and the bare call that carries
//                      a layout of that size. Answers first_us, register_us, put_us, layout_bytes
//   `cycles count=N`   an empty call, a Publish and an Unpublish, in turns. Answers the medians:
//                      echo_us, publish_us, unpublish_us, message_bytes
//   `rate kind=publish|echo seconds=S`   as many as it can; a publish includes its unpublish.
//                      Answers rate, per second
//   `join mib=N rounds=R`   publishes what another group holds (join_cost.h). Answers the medians:
//                      join_us, hash_us

#ifndef TENSORHUB_BENCH_PUBLISHER_ROLE_H_
#define TENSORHUB_BENCH_PUBLISHER_ROLE_H_

#include "tools/child/child.h"

namespace tensorhub::bench {

// Arguments: server, name (unique in the hub), tensors.
int RunPublisher(const Fields& args);

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_PUBLISHER_ROLE_H_
