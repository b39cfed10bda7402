// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/commit_thread.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace tensorhub::store {
namespace {

class FakeStore final : public Store {
 public:
  absl::StatusOr<Loaded> Load() override { return Loaded{}; }
  absl::Status Commit(const hub::Persist& rows) override {
    committed.push_back(rows.models.begin()->second->latest);
    return committed.size() == 3 ? absl::ResourceExhaustedError("full") : absl::OkStatus();
  }
  bool blocks() const override { return true; }

  std::vector<VersionNumber> committed;
};

hub::Persist Rows(VersionNumber version) {
  hub::Persist rows;
  rows.models["m"] = hub::ModelRow{version, {1, 1}};
  return rows;
}

TEST(CommitThreadTest, OneAfterTheOtherEachIsAnswered) {
  FakeStore store;
  std::promise<absl::Status> answers[3];
  size_t answered = 0;
  CommitThread thread(store,
                      [&](const absl::Status& status) { answers[answered++].set_value(status); });
  for (VersionNumber version = 1; version <= 3; ++version) {
    thread.Begin(Rows(version));
    const absl::Status status = answers[version - 1].get_future().get();
    EXPECT_EQ(status.ok(), version < 3);
  }
  EXPECT_EQ(store.committed, (std::vector<VersionNumber>{1, 2, 3}));
}

TEST(CommitThreadTest, WhatHasBegunIsFinished) {
  FakeStore store;
  int answered = 0;
  {
    CommitThread thread(store, [&](const absl::Status&) { ++answered; });
    thread.Begin(Rows(1));
  }
  EXPECT_EQ(answered, 1);
  EXPECT_EQ(store.committed.size(), 1u);
}

}  // namespace
}  // namespace tensorhub::store
