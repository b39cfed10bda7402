// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/cli/child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tensorhub::cli {
namespace {

// How a child ends that sleeps once it has asked to end with its input.
int HowItEnds(int input, int own_end) {
  const pid_t child = fork();
  if (child == 0) {
    dup2(input, STDIN_FILENO);
    close(input);
    if (own_end >= 0) close(own_end);
    if (EndWithInput()) _exit(3);
    for (;;) pause();
  }
  close(input);
  if (own_end >= 0) close(own_end);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(ChildTest, EndsWithItsInput) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int status = HowItEnds(ends[0], ends[1]);  // whether it ends before it has asked or after
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
}

TEST(ChildTest, AnEndBeforeItAskedIsNoticed) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[1]);
  const int status = HowItEnds(ends[0], -1);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
}

TEST(ChildTest, OnlyAPipeHasAParentAtItsOtherEnd) {
  FILE* const file = tmpfile();
  ASSERT_NE(file, nullptr);
  const int status = HowItEnds(dup(fileno(file)), -1);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3) << status;
  fclose(file);
}

}  // namespace
}  // namespace tensorhub::cli
