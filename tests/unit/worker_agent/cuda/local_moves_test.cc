// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/local_moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
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
  // In two pieces.
  bool AddChunk(uint64_t begin, uint64_t bytes, std::optional<uint64_t>* digest) {
    const uint64_t cut = begin + bytes / 48 * 16;
    const kernels::MovePiece pieces[] = {
        {from_ + begin, to_ + begin, cut - begin},
        {from_ + cut, to_ + cut, begin + bytes - cut},
    };
    return moves_->AddChunk(pieces, digest);
  }
  uint64_t DigestOf(uint64_t begin, uint64_t bytes) const {
    const DigestPiece whole{content_.data() + begin, bytes};
    return ChunkDigest(&whole, 1);
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
  EXPECT_EQ(driver_.count("SynchronizeStream"), waits + 3);  // all streams
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

TEST_F(LocalMovesTest, ChunksAreHashedAsTheyPass) {
  std::optional<uint64_t> digests[2];
  EXPECT_TRUE(AddChunk(16, 3000, &digests[0]));
  EXPECT_TRUE(AddChunk(3200, 500, &digests[1]));
  Add(8000, 100);
  ASSERT_EQ(moves_->Begin(), absl::OkStatus());
  EXPECT_EQ(driver_.count("Launch"), 2);  // one for both, and one for what is only moved
  EXPECT_FALSE(digests[0]);
  ASSERT_EQ(EndOldest(), absl::OkStatus());
  EXPECT_EQ(digests[0], DigestOf(16, 3000));
  EXPECT_EQ(digests[1], DigestOf(3200, 500));
  EXPECT_TRUE(Arrived(16, 3000) && Arrived(3200, 500) && Arrived(8000, 100));
  EXPECT_FALSE(Arrived(3016, 184));
}

TEST_F(LocalMovesTest, AChunkThatWouldGoByteByByteIsNotTaken) {
  std::optional<uint64_t> digest;
  EXPECT_FALSE(AddChunk(4, 3000, &digest));
  ASSERT_EQ(moves_->Begin(), absl::OkStatus());
  EXPECT_EQ(driver_.count("Launch"), 0);
}

TEST_F(LocalMovesTest, WithoutRoomForTheirTablesChunksAreOnlyCopied) {
  driver_.FailNext("AllocateHost", absl::ResourceExhaustedError("cuMemHostAlloc: none left"));
  std::optional<uint64_t> digest;
  EXPECT_TRUE(AddChunk(0, 3000, &digest));
  ASSERT_EQ(moves_->Begin(), absl::OkStatus());
  ASSERT_EQ(EndOldest(), absl::OkStatus());
  EXPECT_TRUE(Arrived(0, 3000));
  EXPECT_FALSE(digest);
  EXPECT_FALSE(AddChunk(0, 3000, &digest));  // nor asked for it at once again
}

// Nor is it asked for its digest any more.
TEST_F(LocalMovesTest, AChunkOfABatchThatFailedIsForgotten) {
  for (const char* call : {"CopyAsync", "Launch", "RecordEvent"}) {
    std::optional<uint64_t> failed;
    std::optional<uint64_t> good;
    Add(20'000, 10, /*by_kernels=*/false);  // is enqueued before it
    EXPECT_TRUE(AddChunk(0, 3000, &failed));
    driver_.FailNext(call, absl::AbortedError("gone"));
    EXPECT_EQ(moves_->Begin().code(), StatusCode::kAborted) << call;
    const uint64_t blocks = driver_.launched_blocks();
    EXPECT_TRUE(AddChunk(8192, 1000, &good));
    ASSERT_EQ(moves_->Begin(), absl::OkStatus());
    ASSERT_EQ(EndOldest(), absl::OkStatus());
    EXPECT_EQ(driver_.launched_blocks(), blocks + 1) << call;
    EXPECT_EQ(good, DigestOf(8192, 1000));
    EXPECT_FALSE(failed);
    Add(16384, 10);
    ASSERT_EQ(moves_->Begin(), absl::OkStatus());
    ASSERT_EQ(EndOldest(), absl::OkStatus());
    EXPECT_FALSE(failed);
  }
}

// What the means of an earlier batch still know is not this one's.
TEST_F(LocalMovesTest, DigestsOfEachBatchAreItsOwn) {
  std::optional<uint64_t> digests[6];
  for (size_t i = 0; i < 6; ++i) {
    if (i % 3 != 2) AddChunk(4096 * i, 1000, &digests[i]);
    Add(4096 * i + 2000, 10);
    ASSERT_EQ(moves_->Begin(), absl::OkStatus());
    if (i == 3) driver_.FailNext("EventDone", absl::FailedPreconditionError("not now"));
    EXPECT_EQ(EndOldest().ok(), i != 3);
    EXPECT_EQ(digests[i].has_value(), i % 3 != 2 && i != 3) << i;
    if (digests[i]) {
      EXPECT_EQ(digests[i], DigestOf(4096 * i, 1000)) << i;
    }
  }
  EXPECT_FALSE(digests[3]);
}

TEST_F(LocalMovesTest, NothingIsLeftBehind) {
  std::optional<uint64_t> digest;
  EXPECT_TRUE(AddChunk(4096, 1000, &digest));
  Add(0, 1000);
  ASSERT_EQ(moves_->Begin(), absl::OkStatus());
  moves_.reset();
  EXPECT_EQ(driver_.left_over(), 0u);
}

}  // namespace
}  // namespace tensorhub::agent::testing
