// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/sqlite_store.h"

#include <sys/resource.h>

#include <csignal>

#include "absl/strings/str_cat.h"
#include "server/store/memory_store.h"
#include "tests/unit/server/store/store_files.h"

namespace tensorhub::store {
namespace {

using testing::HasSubstr;

class SqliteStoreTest : public StoreFilesTest {
 protected:
  KeptStore kept() const {
    return {[this] { return LoadOnce(); },
            [this](const hub::Persist& rows) {
              const absl::Status status = Open()->Commit(rows);
              EXPECT_TRUE(status.ok()) << status;
            }};
  }
  void ExpectDamage(const std::string& what) const {
    const absl::Status status = Refused();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << what << ": " << status;
    EXPECT_THAT(std::string(status.message()),
                testing::AllOf(HasSubstr(file("hub.db")), HasSubstr("restore it")))
        << what;
  }
  void Run(const std::string& sql) const {
    auto database = Sqlite::Open(file("hub.db"), Sqlite::Mode::kExisting);
    ASSERT_TRUE(database.ok()) << database.status();
    const absl::Status status = (*database)->Execute(sql);
    ASSERT_TRUE(status.ok()) << status;
  }
};

TEST_F(SqliteStoreTest, TheStoreStaysAndTheEpochRises) { ExpectToStay(kept()); }
TEST_F(SqliteStoreTest, RowsComeBackAsTheyWereAreReplacedAndGo) { ExpectToKeepRows(kept()); }

TEST_F(SqliteStoreTest, ASecondServerIsKeptOff) {
  const auto first = Open();
  const absl::Status second = Refused();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.message()), HasSubstr("another server is using " + dir()));
}

TEST_F(SqliteStoreTest, AnotherProgramThatHasItOpenIsNamed) {
  LoadOnce();
  auto other = Sqlite::Open(file("hub.db"), Sqlite::Mode::kExisting);
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE((*other)->Execute("BEGIN EXCLUSIVE").ok());
  const absl::Status status = Refused();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("another program has " + file("hub.db")));
}

TEST_F(SqliteStoreTest, ANewerSchemaIsRefused) {
  LoadOnce();
  Run("PRAGMA user_version = 10");
  const absl::Status status = Refused();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(status.message()),
      testing::AllOf(HasSubstr(file("hub.db")), HasSubstr("schema 10"), HasSubstr("newer")));
  Run("PRAGMA user_version = 9");
  LoadOnce();
}

TEST_F(SqliteStoreTest, AnOlderSchemaIsBroughtUpToDate) {
  hub::DurableState state = SomeState();
  ASSERT_TRUE(Open()->Commit(RowsOf(state)).ok());
  Run("DROP TABLE retention; DROP TABLE workers; DROP TABLE adopted;"
      "ALTER TABLE models DROP COLUMN identity;"
      "ALTER TABLE models DROP COLUMN publishers;"
      "ALTER TABLE models DROP COLUMN terms; ALTER TABLE models DROP COLUMN term_by;"
      "ALTER TABLE group_fetches DROP COLUMN identity;"
      "ALTER TABLE group_fetches DROP COLUMN term;"
      "ALTER TABLE group_fetches DROP COLUMN term_since;"
      "ALTER TABLE group_fetches DROP COLUMN outcome_outage;"
      "ALTER TABLE group_fetches DROP COLUMN sharding;"
      "ALTER TABLE group_fetches DROP COLUMN sharding_full; PRAGMA user_version = 1");
  state.retention.clear();
  state.workers.clear();
  state.adopted.clear();
  for (auto& [name, row] : state.models) row.identity = {}, row.publishers = {};
  for (auto& [name, row] : state.models) row.terms = {}, row.term_by = "";
  for (auto& [key, row] : state.groups) {
    row.identity = {}, row.term = {}, row.sharding = {};
    if (row.outcome) row.outcome = absl::Status(row.outcome->code(), row.outcome->message());
  }
  EXPECT_EQ(LoadOnce().state, state);
  ASSERT_TRUE(Open()->Commit(RowsOf(SomeState())).ok());
  EXPECT_EQ(LoadOnce().state, SomeState());
}

