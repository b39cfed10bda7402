// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/seen/stall_watch.h"

#include <poll.h>
#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/harness/eventually.h"
#include "worker_agent/runtime/log.h"
#include "worker_agent/seen/stall_account.h"

namespace tensorhub::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kLookUs = 25'000;

// The processor's time that this thread has had.
int64_t ThreadTimeMs() {
  timespec used = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return int64_t{used.tv_sec} * 1000 + used.tv_nsec / 1'000'000;
}

// What is counted of a turn of `wall_us`, in each look of which the thread waits for a processor
// for `waited_us`.
int64_t HeldUp(int64_t wall_us, int64_t waited_us) {
  StallAccount account(0);
  constexpr int64_t kSinceUs = 10'000;
  int64_t now_us = 0;
  while (now_us + kLookUs < kSinceUs + wall_us) {
    now_us += kLookUs;
    account.Begin(now_us, kLookUs, waited_us);
    if (now_us > kSinceUs) account.UnderWay(kSinceUs);
  }
  account.Begin(now_us + kLookUs, kLookUs, waited_us);
  return account.Ended(kSinceUs, kSinceUs + wall_us);
}

TEST(StallAccount, CountsAllThatACallTakes) {
  for (const int64_t wall_us : {5'000, 40'000, 100'000, 1'234'000}) {
    EXPECT_EQ(HeldUp(wall_us, 0), wall_us);
  }
}

TEST(StallAccount, WaitingForAProcessorIsNobodysFault) {
  EXPECT_LE(HeldUp(1'000'000, 20'000), 210'000);
  EXPECT_EQ(HeldUp(1'000'000, kLookUs), 0);
}

// The looker comes late where its process was stopped.
TEST(StallAccount, NorIsHavingBeenStopped) {
  StallAccount account(0);
  account.Begin(kLookUs, kLookUs, 0);
  account.UnderWay(20'000);
  account.Begin(10'000'000, kLookUs, 0);
  EXPECT_LE(account.Ended(20'000, 9'999'000), 5'000 + kLookUs * 5 / 4);
}

// A process that runs for 2 of every 32 ms: the call takes 8 ms of what it runs.
TEST(StallAccount, NorIsBeingStoppedAgainAndAgain) {
  constexpr int64_t kCloseLookUs = 5'000;
  StallAccount account(0);
  int64_t now_us = 0;
  for (int stops = 0; stops < 4; ++stops) {
    if (stops > 0) account.UnderWay(1'000);
    now_us += 32'000;
    account.Begin(now_us, stops == 0 ? kLookUs : kCloseLookUs, 0);
  }
  EXPECT_LE(account.Ended(1'000, now_us), kLookUs * 5 / 4 + 3 * kCloseLookUs * 5 / 4);
}

TEST(StallAccount, TheNextTurnBeginsAnew) {
  StallAccount account(0);
  for (int64_t look = 1; look <= 10; ++look) {
    account.Begin(look * kLookUs, kLookUs, 0);
    EXPECT_LE(account.UnderWay(look * kLookUs - 3'000), 3'000);
  }
}

// The log of this process, which the watching thread writes.
class Lines : public spdlog::sinks::base_sink<std::mutex> {
 public:
  static Lines& Get() {
    static const auto lines = [] {
      auto made = std::make_shared<Lines>();
      Log().sinks().push_back(made);
      Log().set_level(spdlog::level::info);
      return made;
    }();
    return *lines;
  }
  // What has been written since the last time.
  std::string Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(text_, "");
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    text_.append(message.payload.data(), message.payload.size()).append("\n");
  }
  void flush_() override {}

  std::string text_;
};

std::string Said() {
  poll(nullptr, 0, 100);  // the watch looks now and then
  return Lines::Get().Take();
}

void Block(int ms) { poll(nullptr, 0, ms); }

class StallWatchTest : public ::testing::Test {
 protected:
  StallWatchTest() {
    Lines::Get().Take();
    EXPECT_TRUE(watch_.Start().ok());
  }
  ~StallWatchTest() override { watch_.Stop(); }

  // The watch looks late where others have the processors, and then lays nothing at the thread's
  // door.
  bool Eventually(const std::function<bool()>& condition) {
    return harness::Eventually(std::chrono::seconds(40), condition);
  }
  // The same, until it has said this as well.
  bool Says(const std::string& words) {
    return Eventually([&] { return absl::StrContains(said_ += Lines::Get().Take(), words); });
  }

  std::string said_;
  std::atomic<TimeMs> stalled_ms_{0};
  StallWatch watch_{"m/g/0", [this](TimeMs stalled_ms) { stalled_ms_ = stalled_ms; }};
};

// A turn at which it looked late proves nothing.
TEST_F(StallWatchTest, NamesWhatHeldTheThreadUp) {
  for (int attempt = 0; attempt < 30 && !absl::StrContains(said_, "held up"); ++attempt) {
    stalled_ms_ = 0;
    {
      const StallWatch::Turn turn(watch_);
      const StallWatch::Call outer(watch_, "the outer call");
      const StallWatch::Call inner(watch_, "the inner call");
      Block(300);
    }
    said_ = Said();
    if (stalled_ms_ != 0) said_.clear();  // it lasted for longer than it should
  }
  EXPECT_THAT(said_, AllOf(HasSubstr("m/g/0: the progress thread was held up for "),
                           HasSubstr(": the inner call"), Not(HasSubstr("outer"))));
  EXPECT_EQ(stalled_ms_, 0);
}

// Which is a fault, too, but no waiting. A turn in which others had the processor proves nothing.
TEST_F(StallWatchTest, TellsABusyThreadFromOneThatWaits) {
  int unheard = 0;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const auto begun = std::chrono::steady_clock::now();
    {
      const StallWatch::Turn turn(watch_);
      const StallWatch::Call call(watch_, "a sum");
      const int64_t until = ThreadTimeMs() + 300;
      while (ThreadTimeMs() < until) {
      }
    }
    const bool alone = std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(330);
    const std::string said = Said();
    unheard += static_cast<int>(alone && said.empty());  // it looked late
    if (!alone || said.empty()) continue;
    EXPECT_THAT(said, AllOf(HasSubstr("m/g/0: the progress thread was busy for "),
                            HasSubstr(": a sum"), Not(HasSubstr("held up"))));
    return;
  }
  ASSERT_LT(unheard, 5);
  GTEST_SKIP() << "others had this thread's processor in each of ten turns";
}

TEST_F(StallWatchTest, SaysNothingOfShortTurnsAndOfSleep) {
  for (int i = 0; i < 20; ++i) {
    const StallWatch::Turn turn(watch_);
    const StallWatch::Call call(watch_, "a call");
    Block(10);
  }
  Block(300);
  EXPECT_EQ(Said(), "");
}

TEST_F(StallWatchTest, TellsWhileTheThreadStandsStill) {
  const StallWatch::Turn turn(watch_);
  const StallWatch::Call call(watch_, "a call that never ends");
  EXPECT_TRUE(Eventually([this] { return stalled_ms_ >= 1000; }));
  EXPECT_TRUE(Says("the progress thread stands still")) << said_;
  EXPECT_THAT(said_, HasSubstr("a call that never ends"));
}

TEST_F(StallWatchTest, WhatTheOwnerAskedForMayTakeItsTime) {
  {
    const StallWatch::Turn turn(watch_);
    const StallWatch::Call call(watch_, "allocating memory", StallWatch::Kind::kOwners);
    EXPECT_TRUE(Eventually([this] { return stalled_ms_ >= 500; }));
  }
  EXPECT_TRUE(Says("allocating memory took ")) << said_;
  EXPECT_THAT(said_ + Said(), Not(HasSubstr("held up")));
}

}  // namespace
}  // namespace tensorhub::agent
