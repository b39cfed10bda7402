// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the workers of this process show by HTTP, all of them on one port: /metrics and /livez, in
// plain HTTP and to whoever asks. The same address is the same page.
//
// Thread contract: any thread, but none on which a worker's callbacks run.

#ifndef TENSORHUB_WORKER_AGENT_SEEN_WORKER_PAGE_H_
#define TENSORHUB_WORKER_AGENT_SEEN_WORKER_PAGE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/http/small_server.h"
#include "common/listen_address.h"
#include "common/mutex.h"
#include "worker_agent/seen/tally.h"
#include "worker_agent/seen/worker_metrics.h"
#include "worker_agent/seen/worker_now.h"

namespace tensorhub::agent {

class WorkerPage : public std::enable_shared_from_this<WorkerPage> {
 public:
  // With more models a scrape would be mostly names; the first by name are shown.
  static constexpr size_t kModelsShown = 200;

  // HOST:PORT, or HOST:PORT-PORT: the first of those ports that is free. OK, or INVALID_ARGUMENT.
  static absl::Status CheckAddress(const std::string& address);
  // INVALID_ARGUMENT as CheckAddress; UNAVAILABLE if no such port can be had. Waits for a page that
  // closes there, no longer than a request may take (connection.h).
  static absl::StatusOr<std::shared_ptr<WorkerPage>> At(const std::string& address);
  ~WorkerPage();
  WorkerPage(const WorkerPage&) = delete;
  WorkerPage& operator=(const WorkerPage&) = delete;

  // A worker, as long as this lives; and with it the page.
  class Place {
   public:
    ~Place() { page_->Hide(number_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    friend class WorkerPage;
    Place(std::shared_ptr<WorkerPage> page, uint64_t number)
        : page_(std::move(page)), number_(number) {}
    const std::shared_ptr<WorkerPage> page_;
    const uint64_t number_;
  };
  std::unique_ptr<Place> Show(const std::string& model, AskWorker ask) ABSL_LOCKS_EXCLUDED(mutex_);
  // All workers of that model that there were count: figures that only grow must not fall when one
  // of them leaves.
  std::shared_ptr<SharedTally> TallyOf(const std::string& model) ABSL_LOCKS_EXCLUDED(mutex_);

  // What /livez says: whether all progress threads answer, but for those that do what their
  // programs wait for.
  http::Reply Alive() ABSL_LOCKS_EXCLUDED(mutex_);

  // With the port that was found.
  const ListenAddress& address() const { return address_; }

 private:
  struct Worker {
    std::string model;
    AskWorker ask;
    // What it answered last. It is shown once it has connected.
    WorkerNow last = {};
  };

  explicit WorkerPage(std::string asked) : asked_(std::move(asked)) {}
  void Hide(uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_);
  std::map<std::string, ModelWorkers> Look() ABSL_LOCKS_EXCLUDED(mutex_);
  std::optional<WorkerNow> Count(uint64_t number, const std::optional<WorkerNow>& answered)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string asked_;  // the address, in the words of who asked for it
  ListenAddress address_;
  Mutex mutex_;
  uint64_t numbers_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, Worker> workers_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<SharedTally>> tallies_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<http::SmallServer> server_;  // ends first
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_SEEN_WORKER_PAGE_H_
