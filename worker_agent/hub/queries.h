// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

// What a client asks the hub without changing anything. The calling thread waits.
//
// Thread contract: any thread.

#ifndef TENSORHUB_WORKER_AGENT_HUB_QUERIES_H_
#define TENSORHUB_WORKER_AGENT_HUB_QUERIES_H_

#include <grpcpp/client_context.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/content_identity.h"
#include "common/ids.h"
#include "common/mutex.h"
#include "common/time.h"
#include "tensorhub/v1/admin.grpc.pb.h"
#include "tensorhub/v1/hub.grpc.pb.h"
#include "worker_agent/hub/channel.h"

namespace tensorhub::agent {

struct VersionWait {
  bool any = false;  // any visible version will do
  VersionNumber newer_than = 0;
  bool stamped = false;  // by the agent: where it holds that version, or held it last, it says so
  std::optional<TermNumber> held_in = {};  // R2: in which term
  uint64_t max_lag = 0;
  TimeMs timeout_ms = 0;
  std::stop_token cancel = {};
};

struct ListedReplica {
  std::string group;
  uint32_t ranks_complete = 0;
  uint32_t ranks = 0;
  std::string state;
};
struct ListedVersion {
  VersionNumber version = 0;
  std::string state;
  uint64_t bytes = 0;
  std::vector<ListedReplica> replicas;
  ContentDigest identity = {};  // none: not known
  TermNumber term = 0;          // in which it was published
};

class HubQueries {
 public:
  // `server` is the address that errors name.
  HubQueries(std::shared_ptr<HubChannel> channel, std::string server, std::string model);

  // Rides out an absent server. DEADLINE_EXCEEDED after the time-out; CANCELLED.
  absl::StatusOr<VersionNumber> WaitForVersion(const VersionWait& wait);
  // Oldest first. UNAVAILABLE if the server does not answer for 10 s.
  absl::StatusOr<std::vector<ListedVersion>> List(TimeMs within_ms = 10000);
  // Encoded. NOT_FOUND; UNAVAILABLE if the server does not answer for so long.
  absl::StatusOr<std::string> GetLayout(const Fingerprint& fingerprint, TimeMs within_ms = 2000);
  // Ends calls under way, and refuses later ones, with FAILED_PRECONDITION.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Ask = std::function<grpc::Status(grpc::ClientContext&, TimeMs left_ms)>;

  absl::Status Repeat(TimeMs timeout_ms, const Ask& ask, const std::stop_token& cancel = {})
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Once(const Ask& ask, TimeMs left_ms) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Named(const absl::Status& status) const;
  bool Pause() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::shared_ptr<HubChannel> channel_;
  const std::string server_;
  const std::string model_;
  Mutex mutex_;
  CondVar stop_asked_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<grpc::ClientContext*> running_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_HUB_QUERIES_H_
