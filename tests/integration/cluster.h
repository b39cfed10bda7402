// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A server and the workers of one model, for the tests of this folder.

#ifndef TENSORHUB_TESTS_INTEGRATION_CLUSTER_H_
#define TENSORHUB_TESTS_INTEGRATION_CLUSTER_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/harness/server_process.h"
#include "tests/integration/harness/worker_process.h"

namespace tensorhub::harness {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// How bytes travel: what the worker's environment and its memory make of it.
struct Way {
  std::string name;
  std::map<std::string, std::string> env;
  std::string memory;    // words of the register command
  std::string reported;  // what fetch says of it
};
inline const Way kTcp = {"Tcp", {{"UCX_TLS", "tcp"}}, "", "served"};
inline const Way kServed = {"Served", {}, "", "served"};
inline const Way kOneSided = {"OneSided", {}, "shared=1", "one-sided"};

inline const std::vector<Way>& AllWays() {
  static const std::vector<Way> ways = {kTcp, kServed, kOneSided};
  return ways;
}
inline std::string WayName(const testing::TestParamInfo<Way>& info) { return info.param.name; }
// Readable test names instead of bytes.
inline void PrintTo(const Way& way, std::ostream* stream) { *stream << way.name; }

using Worker = std::unique_ptr<WorkerProcess>;

class Cluster {
 public:
  explicit Cluster(Way way = kServed, std::vector<std::string> server_args = {})
      : way_(std::move(way)), server_(std::move(server_args)) {}

  ServerProcess& server() { return server_; }

  // The words of connect for this cluster's server and model.
  std::string ConnectCommand(const std::string& group, uint32_t rank = 0,
                             uint32_t world = 1) const {
    return "connect server=" + server_.address() + " model=m/actor group=" + group +
           " rank=" + std::to_string(rank) + " world=" + std::to_string(world) +
           " location=us/dc1/r1/h1";
  }
  // A process that has not connected yet.
  Worker Start() const { return std::make_unique<WorkerProcess>(way_.env); }

  // A worker that is connected and has registered `shard` (words of register).
  Worker Join(const std::string& group, const std::string& shard = "", uint32_t rank = 0,
              uint32_t world = 1) const {
    Worker worker = Start();
    EXPECT_EQ(worker->Do(ConnectCommand(group, rank, world)), "ok");
    EXPECT_EQ(worker->Do("register " + shard + " " + way_.memory), "ok");
    return worker;
  }
  // A group of that many ranks.
  std::vector<Worker> JoinGroup(const std::string& group, uint32_t world,
                                const std::string& shard = "") const {
    std::vector<Worker> ranks;
    for (uint32_t rank = 0; rank < world; ++rank) {
      ranks.push_back(Join(group, shard, rank, world));
    }
    return ranks;
  }

 private:
  const Way way_;
  ServerProcess server_;
};

inline void FillAndPublish(WorkerProcess& worker, uint64_t version) {
  ASSERT_EQ(worker.Do("fill " + std::to_string(version)), "ok");
  ASSERT_THAT(worker.Do("publish " + std::to_string(version)), StartsWith("ok"));
}

// The answers of all of them to one command, given at the same time.
inline std::vector<std::string> DoAll(const std::vector<Worker>& workers,
                                      const std::string& command) {
  for (const Worker& worker : workers) worker->Send(command);
  std::vector<std::string> answers;
  for (const Worker& worker : workers) answers.push_back(worker->Answer());
  return answers;
}

// The fetch succeeded with this version, and the bytes are that version's.
inline void ExpectFetched(WorkerProcess& worker, const std::string& answer, uint64_t version) {
  ASSERT_THAT(answer, StartsWith("ok version=" + std::to_string(version) + " "))
      << worker.process().Describe();
  EXPECT_EQ(worker.Do("check " + std::to_string(version)), "ok");
}

}  // namespace tensorhub::harness

#endif  // TENSORHUB_TESTS_INTEGRATION_CLUSTER_H_
