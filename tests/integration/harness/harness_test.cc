// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The harness itself, on programs that every machine has.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "tests/integration/harness/places.h"
#include "tests/integration/harness/process.h"

namespace tensorhub::harness {
namespace {

TEST(ProcessTest, InputOutputAndExitCode) {
  Process process({.binary = "/bin/sh",
                   .args = {"-c", "read line; echo got $line; echo $WORD >&2; exit 7"},
                   .env = {{"WORD", "from-env"}}});
  EXPECT_TRUE(process.Running());
  ASSERT_TRUE(process.WriteLine("hello"));
  EXPECT_EQ(process.output().WaitFor("got", seconds(10)), "got hello");
  EXPECT_EQ(process.Wait(seconds(10)), 7);
  EXPECT_EQ(process.errors().Text(), "from-env\n");
}

TEST(ProcessTest, KilledAndMissing) {
  Process process({.binary = "/bin/cat"});
  EXPECT_EQ(process.output().WaitFor("never", milliseconds(20)), std::nullopt);
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(seconds(10)), 128 + SIGTERM);
  EXPECT_EQ(RunToEnd({.binary = "/no/such/binary"}).exit_code, 127);
  EXPECT_EQ(RunToEnd({.binary = "/bin/sleep", .args = {"60"}}, milliseconds(20)).exit_code,
            128 + SIGKILL);
}

TEST(ProcessTest, TheDestructorKills) {
  pid_t pid = 0;
  {
    Process process({.binary = "/bin/cat"});
    pid = process.pid();
  }
  EXPECT_NE(kill(pid, 0), 0);
}

TEST(ProcessTest, AThrottledProcessGoesOn) {
  Process process({.binary = "/bin/cat"});
  {
    const Throttle slow(process.pid(), milliseconds(1), milliseconds(5));
    ASSERT_TRUE(process.WriteLine("slowly"));
    EXPECT_EQ(process.output().Next(seconds(10)), "slowly");
  }
  ASSERT_TRUE(process.WriteLine("again"));
  EXPECT_EQ(process.output().Next(seconds(10)), "again");
}

TEST(PlacesTest, TempDirGoesAway) {
  std::string path;
  {
    const TempDir folder;
    path = folder.path();
    EXPECT_TRUE(std::filesystem::is_directory(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_GT(FreePort(), 0);
}

}  // namespace
}  // namespace tensorhub::harness
