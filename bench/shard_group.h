// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A group whose ranks hold a model cut in some way, each rank a process of its own (shard_role.h).
// All ranks do the same at the same time.

#ifndef TENSORHUB_BENCH_SHARD_GROUP_H_
#define TENSORHUB_BENCH_SHARD_GROUP_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/model_shardings.h"
#include "bench/pairs.h"
#include "tools/child/child.h"

namespace tensorhub::bench {

class ShardGroup {
 public:
  struct Options {
    std::string server;
    std::string model;
    std::string name;
    Cut cut = Cut::kFsdp;
    size_t ranks = 1;
    std::string shape = "dense";  // ModelOfShape
    uint64_t layers = 1;
    bool allocate = false;  // memory that peers on the host can read
    Environment environment = {};
    // Rank `i` at `locations[i]`, its process as `place` makes it. Without: all on one host.
    std::vector<std::string> locations = {};
    std::function<Child::Options(size_t rank, const Child::Options&)> place = {};
  };
  struct Fetched {
    std::vector<double> ends;  // by rank, on the machine's steady clock
    double end() const { return *std::max_element(ends.begin(), ends.end()); }
    double bytes_read = 0;  // by all ranks
    std::string way;        // of the first rank
    size_t sources = 0;     // likewise
  };

  static absl::StatusOr<std::unique_ptr<ShardGroup>> Start(const Options& options);
  absl::Status Publish(uint64_t version);
  absl::Status Unpublish();
  // What it held is nobody's any more, and the buffers hold something else.
  absl::Status Scrub();
  absl::Status BeginFetch(uint64_t version);
  absl::StatusOr<Fetched> EndFetch();
  // DATA_LOSS names the rank and the tensor.
  absl::Status Verify(uint64_t version);
  // Waits until nothing goes on in its processes, as hashing does after a publish.
  absl::Status Settle() const;
  // As a machine dies. The others know nothing of it.
  void Kill(size_t rank) { ranks_[rank]->Kill(); }
  // Bytes of all ranks.
  double bytes() const { return bytes_; }

 private:
  explicit ShardGroup(const Options& options) : options_(options) {}
  absl::Status StartRank(size_t rank);
  absl::Status Send(const std::string& line);
  absl::Status Await();
  absl::Status AskAll(const std::string& line);

  const Options options_;
  std::vector<std::unique_ptr<Child>> ranks_;
  double bytes_ = 0;
};

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_SHARD_GROUP_H_
