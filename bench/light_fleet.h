// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A server, a publisher and up to thousands of workers without memory (light_worker.h), each with a
// session, and unless told otherwise a connection, of its own. All beat; each worker holds the
// publisher's version from when it joins.
//
// Thread contract: one thread; what EachOnce calls is called on its callers' threads.

#ifndef TENSORHUB_BENCH_LIGHT_FLEET_H_
#define TENSORHUB_BENCH_LIGHT_FLEET_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/load.h"
#include "bench/pairs.h"
#include "common/cli/flags.h"
#include "common/layout.h"

namespace tensorhub::bench {

class LightFleet {
 public:
  // Unless --workers says otherwise.
  explicit LightFleet(uint32_t workers) : count_(workers) {}

  // --workers, --per-connection, --callers, --lease. Before parsing; the targets are members.
  void AddFlags(cli::Command& command, const std::string& callers_help);
  // INVALID_ARGUMENT names the flag; RESOURCE_EXHAUSTED: memory or open files are too few.
  absl::Status CheckFlags();

  absl::Status StartHub(const std::string& listen, std::vector<std::string> flags = {});
  // As a machine dies. Once this has returned, its data is free for another server, and the workers
  // know that their sessions have ended.
  void KillHub();
  // The publisher's session begins; there are workers then, and none of them is connected.
  absl::Status Publish(const Layout& layout);
  // Each worker's turn, as many at once as there are callers.
  absl::StatusOr<LoadResult> EachOnce(const Turn& turn) const;
  // Each opens its session and fetches.
  absl::Status Join(const Layout& layout) const;
  // In order: sessions, connections, the server.
  void TakeDown();

  uint32_t count() const { return count_; }
  uint32_t callers() const { return callers_; }
  const Hub& hub() const { return *hub_; }
  LightWorker& publisher() const { return *publisher_; }
  const LightWorkers& workers() const { return workers_; }

 private:
  void MakeWorkers();

  uint32_t count_;
  uint32_t per_connection_ = 1;
  uint32_t callers_ = 16;
  std::chrono::milliseconds lease_{5000};

  std::unique_ptr<Hub> hub_;
  std::unique_ptr<LightWorker> publisher_;
  LightWorkers workers_;
  std::unique_ptr<Pulse> pulse_;  // ends before the workers do
};

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_LIGHT_FLEET_H_
