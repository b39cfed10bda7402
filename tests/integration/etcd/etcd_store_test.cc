// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/etcd/etcd_store.h"

#include <csignal>
#include <set>

#include "absl/strings/str_cat.h"
#include "tests/integration/etcd/etcd_test_case.h"

namespace tensorhub::store {
namespace {

using harness::Eventually;
using harness::seconds;
using testing::HasSubstr;

// One etcd for all tests: each has a prefix of its own.
class EtcdStoreTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { etcd_ = new harness::EtcdCluster(1); }
  static void TearDownTestSuite() { delete std::exchange(etcd_, nullptr); }

  static std::string Prefix() {
    return absl::StrCat("tests/", testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  static EtcdKeys Keys() { return EtcdKeys(Prefix()); }
  static Loaded LoadOnce() {
    Candidate candidate(*etcd_, Prefix(), "a:1");
    Loaded loaded;
    candidate.Lead(loaded);
    candidate.election().Resign();
    return loaded;
  }
  static void KeepOnce(const hub::Persist& rows) {
    Candidate candidate(*etcd_, Prefix(), "a:1");
    Loaded loaded;
    const auto store = candidate.Lead(loaded);
    const absl::Status status = store->Commit(rows);
    EXPECT_TRUE(status.ok()) << status;
    candidate.election().Resign();
  }
  static void Do(const EtcdOps& ops) {
    EtcdClient client({.endpoints = etcd_->endpoints()});
    etcd::TxnRequest request;
    for (const etcd::RequestOp& op : ops) *request.add_success() = op;
    const auto response = client.Txn(request);
    ASSERT_TRUE(response.ok()) << response.status();
  }
  // Why nobody may lead there.
  static absl::Status Refused(const std::string& prefix) {
    Candidate candidate(*etcd_, prefix, "a:1");
    absl::Status status = candidate.election().Prepare();
    if (status.ok()) status = candidate.election().Campaign();
    if (!status.ok()) return status;
    status = candidate.election().OpenStore()->Load().status();
    candidate.election().Resign();
    return status;
  }

  static harness::EtcdCluster* etcd_;
};
harness::EtcdCluster* EtcdStoreTest::etcd_ = nullptr;

TEST_F(EtcdStoreTest, TheStoreStaysAndTheEpochRises) { ExpectToStay({LoadOnce, KeepOnce}); }
TEST_F(EtcdStoreTest, RowsComeBackAsTheyWereAreReplacedAndGo) {
  ExpectToKeepRows({LoadOnce, KeepOnce});
}

// More than etcd takes in one transaction, in number and in bytes.
TEST_F(EtcdStoreTest, ALargeCommitIsKeptWhole) {
  hub::DurableState state = SomeState();
  for (Rank rank = 0; rank < 500; ++rank) state.workers[{"many", "group", rank}] = {rank + 1};
  state.groups[{"m/actor", "wide"}] = OpenFetchOf(kWorldSizeMax, 9);
  KeepOnce(RowsOf(state));
  EXPECT_EQ(LoadOnce().state, state);
  // Of the long value, no part may stay behind.
  hub::Persist rows;
  rows.groups[{"m/actor", "wide"}] = OpenFetchOf(kWorldSizeMax / 3, 10);
  KeepOnce(rows);
  hub::Keep(rows, state);
  EXPECT_EQ(LoadOnce().state, state);
  rows.groups[{"m/actor", "wide"}] = std::nullopt;
  KeepOnce(rows);
  hub::Keep(rows, state);
  EXPECT_EQ(LoadOnce().state, state);
}

// As a leader leaves it that dies in the middle.
TEST_F(EtcdStoreTest, WhatWasSealedIsCarriedOutAndWhatWasNotIsForgotten) {
  KeepOnce({});
  etcd::TxnRequest whole;
  *whole.add_success() = PutOp(Keys().Worker({"m", "g", 3}), "\x08\x05");
  const std::string bytes = whole.SerializeAsString();
  Do({PutOp(Keys().Journal(0), bytes.substr(0, 7)), PutOp(Keys().Journal(1), bytes.substr(7))});
  EXPECT_EQ(LoadOnce().state, hub::DurableState{});
  Do({PutOp(Keys().Journal(0), bytes.substr(0, 7)), PutOp(Keys().Journal(1), bytes.substr(7)),
      PutOp(Keys().Sealed(), "2")});
  hub::DurableState state;
  state.workers[{"m", "g", 3}] = {5};
  EXPECT_EQ(LoadOnce().state, state);
  Do({DeleteOp(Keys().Worker({"m", "g", 3}))});
  EXPECT_EQ(LoadOnce().state, hub::DurableState{}) << "the journal was not cleared away";
}

TEST_F(EtcdStoreTest, ALeaderThatWasReplacedKeepsNothing) {
  Candidate first(*etcd_, Prefix(), "a:1");
  Candidate second(*etcd_, Prefix(), "b:1");
  Loaded loaded;
  const auto store = first.Lead(loaded);
  second.Campaign();
  ASSERT_TRUE(Eventually(seconds(10), [&] { return second.seen().has_value(); }));
  EXPECT_EQ(second.seen()->address, "a:1");
  EXPECT_EQ(second.seen()->epoch, loaded.identity.epoch);
  second.election().Depose(*second.seen());
  Loaded later;
  const auto other = second.Lead(later);
  EXPECT_EQ(later.identity.epoch, loaded.identity.epoch + 1);
  EXPECT_EQ(store->Commit(RowsOf(SomeState())).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(other->Load()->state, hub::DurableState{});
  EXPECT_TRUE(Eventually(seconds(10), [&] { return first.lost(); }));
  EXPECT_FALSE(second.lost());
}

TEST_F(EtcdStoreTest, OneOfManyLeads) {
  std::vector<std::unique_ptr<Candidate>> candidates;
  for (int i = 0; i < 4; ++i) {
    candidates.push_back(std::make_unique<Candidate>(*etcd_, Prefix(), absl::StrCat("s:", i)));
    candidates.back()->Campaign();
  }
  std::set<uint64_t> epochs;
  while (!candidates.empty()) {
    const auto leads = [](const auto& one) { return one->Leads(); };
    ASSERT_TRUE(Eventually(
        seconds(20), [&] { return std::any_of(candidates.begin(), candidates.end(), leads); }));
    const auto leader = std::find_if(candidates.begin(), candidates.end(), leads);
    EXPECT_EQ(std::count_if(candidates.begin(), candidates.end(), leads), 1);
    Loaded loaded;
    (*leader)->Lead(loaded);
    EXPECT_TRUE(epochs.insert(loaded.identity.epoch).second) << loaded.identity.epoch;
    (*leader)->election().Resign();
    candidates.erase(leader);
  }
  EXPECT_EQ(epochs, (std::set<uint64_t>{1, 2, 3, 4}));
}

// --- R9: what is there instead ---------------------------------------------------------------

TEST_F(EtcdStoreTest, APrefixOfSomethingElseIsRefused) {
  Do({PutOp(Prefix() + "/pods/default/x", "?")});
  const absl::Status status = Refused(Prefix());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr(Prefix() + "/pods/default/x"), HasSubstr("no hub's"),
                             HasSubstr("name another prefix")));
}

TEST_F(EtcdStoreTest, APrefixInsideAnotherHubsIsRefused) {
  LoadOnce();
  const absl::Status status = Refused(Prefix() + "/m");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("inside the prefix of another hub"));
  Do({PutOp(Prefix() + "/sub/id", "tensorhub 1")});
  EXPECT_THAT(std::string(Refused(Prefix()).message()), HasSubstr(Prefix() + "/sub/id"));
}

// Two clusters, and one prefix by mistake.
TEST_F(EtcdStoreTest, APrefixOfAnotherNameIsRefused) {
  const auto prepare = [](const std::string& name) {
    return Candidate(*etcd_, Prefix(), "a:1", name).election().Prepare();
  };
  LoadOnce();
  EXPECT_TRUE(prepare("east").ok()) << "it had no name yet";
  EXPECT_TRUE(prepare("east").ok());
  EXPECT_TRUE(prepare("").ok());
  const absl::Status status = prepare("west");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr("hub \"east\""), HasSubstr("says \"west\"")));
  EXPECT_EQ(LoadOnce().state, hub::DurableState{});
}

