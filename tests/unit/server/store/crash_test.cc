// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A process that is killed while it commits: what it had been told is kept stays, and no batch is
// there in part.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "tests/unit/server/store/store_files.h"

namespace tensorhub::store {
namespace {

class CrashTest : public StoreFilesTest {
 protected:
  // Batch N: every row of it says N.
  static hub::Persist Batch(VersionNumber n) {
    hub::Persist rows;
    for (int i = 0; i < 20; ++i) {
      const std::string model = absl::StrCat("m", i);
      rows.models[model] = hub::ModelRow{n, {1, n + 1}};
      rows.groups[{model, "g"}] = OpenFetchOf(64, n);
    }
    return rows;
  }

  // Commits as long as it lives; writes each number to `told` once it is kept.
  [[noreturn]] void CommitForEver(int told, VersionNumber first) const {
    auto store = SqliteStore::Open(dir());
    if (!store.ok()) _exit(2);
    for (VersionNumber n = first;; ++n) {
      if (!(*store)->Commit(Batch(n)).ok()) _exit(3);
      if (write(told, &n, sizeof(n)) != sizeof(n)) _exit(4);
    }
  }

  // The last number that a process told before it was killed, after at least `batches` of them.
  VersionNumber KillInTheMiddle(VersionNumber first, int batches) const {
    int pipe_ends[2];
    EXPECT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) CommitForEver(pipe_ends[1], first);
    close(pipe_ends[1]);
    VersionNumber told = 0;
    for (int i = 0; i < batches; ++i) {
      EXPECT_EQ(read(pipe_ends[0], &told, sizeof(told)), ssize_t{sizeof(told)});
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    while (read(pipe_ends[0], &told, sizeof(told)) == ssize_t{sizeof(told)}) {
    }
    close(pipe_ends[0]);
    return told;
  }
};

TEST_F(CrashTest, WhatWasToldIsThereAndBatchesAreWhole) {
  LoadOnce();
  VersionNumber next = 1;
  for (int round = 0; round < 20; ++round) {
    const VersionNumber told = KillInTheMiddle(next, 1 + round);
    const hub::DurableState state = LoadOnce().state;
    ASSERT_EQ(state.models.size(), 20u);
    const VersionNumber kept = state.models.begin()->second.latest;
    EXPECT_GE(kept, told);
    hub::DurableState whole;
    hub::Keep(Batch(kept), whole);
    EXPECT_EQ(state, whole);
    next = kept + 1;
  }
}

// The log of a machine that stopped may end anywhere: the batches before that are there.
TEST_F(CrashTest, ATornLogCostsItsLastBatches) {
  const auto store = Open();
  ASSERT_TRUE(store->Load().ok());
  for (VersionNumber n = 1; n <= 3; ++n) ASSERT_TRUE(store->Commit(Batch(n)).ok());
  const std::string log = Content("hub.db-wal");
  VersionNumber last = 3;
  for (size_t cut = 0; cut < log.size(); cut += log.size() / 16) {
    const std::string copy = absl::StrCat(root_, "/copy", cut);
    std::filesystem::copy(dir(), copy);
    std::ofstream(copy + "/hub.db-wal", std::ios::trunc) << log.substr(0, log.size() - cut);
    auto reopened = SqliteStore::Open(copy);
    ASSERT_TRUE(reopened.ok()) << reopened.status();
    const hub::DurableState state = (*reopened)->Load()->state;
    const VersionNumber kept = state.models.empty() ? 0 : state.models.begin()->second.latest;
    EXPECT_LE(kept, last);
    hub::DurableState whole;
    if (kept > 0) hub::Keep(Batch(kept), whole);
    EXPECT_EQ(state, whole);
    last = kept;
  }
  EXPECT_EQ(last, 0u);
}

}  // namespace
}  // namespace tensorhub::store
