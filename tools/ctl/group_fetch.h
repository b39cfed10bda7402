// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// All ranks of a version read by one process: one client and one thread per rank, in a group of
// its own, while the caller's thread shows how far they are.
//
// Threads: one calls; the ranks' progress callbacks are the only others that touch it.

#ifndef TENSORHUB_TOOLS_CTL_GROUP_FETCH_H_
#define TENSORHUB_TOOLS_CTL_GROUP_FETCH_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/mutex.h"
#include "tensorhub/ros.h"
#include "tools/ctl/fetch_plan.h"
#include "tools/ctl/shard_memory.h"

namespace tensorhub::ctl {

class GroupFetch {
 public:
  struct Options {
    std::string server;
    std::string model;
    std::string location;
    std::chrono::milliseconds connect_timeout{5000};
    std::chrono::steady_clock::time_point give_up;  // when all has to have been read
  };

  explicit GroupFetch(Options options) : options_(std::move(options)) {}
  // Who did not get it is gone in no time, whoever answers.
  ~GroupFetch();
  GroupFetch(const GroupFetch&) = delete;
  GroupFetch& operator=(const GroupFetch&) = delete;

  // Connects, allocates and registers every rank.
  absl::Status Prepare(const FetchPlan& plan);
  // Reads. The first error that is not merely "another rank failed" wins.
  absl::Status Read(const FetchPlan& plan);

  // A rank's files, one after the other. Lives as long as this.
  const std::byte* memory(size_t rank) const { return ranks_[rank]->memory.get(); }
  // As tensorhub::FetchResult says, the ranks' answers put together.
  std::string way() const;
  std::string sources() const;

 private:
  struct Rank {
    ShardMemory memory;  // outlives the client
    std::unique_ptr<tensorhub::Client> client;
    absl::StatusOr<tensorhub::FetchResult> result = absl::UnknownError("not fetched");
    Mutex mutex;
    uint64_t done ABSL_GUARDED_BY(mutex) = 0;
    std::string source ABSL_GUARDED_BY(mutex);
  };

  absl::Status PrepareRank(const FetchPlan& plan, size_t rank, const std::string& group);
  void ReadRank(Rank& rank, uint64_t version);
  void ShowProgress(uint64_t total, std::atomic<size_t>& running);
  absl::Status FirstError() const;
  std::chrono::milliseconds TimeLeft() const;

  const Options options_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_GROUP_FETCH_H_
