// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Three members of etcd, of which some are killed, stopped or held back.

#include <csignal>

#include "tests/integration/etcd/etcd_test_case.h"

namespace tensorhub::store {
namespace {

using harness::Eventually;
using harness::seconds;

class EtcdClusterTest : public testing::Test {
 protected:
  static hub::Persist Mark(VersionNumber version) {
    hub::Persist rows;
    rows.models["m"] = hub::ModelRow{version, {1, version}};
    return rows;
  }
  static VersionNumber MarkOf(const Loaded& loaded) {
    const auto found = loaded.state.models.find("m");
    return found == loaded.state.models.end() ? 0 : found->second.latest;
  }
  VersionNumber Kept() {
    Candidate candidate(etcd_, "hub", "z:1");
    Loaded loaded;
    candidate.Lead(loaded);
    candidate.election().Resign();
    return MarkOf(loaded);
  }

  harness::EtcdCluster etcd_{3};
};

TEST_F(EtcdClusterTest, EachMemberMayDieAndComeBack) {
  Candidate candidate(etcd_, "hub", "a:1");
  Loaded loaded;
  const auto store = candidate.Lead(loaded);
  VersionNumber version = 0;
  for (size_t member = 0; member < 3; ++member) {
    etcd_.member(member).Kill();
    for (int i = 0; i < 3; ++i) {
      const absl::Status status = store->Commit(Mark(++version));
      ASSERT_TRUE(status.ok()) << status;
    }
    const size_t log_begins = 0;
    etcd_.Start(member);
    ASSERT_TRUE(etcd_.member(member).errors().WaitFor("ready to serve", seconds(30), log_begins));
  }
  candidate.election().Resign();
  EXPECT_EQ(Kept(), version);
}

// A member that was stopped with a commit in its hands carries it out when it goes on, after later
// ones were kept by others. It must not undo them.
TEST_F(EtcdClusterTest, AHeldBackTryUndoesNothing) {
  VersionNumber version = 0;
  for (size_t member = 0; member < 3; ++member) {
    Candidate candidate(etcd_, "hub", "a:1");
    Loaded loaded;
    const auto store = candidate.Lead(loaded);
    etcd_.member(member).Signal(SIGSTOP);
    bool kept = true;
    for (int i = 0; kept && i < 3; ++i) {
      const absl::Status status = store->Commit(Mark(version + 1));
      // The election of another etcd leader may outlast the lease.
      kept = status.ok();
      EXPECT_TRUE(kept || absl::IsAborted(status)) << status;
      if (kept) ++version;
    }
    etcd_.member(member).Signal(SIGCONT);
    candidate.election().Resign();
    // Of the one that was answered with an error, it is not known.
    const VersionNumber last = Kept();
    EXPECT_TRUE(last == version || (!kept && last == version + 1))
        << last << " instead of " << version << " with member " << member << " stopped";
    version = last;
  }
  EXPECT_GT(version, 0u);
}

TEST_F(EtcdClusterTest, ALeaderOutlivesTheQuorumsAbsence) {
  Candidate candidate(etcd_, "hub", "a:1");
  Loaded loaded;
  const auto store = candidate.Lead(loaded);
  etcd_.member(0).Kill();
  etcd_.member(1).Kill();
  std::atomic<bool> kept = false;
  std::thread commit([&] { kept = store->Commit(Mark(1)).ok(); });
  EXPECT_TRUE(Eventually(seconds(20), [&] { return candidate.doubted(); }));
  EXPECT_FALSE(kept);
  EXPECT_FALSE(candidate.lost());
  etcd_.Start(0);
  etcd_.Start(1);
  commit.join();
  EXPECT_TRUE(Eventually(seconds(20), [&] { return candidate.lost() || !candidate.doubted(); }));
  candidate.election().Resign();
  const VersionNumber last = Kept();
  EXPECT_TRUE(last == 1 || (!kept && last == 0)) << last;
}

TEST_F(EtcdClusterTest, AStoppedLeaderIsReplacedByItsLease) {
  Loaded loaded;
  std::optional<Candidate> first(std::in_place, etcd_, "hub", "a:1");
  const auto store = first->Lead(loaded);
  ASSERT_TRUE(store->Commit(Mark(7)).ok());
  first->election().Stop();  // it renews nothing, and gives nothing back
  Candidate second(etcd_, "hub", "b:1");
  Loaded later;
  second.Lead(later);
  EXPECT_EQ(later.identity.epoch, loaded.identity.epoch + 1);
  EXPECT_EQ(MarkOf(later), 7u);
}

}  // namespace
}  // namespace tensorhub::store
