// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The server's own loop with its planner, without a network: how long do other calls wait while a
// group asks for a version that is cut in another way?
//
// Thread contract: one thread.

#ifndef TENSORHUB_BENCH_PLANNING_SERVER_H_
#define TENSORHUB_BENCH_PLANNING_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/layout.h"
#include "server/rpc/hub_loop.h"

namespace tensorhub::bench {

using Layouts = std::vector<std::shared_ptr<const Layout>>;  // by rank

class PlanningServer {
 public:
  PlanningServer();

  // Ranks that hold version 1 from now on.
  absl::Status Publish(const Layouts& ranks);

  struct Meanwhile {
    double seconds = 0;         // until the group had its decision
    std::vector<double> waits;  // seconds that other calls took, one after the other
  };
  // A group of these ranks asks for that version.
  absl::StatusOr<Meanwhile> Join(const std::string& group, const Layouts& ranks);

 private:
  class Deaf;
  class Answer;

  WorkerIdentity Open(const std::string& group, Rank rank, size_t ranks);
  template <typename Op>
  std::shared_ptr<Answer> Start(Op op);
  absl::Status PutLayouts(const Layouts& ranks);

  std::shared_ptr<const Layout> small_;  // that the server has: to put it again is a short call
  std::shared_ptr<Deaf> sink_;
  OpId last_op_ = 0;
  rpc::HubLoop loop_;  // last: its thread calls the sink
};

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_PLANNING_SERVER_H_