TEST_F(EtcdStoreTest, ANewerSchemaIsRefused) {
  LoadOnce();
  const std::string newer = absl::StrCat(kEtcdSchema + 1);
  Do({PutOp(Keys().Schema(), newer)});
  const absl::Status status = Refused(Prefix());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(
      std::string(status.message()),
      testing::AllOf(HasSubstr("schema " + newer), HasSubstr("newer"), HasSubstr(Prefix())));
}

// A newer server that is elected raises the schema, and an older one that stands by must not be.
TEST_F(EtcdStoreTest, AStandbyEndsWhenANewerServerHasLed) {
  Candidate leader(*etcd_, Prefix(), "a:1");
  Loaded loaded;
  const auto store = leader.Lead(loaded);
  Candidate standby(*etcd_, Prefix(), "b:1");
  ASSERT_TRUE(standby.election().Prepare().ok());
  Do({PutOp(Keys().Schema(), absl::StrCat(kEtcdSchema + 1))});
  const absl::Status status = standby.election().Campaign();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_FALSE(leader.lost());
}

TEST_F(EtcdStoreTest, AnOlderSchemaIsRaisedWithTheLead) {
  LoadOnce();
  Do({PutOp(Keys().Schema(), "1")});
  LoadOnce();
  EtcdClient client({.endpoints = etcd_->endpoints()});
  etcd::RangeRequest request;
  request.set_key(Keys().Schema());
  const auto response = client.Range(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->kvs(0).value(), absl::StrCat(kEtcdSchema));
}

