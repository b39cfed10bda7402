// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/process_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <limits>

namespace tensorhub::bench {
namespace {

using testing::HasSubstr;

// No process has this number (the kernel's largest is 2^22).
constexpr pid_t kNobody = std::numeric_limits<pid_t>::max();

double OwnCpuSeconds() {
  timespec cpu = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  return static_cast<double>(cpu.tv_sec) + static_cast<double>(cpu.tv_nsec) * 1e-9;
}

TEST(ProcessFactsTest, MemoryOfAProcess) {
  EXPECT_GT(ResidentBytesOf(getpid()), 0u);
  EXPECT_EQ(ResidentBytesOf(kNobody), 0u);
}

TEST(ProcessFactsTest, CpuOfAProcess) {
  constexpr double kTicks = 0.1;  // the kernel's are 10 ms; user and system time have one each
  while (OwnCpuSeconds() < 2 * kTicks) {
  }
  EXPECT_NEAR(CpuSecondsOf(getpid()), OwnCpuSeconds(), kTicks);
  EXPECT_EQ(CpuSecondsOf(kNobody), 0);
}

TEST(ProcessFactsTest, OpenFiles) {
  EXPECT_TRUE(AllowOpenFiles(16).ok());
  const absl::Status status = AllowOpenFiles(uint64_t{1} << 40);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("ulimit -n"));
}

}  // namespace
}  // namespace tensorhub::bench
