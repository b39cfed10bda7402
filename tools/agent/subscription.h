// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One model that this host keeps: whatever version is the newest is fetched into host memory, all
// ranks of it, and held until there is a newer one. To the hub these are workers like others, of a
// group with one rank per shard; being stable, they keep what trainers and rollouts give up (R7).
//
// Thread contract: Run occupies one thread; Stop may be called from another one.

#ifndef TENSORHUB_TOOLS_AGENT_SUBSCRIPTION_H_
#define TENSORHUB_TOOLS_AGENT_SUBSCRIPTION_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/layout.h"
#include "common/mutex.h"
#include "tensorhub/ros.h"
#include "tools/ctl/admin_client.h"
#include "tools/ctl/shard_memory.h"
#include "worker_agent/hub/queries.h"

namespace tensorhub::keeper {

struct Options {
  std::string server;
  std::string model;
  std::string group;
  std::string location;
  std::string http;  // this and the next are ConnectOptions'
  std::string trace;
  std::chrono::milliseconds connect_timeout{5000};
  std::chrono::milliseconds fetch_timeout = std::chrono::minutes(10);
};

class Subscription {
 public:
  explicit Subscription(Options options);
  ~Subscription();
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  // Until Stop: OK. FAILED_PRECONDITION: the model's tensors are others than before, and memory was
  // taken for those; begin anew. What passes (no server, no version, a failed fetch) is logged and
  // tried again.
  absl::Status Run();
  // Returns at once, and Run soon after: what is being fetched is given up, and what is held in
  // order.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Rank {
    ctl::ShardMemory memory;  // outlives the client
    std::unique_ptr<tensorhub::Client> client;
    absl::Status fetched;
  };

  // False, after a rest: it is not, and the log says so.
  bool Reached();
  // The newest version there is, once it is another than the one held; nothing: try again.
  std::optional<uint64_t> Await();
  absl::StatusOr<uint64_t> AwaitAny();
  absl::StatusOr<uint64_t> AwaitNext(uint64_t held);
  // What is held in truth, and by clients that the server accepts.
  void Recheck();
  // Layouts of the version's ranks. NOT_FOUND if nobody holds it.
  absl::StatusOr<std::vector<Layout>> LayoutsOf(uint64_t version);
  std::string AttachmentOf(size_t rank);
  absl::Status Hold(uint64_t version);
  absl::Status Join();
  absl::Status Fetch(uint64_t version) ABSL_LOCKS_EXCLUDED(mutex_);
  void LeaveAll();
  bool stopping() ABSL_LOCKS_EXCLUDED(mutex_);
  void Rest(const std::string& why) ABSL_LOCKS_EXCLUDED(mutex_);

  const Options options_;
  ctl::AdminClient admin_;
  agent::HubQueries queries_;
  std::stop_source stop_;
  std::vector<Rank> ranks_;
  std::vector<Layout> layouts_;           // of the ranks, once there are any
  std::vector<std::string> attachments_;  // fingerprints, of the version looked at last
  std::optional<uint64_t> held_;
  std::string why_;    // it rested last
  bool away_ = false;  // the server
  std::chrono::milliseconds rest_{0};

  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  size_t fetching_ ABSL_GUARDED_BY(mutex_) = 0;  // ranks
};

}  // namespace tensorhub::keeper

#endif  // TENSORHUB_TOOLS_AGENT_SUBSCRIPTION_H_