TEST_F(EtcdStoreTest, RowsThatCannotBeAreRefused) {
  KeepOnce(RowsOf(SomeState()));
  const std::string bad_names[] = {"m/a b", "m/%41", "w/m/g/65536", "w/m/g/03",
                                   "g/m",   "x/y",   "a/57",        "m/nobody/part/00000001"};
  for (const std::string& name : bad_names) {
    Do({PutOp(Keys().all() + name, "")});
    const absl::Status status = Refused(Prefix());
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << name << ": " << status;
    Do({DeleteOp(Keys().all() + name)});
  }
  Do({PutOp(Keys().Model("m/actor"), "\xff")});
  EXPECT_THAT(std::string(Refused(Prefix()).message()), HasSubstr("m/actor"));
  Do({DeleteOp(Keys().Model("m/actor")), PutOp(Keys().Sealed(), "1")});
  EXPECT_EQ(Refused(Prefix()).code(), absl::StatusCode::kDataLoss);
}

// --- etcd in trouble -------------------------------------------------------------------------

TEST_F(EtcdStoreTest, ACommitWaitsForEtcdAndIsKept) {
  Candidate candidate(*etcd_, Prefix(), "a:1");
  Loaded loaded;
  const auto store = candidate.Lead(loaded);
  etcd_->member(0).Signal(SIGSTOP);
  std::atomic<bool> kept = false;
  std::thread commit([&] { kept = store->Commit(RowsOf(SomeState())).ok(); });
  EXPECT_TRUE(Eventually(seconds(20), [&] { return candidate.doubted(); }));
  EXPECT_FALSE(kept);
  etcd_->member(0).Signal(SIGCONT);
  commit.join();
  EXPECT_TRUE(Eventually(seconds(20), [&] { return candidate.lost() || !candidate.doubted(); }));
  candidate.election().Resign();
  // Its lease may have ended meanwhile: then the rows are all there or none, as after a crash.
  const hub::DurableState state = LoadOnce().state;
  EXPECT_TRUE(state == SomeState() || (!kept && state == hub::DurableState{}));
}

TEST_F(EtcdStoreTest, WhoWaitsForEtcdCanBeStopped) {
  Candidate candidate(*etcd_, Prefix(), "a:1");
  Loaded loaded;
  const auto store = candidate.Lead(loaded);
  etcd_->member(0).Signal(SIGSTOP);
  std::atomic<bool> cancelled = false;
  std::thread commit([&] { cancelled = absl::IsCancelled(store->Commit(RowsOf(SomeState()))); });
  EXPECT_TRUE(Eventually(seconds(20), [&] { return candidate.doubted(); }));
  candidate.election().Stop();
  commit.join();
  EXPECT_TRUE(cancelled);
  etcd_->member(0).Signal(SIGCONT);
}

}  // namespace
}  // namespace tensorhub::store
