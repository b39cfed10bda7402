// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/thread.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

namespace tensorhub {
namespace {

// In a process whose user may have no thread beside the one that it is: 0 if the checks hold.
template <typename Checks>
int InACrowdedProcess(const Checks& checks) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit one = {1, 1};
    const uid_t nobody = 65534;  // no limit is for root
    const bool set = setrlimit(RLIMIT_NPROC, &one) == 0 &&
                     (geteuid() != 0 || setresuid(nobody, nobody, nobody) == 0);
    _exit(set && checks() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(Thread, RunsTheBody) {
  std::atomic<int> ran = 0;
  absl::StatusOr<std::thread> thread = StartThread("a test", [&] { ++ran; });
  ASSERT_TRUE(thread.ok());
  thread->join();
  RunInThreads(3, [&] { ++ran; });
  EXPECT_EQ(ran, 4);
  EXPECT_TRUE(CheckRoomForThreads("a test", 2).ok());
}

TEST(Thread, WhereNoneIsLeftIsAStatus) {
  EXPECT_EQ(InACrowdedProcess([] {
              const absl::Status status = StartThread("a test", [] {}).status();
              const std::string said(status.message());
              return absl::IsResourceExhausted(status) &&
                     said.find("cannot start a thread for a test") == 0 &&
                     said.find("ulimit -u") != std::string::npos;
            }),
            0);
}

TEST(Thread, WhatIsDoneTogetherIsDoneAlone) {
  EXPECT_EQ(InACrowdedProcess([] {
              int ran = 0;
              RunInThreads(4, [&] { ++ran; });
              return ran == 1;
            }),
            0);
}

TEST(Thread, RoomIsLookedForFirst) {
  EXPECT_EQ(InACrowdedProcess([] {
              const absl::Status status = CheckRoomForThreads("a test", 4);
              return absl::IsResourceExhausted(status) &&
                     std::string(status.message()).find("no more than 0 of the 4 threads") == 0;
            }),
            0);
}

void NeedAThreadWhereNoneIsLeft() {
  const rlimit one = {1, 1};
  setrlimit(RLIMIT_NPROC, &one);
  if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(2);
  StartThreadOrEnd("a test", [] {}).join();
  _exit(0);
}

TEST(Thread, AProgramEndsWithALine) {
  EXPECT_EXIT(NeedAThreadWhereNoneIsLeft(), testing::ExitedWithCode(1),
              "cannot start a thread for a test");
}

}  // namespace
}  // namespace tensorhub
