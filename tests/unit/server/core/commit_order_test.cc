// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/commit_order.h"

#include <gtest/gtest.h>

namespace tensorhub::hub {
namespace {

// Calls are numbered by who reads them.
Effect Said(CallId call) { return Reply{call, absl::OkStatus(), {}}; }
Effect Rows(const std::string& model, VersionNumber latest) {
  Persist rows;
  rows.models[model] = ModelRow{latest, {}};
  return rows;
}

class CommitOrderTest : public testing::Test {
 protected:
  void Add(Effects effects) {
    order_.Add(effects);
    EXPECT_TRUE(effects.empty());
  }
  std::vector<CallId> Ready(CommitOrder& order) {
    Effects ready;
    order.TakeReady(ready);
    std::vector<CallId> calls;
    for (const Effect& effect : ready) {
      if (const auto* reply = std::get_if<Reply>(&effect)) calls.push_back(reply->call);
    }
    return calls;
  }
  std::vector<CallId> Ready() { return Ready(order_); }
  using Calls = std::vector<CallId>;

  CommitOrder order_{/*keeps=*/true};
};

TEST_F(CommitOrderTest, WithoutRowsNothingWaits) {
  Add({Said(1), Said(2)});
  EXPECT_FALSE(order_.MustCommit());
  EXPECT_EQ(Ready(), (Calls{1, 2}));
  EXPECT_EQ(Ready(), Calls{});
}

TEST_F(CommitOrderTest, WhatRestsOnRowsWaitsForThem) {
  Add({Rows("m", 1), Said(1)});
  EXPECT_TRUE(order_.MustCommit());
  EXPECT_EQ(Ready(), Calls{});
  EXPECT_EQ(order_.BeginCommit().models.at("m")->latest, 1u);
  EXPECT_FALSE(order_.MustCommit());
  EXPECT_EQ(Ready(), Calls{});
  order_.EndCommit();
  EXPECT_EQ(Ready(), Calls{1});
}

TEST_F(CommitOrderTest, WhatComesMeanwhileStaysBehind) {
  Add({Rows("m", 1), Said(1)});
  order_.BeginCommit();
  Add({Said(2)});
  Add({Rows("m", 2), Said(3)});
  Add({Rows("n", 7), Said(4)});
  EXPECT_EQ(order_.waiting(), 5u);
  order_.EndCommit();
  EXPECT_EQ(Ready(), Calls{1});
  const Persist rows = order_.BeginCommit();
  EXPECT_EQ(rows.models.at("m")->latest, 2u);
  EXPECT_EQ(rows.models.at("n")->latest, 7u);
  EXPECT_EQ(Ready(), Calls{});
  order_.EndCommit();
  EXPECT_EQ(Ready(), (Calls{2, 3, 4}));
}

TEST_F(CommitOrderTest, WhatCouldNotBeKeptIsNeverSaid) {
  Add({Rows("m", 1), Said(1)});
  order_.BeginCommit();
  Add({Rows("m", 2), Said(2)});
  order_.Drop();
  EXPECT_FALSE(order_.MustCommit() || order_.committing());
  EXPECT_EQ(Ready(), Calls{});
}

TEST_F(CommitOrderTest, WithoutAStoreRowsAreNotWaitedFor) {
  CommitOrder order(/*keeps=*/false);
  Effects effects = {Rows("m", 1), Said(1)};
  order.Add(effects);
  EXPECT_FALSE(order.MustCommit());
  EXPECT_EQ(Ready(order), Calls{1});
}

}  // namespace
}  // namespace tensorhub::hub
