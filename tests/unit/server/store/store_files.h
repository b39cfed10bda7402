// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A directory for a store, and rows to keep in it.

#ifndef TENSORHUB_TESTS_UNIT_SERVER_STORE_STORE_FILES_H_
#define TENSORHUB_TESTS_UNIT_SERVER_STORE_STORE_FILES_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>

#include "common/remedy.h"
#include "server/store/sqlite_store.h"

namespace tensorhub::store {

class StoreFilesTest : public testing::Test {
 protected:
  StoreFilesTest() {
    std::string pattern = testing::TempDir() + "/store_test.XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~StoreFilesTest() override { std::filesystem::remove_all(root_); }

  std::string dir() const { return root_ + "/made/as/needed"; }
  std::string file(const std::string& name) const { return dir() + "/" + name; }
  std::string Content(const std::string& name) const {
    std::ostringstream content;
    content << std::ifstream(file(name), std::ios::binary).rdbuf();
    return content.str();
  }
  void Write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(dir());
    std::ofstream(file(name), std::ios::binary | std::ios::trunc) << content;
  }

  std::unique_ptr<SqliteStore> Open() const {
    auto store = SqliteStore::Open(dir());
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }
  Loaded LoadOnce() const {
    const auto store = Open();
    auto loaded = store->Load();
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.ok() ? *std::move(loaded) : Loaded{};
  }
  // Why there is no store.
  absl::Status Refused() const {
    const auto store = SqliteStore::Open(dir());
    return store.ok() ? (*store)->Load().status() : store.status();
  }

  std::string root_;
};

inline hub::GroupRow OpenFetchOf(uint32_t world_size, VersionNumber version) {
  hub::GroupRow row;
  row.transaction = {7, version};
  row.publication = {8, ~uint64_t{0}};
  row.version = version;
  row.world_size = world_size;
  row.chunk_bytes = uint64_t{1} << 20;
  for (Rank rank = 0; rank < world_size; ++rank) {
    row.members[rank] = {~uint64_t{0} - rank, rank + 1, rank % 2 == 1, {rank, 1}};
  }
  return row;
}

// Rows of every kind, with numbers that need all their bits.
inline hub::DurableState SomeState() {
  hub::DurableState state;
  state.models["m/actor"] = {~VersionNumber{0}, {1, 2}};
  state.models["other"] = {0, {~uint64_t{0}, 0}};
  state.models["other"].terms = {{3, 0}, {kTermMax, ~VersionNumber{0}}};
  state.models["other"].term_by = "trainer";
  state.groups[{"m/actor", "rollout"}] = OpenFetchOf(3, 5);
  state.groups[{"m/actor", "rollout"}].term = {kTermMax, ~VersionNumber{0}};
  state.groups[{"m/actor", "rollout"}].sharding = {{7, 8}, true};
  hub::GroupRow& done = state.groups[{"m/actor", "second"}] = OpenFetchOf(1, ~VersionNumber{0});
  done.outcome = absl::OkStatus();
  hub::GroupRow& failed = state.groups[{"other", "rollout"}] = OpenFetchOf(2, 0);
  failed.outcome = AsOutage(absl::DataLossError("it's \"broken\""));
  hub::RetentionRow& both = state.retention["m/actor"];
  both.keep_latest = 0;
  both.pins["gold"] = {~VersionNumber{0}, TimeMs{1'800'000'000'000}};
  both.pins["release/7"] = {5, std::nullopt};
  state.retention["other"].keep_latest = hub::kKeepLatestMax;
  state.retention["pinned"].pins["p"] = {1, TimeMs{0}};
  state.workers[{"m/actor", "rollout", 0}] = {~Incarnation{0}};
  state.workers[{"m/actor", "rollout", kWorldSizeMax - 1}] = {1, {~uint64_t{0}, 0}};
  state.workers[{"m/actor", "leaving", 1}] = {2, {}, true};
  state.workers[{"m/actor", "leaving", 2}] = {3, {4, 5}, true};
  state.adopted[{~uint64_t{0}, 1}] = {true};
  state.adopted[{0, 2}] = {false};
  return state;
}

inline hub::Persist RowsOf(const hub::DurableState& state) {
  hub::Persist rows;
  for (const auto& [key, row] : state.models) rows.models[key] = row;
  for (const auto& [key, row] : state.groups) rows.groups[key] = row;
  for (const auto& [key, row] : state.retention) rows.retention[key] = row;
  for (const auto& [key, row] : state.workers) rows.workers[key] = row;
  for (const auto& [store, row] : state.adopted) rows.adopted[store] = row;
  return rows;
}

// A store that keeps rows, whatever they are kept in: each call is a life of a server.
struct KeptStore {
  std::function<Loaded()> load;
  std::function<void(const hub::Persist&)> keep;
};

inline void ExpectToStay(const KeptStore& store) {
  const Loaded first = store.load();
  EXPECT_TRUE(static_cast<bool>(first.identity.store_id));
  EXPECT_EQ(first.identity.epoch, 1u);
  EXPECT_FALSE(first.earlier_life);
  EXPECT_EQ(first.state, hub::DurableState{});
  const Loaded second = store.load();
  EXPECT_EQ(second.identity.store_id, first.identity.store_id);
  EXPECT_EQ(second.identity.epoch, 2u);
  EXPECT_TRUE(second.earlier_life);
}

// With names that look like a store's own words.
inline void ExpectToKeepRows(const KeptStore& store) {
  hub::DurableState state = SomeState();
  store.keep(RowsOf(state));
  EXPECT_EQ(store.load().state, state);
  hub::Persist rows;
  rows.models["m/actor"] = hub::ModelRow{6,
                                         {9, 9},
                                         {8, 8},
                                         {"trainer", {{0, {5, 1}}, {1, {6, kGenerationMax}}}},
                                         {{1, 4}, {kTermMax, 6}},
                                         "an operator"};
  rows.models["third"] = hub::ModelRow{1, {3, 3}};
  rows.models["other"] = std::nullopt;
  rows.models["50%/of/it"] = hub::ModelRow{2, {3, 4}};
  rows.groups[{"m/actor", "rollout"}] = std::nullopt;
  rows.groups[{"m/actor", "part/1"}] = OpenFetchOf(4, 6);
  rows.groups[{"nobody", "there"}] = std::nullopt;
  rows.retention["m/actor"] = std::nullopt;
  rows.retention["other"] = hub::RetentionRow{2, {{"new", {3, std::nullopt}}}};
  rows.retention["nobody"] = std::nullopt;
  rows.workers[{"m/actor", "part", 3}] = hub::WorkerRow{7};
  rows.workers[{"m/actor", "leaving", 1}] = std::nullopt;
  rows.adopted[{0, 2}] = hub::AdoptedRow{true};
  store.keep(rows);
  hub::Keep(rows, state);
  EXPECT_EQ(store.load().state, state);
}

}  // namespace tensorhub::store

#endif  // TENSORHUB_TESTS_UNIT_SERVER_STORE_STORE_FILES_H_