TEST_F(SqliteStoreTest, DamageIsRefusedAndLeftAlone) {
  ASSERT_TRUE(Open()->Commit(RowsOf(SomeState())).ok());
  const std::string good = Content("hub.db");
  std::string scrambled = good;
  for (size_t i = 4096; i < scrambled.size(); i += 5) scrambled[i] = '\x5a';
  for (const std::string& bad : {std::string(), good.substr(0, 100), good.substr(0, 4096),
                                 good.substr(0, good.size() - 4096), std::string(8192, 'x'),
                                 std::string(good.size(), '\0'), scrambled}) {
    Write("hub.db", bad);
    ExpectDamage(absl::StrCat(bad.size(), " bytes"));
    EXPECT_TRUE(Content("hub.db") == bad) << bad.size() << " bytes";
  }
  Write("hub.db", good);
  EXPECT_EQ(LoadOnce().state, SomeState());
}

TEST_F(SqliteStoreTest, AnotherProgramsDatabaseIsRefused) {
  Write("hub.db", "");
  Run("CREATE TABLE t (x)");
  ExpectDamage("another program's");
}

// R9: sound as a database, and yet not what a server writes.
TEST_F(SqliteStoreTest, RowsThatCannotBeAreRefused) {
  ASSERT_TRUE(Open()->Commit(RowsOf(SomeState())).ok());
  const std::string good = Content("hub.db");
  for (const std::string sql : {
           "UPDATE models SET publication = x'00'",
           "UPDATE models SET publication = zeroblob(16)",
           "UPDATE models SET model = 'a b' WHERE model = 'other'",
           "UPDATE models SET terms = x'00'",
           "UPDATE models SET terms = CAST(terms || terms AS BLOB) WHERE model = 'other'",
           "UPDATE models SET terms = zeroblob(16)",
           "UPDATE group_fetches SET term = -1",
           "UPDATE group_fetches SET world_size = 0",
           "UPDATE group_fetches SET world_size = 1 WHERE group_name = 'rollout'",
           "UPDATE group_fetches SET world_size = 1 << 40",
           "UPDATE group_fetches SET members = x''",
           "UPDATE group_fetches SET members = CAST(members || x'00' AS BLOB)",
           "UPDATE group_fetches SET members = CAST(members || members AS BLOB)",
           "UPDATE group_fetches SET outcome_code = 99",
           "UPDATE group_fetches SET transaction_id = zeroblob(16)",
           "UPDATE retention SET keep_latest = 1025",
           "UPDATE retention SET keep_latest = -1",
           "UPDATE retention SET model = 'a b' WHERE model = 'other'",
           "UPDATE retention SET pins = x'00'",
           "UPDATE retention SET pins = CAST(pins || x'00' AS BLOB)",
           "UPDATE retention SET pins = CAST(pins || pins AS BLOB)",
           "UPDATE identity SET store_id = zeroblob(16)",
           "DELETE FROM identity",
       }) {
    Write("hub.db", good);
    Run(sql);
    ExpectDamage(sql);
  }
}

TEST_F(SqliteStoreTest, ALogWithoutItsDatabaseIsNotTakenOver) {
  const auto store = Open();
  ASSERT_TRUE(store->Commit(RowsOf(SomeState())).ok());
  const std::string log = Content("hub.db-wal");
  ASSERT_FALSE(log.empty());
  std::filesystem::copy(dir(), root_ + "/copy");
  std::filesystem::remove(root_ + "/copy/hub.db");
  const auto fresh = SqliteStore::Open(root_ + "/copy");
  ASSERT_TRUE(fresh.ok()) << fresh.status();
  EXPECT_EQ((*fresh)->Load()->state, hub::DurableState{});
}

TEST_F(SqliteStoreTest, AFullDiskIsAnErrorThatSaysWhatToDo) {
  const auto store = Open();
  // A file that may not grow stands for a disk that is full; the signal would end the process.
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  rlimit tight = limit;
  tight.rlim_cur = std::filesystem::file_size(file("hub.db-wal"));
  setrlimit(RLIMIT_FSIZE, &tight);
  const absl::Status status = store->Commit(RowsOf(SomeState()));
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr(file("hub.db")), HasSubstr("room"), HasSubstr("start")));
}

TEST(MemoryStoreTest, LaterStartsHaveHigherEpochs) {
  MemoryStore store;
  const auto loaded = store.Load();
  ASSERT_TRUE(loaded.ok());
  EXPECT_FALSE(static_cast<bool>(loaded->identity.store_id));
  EXPECT_GT(loaded->identity.epoch, 1'700'000'000'000u);
  EXPECT_FALSE(loaded->earlier_life);
  EXPECT_TRUE(store.Commit(RowsOf(SomeState())).ok());
}

}  // namespace
}  // namespace tensorhub::store
