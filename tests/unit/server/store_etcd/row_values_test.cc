// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/etcd/row_values.h"

#include <gtest/gtest.h>

#include "server/store/etcd/kept.pb.h"
#include "tests/unit/server/store/store_files.h"

namespace tensorhub::store {
namespace {

TEST(RowValuesTest, RowsComeBackAsTheyWere) {
  const hub::DurableState state = SomeState();
  for (const auto& [model, row] : state.models) EXPECT_EQ(ModelFrom(ToValue(row)), row);
  for (const auto& [key, row] : state.groups) EXPECT_EQ(GroupFrom(ToValue(row)), row);
  for (const auto& [model, row] : state.retention) EXPECT_EQ(RetentionFrom(ToValue(row)), row);
  for (const auto& [key, row] : state.workers) EXPECT_EQ(WorkerFrom(ToValue(row)), row);
}

// R9: each change makes a row that no server writes.
TEST(RowValuesTest, RowsThatCannotBeAreNone) {
  const auto refused = [](const auto& change) {
    kept::Group message;
    EXPECT_TRUE(message.ParseFromString(ToValue(OpenFetchOf(2, 3))));
    change(message);
    return !GroupFrom(message.SerializeAsString()).has_value();
  };
  using Group = kept::Group;
  EXPECT_FALSE(refused([](Group&) {}));
  EXPECT_TRUE(refused([](Group& group) { group.set_publication("short"); }));
  EXPECT_TRUE(refused([](Group& group) { group.set_transaction(std::string(16, '\0')); }));
  EXPECT_TRUE(refused([](Group& group) { group.set_identity("x"); }));
  EXPECT_TRUE(refused([](Group& group) { group.set_sharding("x"); }));
  EXPECT_TRUE(refused([](Group& group) { group.set_members(""); }));
  EXPECT_TRUE(refused([](Group& group) { group.set_world_size(1); }));
  EXPECT_TRUE(refused([](Group& group) { group.set_world_size(kWorldSizeMax + 1); }));
  EXPECT_TRUE(refused([](Group& group) { group.set_term(kTermMax + 1); }));
  EXPECT_TRUE(refused([](Group& group) { group.mutable_outcome()->set_code(17); }));
  EXPECT_FALSE(ModelFrom("").has_value());
  EXPECT_FALSE(ModelFrom("\xff").has_value());
  EXPECT_FALSE(WorkerFrom("").has_value());
  kept::Retention retention;
  retention.set_keep_latest(hub::kKeepLatestMax + 1);
  EXPECT_FALSE(RetentionFrom(retention.SerializeAsString()).has_value());
}

}  // namespace
}  // namespace tensorhub::store
