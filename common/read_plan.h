// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Reads between shardings that differ: which source shards a reader shard needs (the hub asks, when
// a group joins), and which bytes come from where (the reader's agent asks). Pure functions of the
// shardings, in which both come to the same answer. Each byte of a reader's byte space comes from
// one source shard.
//
// No casts, no transposes: dtypes and global shapes must agree. Tensors that no reader wants are
// left out. Slices of several source shards may be equal or overlap (replicated tensors); what is
// held several times comes from one of those that the reader needs anyway, if there is one.

#ifndef TENSORHUB_COMMON_READ_PLAN_H_
#define TENSORHUB_COMMON_READ_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/read_stream.h"
#include "common/sharding.h"

namespace tensorhub {

struct ReadNeed {
  uint32_t shard = 0;  // of the source sharding
  uint64_t bytes = 0;
  uint32_t share = 0;  // of the reader's bytes, in 1/1024, rounded, at least 1
  bool operator==(const ReadNeed&) const = default;
};

struct Coverage {
  // Needs by reader shard; by source shard, ascending. A shard of no bytes has none.
  std::vector<std::vector<ReadNeed>> needs;
  // The reader sharding's slices together are all of the source sharding's: what is read can be
  // read on in the source's place.
  bool full = false;
  // What they lack, for people, if they are not: '"a", "b" and 3 more'.
  std::string missing;
};

// FAILED_PRECONDITION, naming up to ten tensors: a dtype or a global shape that differs, something
// wanted that nobody holds, runs that begin within a byte, slices of one source that a reader would
// meet in another order than the source's (several boxes of one tensor side by side). Likewise,
// with the numbers: more streams for a shard than kReadStreamsMax, a plan of more than
// kReadItemsMax, layouts so contrived that looking at them takes more steps than PlanSteps has.
// What nobody wants a byte of is not looked at.
absl::StatusOr<Coverage> CheckCover(const Sharding& source, const Sharding& reader);

struct ReadPlan {
  struct Stream {
    uint32_t shard = 0;  // of the source sharding
    ReadStream copies;
  };
  std::vector<Stream> streams;  // by source shard, ascending; none without bytes
  uint64_t reader_bytes = 0;
  uint64_t items = 0;
};

// For one shard of the reader sharding; `reader` may lack all others. `source` is made of the
// shards that CheckCover named for it: the streams are those then, with the same bytes. With more
// shards the plan is as right, but may bring others in. Errors as above.
absl::StatusOr<ReadPlan> PlanRead(const Sharding& source, const Sharding& reader,
                                  uint32_t reader_shard);

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_READ_PLAN_H_
