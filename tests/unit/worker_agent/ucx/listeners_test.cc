// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/listeners.h"

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <thread>

#include "gtest/gtest.h"

namespace tensorhub::agent {
namespace {

int Listen() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(listen(fd, 1), 0);
  return fd;
}

TEST(Listeners, OneThatIsClosedIsMissed) {
  const int before = Listen();
  int mine = -1;
  const Listeners listeners = Listeners::OpenedBy([&] { mine = Listen(); });
  close(before);
  EXPECT_TRUE(listeners.AllThere());
  const int in_its_place = Listen();
  close(mine);
  EXPECT_FALSE(listeners.AllThere());
  const int other = Listen();  // under the same number
  EXPECT_EQ(other, mine);
  EXPECT_FALSE(listeners.AllThere());
  close(other);
  close(in_its_place);
}

// Clients of one process connect at the same time, and leave each on its own.
TEST(Listeners, WhatAnotherThreadOpensMeanwhileIsNotTakenForOnesOwn) {
  std::promise<void> begun;
  std::promise<int> opened;
  std::future<int> others = opened.get_future();
  std::thread other([&] {
    begun.get_future().wait();
    int fd = -1;
    Listeners::OpenedBy([&] { fd = Listen(); });
    opened.set_value(fd);
  });
  int mine = -1;
  const Listeners listeners = Listeners::OpenedBy([&] {
    begun.set_value();
    others.wait_for(std::chrono::milliseconds(200));  // it has to wait for this one
    mine = Listen();
  });
  close(others.get());
  EXPECT_TRUE(listeners.AllThere());
  other.join();
  close(mine);
}

}  // namespace
}  // namespace tensorhub::agent
