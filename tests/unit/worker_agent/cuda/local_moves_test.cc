// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/local_moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/unit/worker_agent/cuda/kernel_driver.h"

namespace tensorhub::agent::testing {
namespace {

using absl::StatusCode;

constexpr uint64_t kLong = 16 << 20;

class LocalMovesTest : public ::testing::Test {
 protected:
  LocalMovesTest() : primary_(CudaPrimary::Retain(&driver_, 0).value()), current_(primary_) {
    moves_ = LocalMoves::Make(primary_, KernelDriver::Image()).value();
    for (char& byte : content_) byte = static_cast<char>(at_++ % 251);
    from_ = driver_.OnDevice(content_);
    to_ = driver_.OnDevice(std::string(content_.size(), '?'));
  }
  void Add(uint64_t begin, uint64_t bytes, bool by_kernels = true) {
    moves_->Add({from_ + begin, to_ + begin, bytes}, by_kernels);
  }
  bool Arrived(uint64_t begin, uint64_t bytes) {
    const auto* const arrived = reinterpret_cast<const char*>(driver_.Shadow(to_)) + begin;
    return std::string_view(arrived, bytes) == std::string_view(content_).substr(begin, bytes);
  }
  absl::Status EndOldest() {
    for (;;) {
      const absl::StatusOr<bool> ended = moves_->OldestEnded();
      if (!ended.ok() || *ended) return ended.status();
    }
  }

  KernelDriver driver_;
  CudaPrimary primary_;
  CudaCurrent current_;
  size_t at_ = 0;
  std::string content_ = std::string(kLong + (1 << 20), '\0');
  std::byte* from_ = nullptr;
  std::byte* to_ = nullptr;
  std::unique_ptr<LocalMoves> moves_;
};

TEST_F(LocalMovesTest, ShortOnesAreMovedByOneKernelAndLongOnesCopied) {
  const int copies = driver_.count("CopyAsync");
  for (uint64_t i = 0; i < 100; ++i) Add(kLong + 1000 * i, 999);
  Add(0, kLong);
  EXPECT_EQ(driver_.count("Launch"), 0);
  ASSERT_EQ(moves_->Begin(), absl::OkStatus());
  EXPECT_EQ(driver_.count("Launch"), 1);
  EXPECT_EQ(driver_.count("CopyAsync"), copies + 2);  // and the kernel's table
  EXPECT_FALSE(*moves_->OldestEnded());
  ASSERT_EQ(EndOldest(), absl::OkStatus());
  EXPECT_TRUE(Arrived(0, kLong));
  for (uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(Arrived(kLong + 1000 * i, 999)) << i;
  EXPECT_FALSE(Arrived(kLong + 999, 1));  // nothing beside them
}

TEST_F(LocalMovesTest, WhatKernelsCannotReachIsCopied) {
  Add(0, 100, /*by_kernels=*/false);
  ASSERT_EQ(moves_->Begin(), absl::OkStatus());
  ASSERT_EQ(EndOldest(), absl::OkStatus());
  EXPECT_EQ(driver_.count("Launch"), 0);
  EXPECT_TRUE(Arrived(0, 100));
}

TEST_F(LocalMovesTest, WithoutRoomForTheKernelsTablesTheyAreCopied) {
  driver_.FailNext("AllocateHost", absl::ResourceExhaustedError("cuMemHostAlloc: none left"));
  Add(5, 100);
  Add(200, 100);
  ASSERT_EQ(moves_->Begin(), absl::OkStatus());
  ASSERT_EQ(EndOldest(), absl::OkStatus());
  EXPECT_EQ(driver_.count("Launch"), 0);
  EXPECT_TRUE(Arrived(5, 100) && Arrived(200, 100));
}

TEST_F(LocalMovesTest, BatchesEndInTheirOrder) {
  for (uint64_t i = 0; i < 5; ++i) {
    Add(1000 * i, 1000);
    ASSERT_EQ(moves_->Begin(), absl::OkStatus());
  }
  for (uint64_t i = 0; i < 5; ++i) {
    ASSERT_EQ(EndOldest(), absl::OkStatus());
    EXPECT_TRUE(Arrived(1000 * i, 1000));
  }
  EXPECT_FALSE(*moves_->OldestEnded());
}

TEST_F(LocalMovesTest, NeighboursAreOne) {
  const int copies = driver_.count("CopyAsync");
  for (uint64_t begin = 0; begin < kLong; begin += kLong / 4) Add(begin, kLong / 4);
  ASSERT_EQ(moves_->Begin(), absl::OkStatus());
  EXPECT_EQ(driver_.count("CopyAsync"), copies + 1);
  EXPECT_EQ(driver_.count("Launch"), 0);  // together they are long
  ASSERT_EQ(EndOldest(), absl::OkStatus());
  EXPECT_TRUE(Arrived(0, kLong));
}

TEST_F(LocalMovesTest, AfterAnErrorAllHasBeenWaitedFor) {
  Add(0, 1000, /*by_kernels=*/false);
  ASSERT_EQ(moves_->Begin(), absl::OkStatus());
  driver_.FailNext("RecordEvent", absl::AbortedError("cuEventRecord: gone"));
  const int waits = driver_.count("SynchronizeStream");
  Add(2000, 1000, /*by_kernels=*/false);
  EXPECT_EQ(moves_->Begin().code(), StatusCode::kAborted);
  EXPECT_EQ(driver_.count("SynchronizeStream"), waits + 2);  // both streams
  EXPECT_TRUE(Arrived(0, 1000));
  EXPECT_FALSE(*moves_->OldestEnded());
  Add(4000, 1000);
  ASSERT_EQ(moves_->Begin(), absl::OkStatus());
  ASSERT_EQ(EndOldest(), absl::OkStatus());
  EXPECT_TRUE(Arrived(4000, 1000));
}

// R4: it may be under way still.
TEST_F(LocalMovesTest, ABatchWhoseEndCannotBeAskedForIsWaitedFor) {
  Add(0, 1000);
  ASSERT_EQ(moves_->Begin(), absl::OkStatus());
  driver_.FailNext("EventDone", absl::FailedPreconditionError("cuEventQuery: not now"));
  EXPECT_FALSE(moves_->OldestEnded().ok());
  EXPECT_TRUE(Arrived(0, 1000));
}

TEST_F(LocalMovesTest, ADeviceWithoutRoomIsNotAskedForItAtOnceAgain) {
  driver_.FailNext("AllocateHost", absl::ResourceExhaustedError("cuMemHostAlloc: none left"));
  for (uint64_t i = 0; i < 3; ++i) {
    Add(1000 * i, 1000);
    ASSERT_EQ(moves_->Begin(), absl::OkStatus());
    ASSERT_EQ(EndOldest(), absl::OkStatus());
  }
  EXPECT_EQ(driver_.count("AllocateHost"), 1);
  EXPECT_TRUE(Arrived(0, 3000));
}

// A graph may be captured in another thread at any time, in the mode that forbids most.
TEST_F(LocalMovesTest, ACaptureElsewhereIsNoHindrance) {
  driver_.Capture(true);
  Add(0, 1000);
  ASSERT_EQ(moves_->Begin(), absl::OkStatus());
  EXPECT_EQ(EndOldest(), absl::OkStatus());
  driver_.Capture(false);
}

TEST_F(LocalMovesTest, NothingIsLeftBehind) {
  Add(0, 1000);
  ASSERT_EQ(moves_->Begin(), absl::OkStatus());
  moves_.reset();
  EXPECT_EQ(driver_.left_over(), 0u);
}

}  // namespace
}  // namespace tensorhub::agent::testing
