// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Elections and stores on a real etcd, in the test's own process.

#ifndef TENSORHUB_TESTS_INTEGRATION_ETCD_ETCD_TEST_CASE_H_
#define TENSORHUB_TESTS_INTEGRATION_ETCD_ETCD_TEST_CASE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "common/mutex.h"
#include "server/store/etcd/etcd_election.h"
#include "tests/integration/harness/etcd_process.h"
#include "tests/unit/server/store/store_files.h"

namespace tensorhub::store {

// A server's part in an election, without the server.
class Candidate {
 public:
  Candidate(const harness::EtcdCluster& etcd, const std::string& prefix, const std::string& address,
            const std::string& hub_name = "")
      : election_({.place = *EtcdPlace::Parse(etcd.Place(prefix)),
                   .name = hub_name,
                   .address = address,
                   .version = "test"},
                  {.on_leader =
                       [this](const std::optional<Leader>& leader) {
                         MutexLock lock(mutex_);
                         seen_ = leader;
                       },
                   .on_doubt = [this](bool doubt) { doubted_ = doubt; },
                   .on_lost = [this](const absl::Status&) { lost_ = true; }}) {}
  ~Candidate() {
    election_.Stop();
    if (thread_.joinable()) thread_.join();
  }
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;

  EtcdElection& election() { return election_; }
  // In a thread of its own, until it leads.
  void Campaign() {
    thread_ = std::thread([this] {
      leads_ = election_.Prepare().ok() && election_.Campaign().ok();
      if (leads_) election_.Hold();
    });
  }
  bool Leads() const { return leads_; }
  bool AwaitLead() {
    return harness::Eventually(harness::seconds(30), [this] { return Leads(); });
  }
  bool lost() const { return lost_; }
  bool doubted() const { return doubted_; }
  std::optional<Leader> seen() {
    MutexLock lock(mutex_);
    return seen_;
  }
  // Leads, and has its rows.
  std::unique_ptr<Store> Lead(Loaded& loaded) {
    if (!thread_.joinable()) Campaign();
    EXPECT_TRUE(AwaitLead());
    std::unique_ptr<Store> store = election_.OpenStore();
    absl::StatusOr<Loaded> read = store->Load();
    EXPECT_TRUE(read.ok()) << read.status();
    if (read.ok()) loaded = *std::move(read);
    return store;
  }

 private:
  std::atomic<bool> leads_ = false;
  std::atomic<bool> lost_ = false;
  std::atomic<bool> doubted_ = false;
  Mutex mutex_;
  std::optional<Leader> seen_ ABSL_GUARDED_BY(mutex_);
  EtcdElection election_;
  std::thread thread_;
};

}  // namespace tensorhub::store

#endif  // TENSORHUB_TESTS_INTEGRATION_ETCD_ETCD_TEST_CASE_H_
