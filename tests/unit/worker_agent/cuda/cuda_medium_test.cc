// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/cuda_medium.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/random.h"
#include "tests/unit/worker_agent/cuda/kernel_driver.h"

namespace tensorhub::agent::testing {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

constexpr uint64_t kChunkBytes = 4096;

// Three tensors, scattered over an allocation of device 0; the CPU cannot touch them.
class CudaMediumTest : public ::testing::Test {
 protected:
  void Make(const FakeDriver::Options& options = {}) {
    Make(std::make_unique<FakeDriver>(options));
  }
  void Make(std::unique_ptr<FakeDriver> driver) {
    driver_ = std::move(driver);
    begin_ = driver_->Allocate(0, 1 << 20);
    const std::vector<TensorBuffer> tensors = {Tensor("a", 64, 5000), Tensor("b", 300'000, 9001),
                                               Tensor("c", 20'000, 77)};
    memory_ = std::make_unique<Memory>(Memory::Make(tensors).value());
    medium_ = CudaMedium::Make(tensors, driver_.get(), KernelDriver::Image()).value();
    memory_->UseMedium(medium_);
    Random random(5);
    content_.resize(memory_->total_bytes());
    for (char& byte : content_) byte = static_cast<char>(random.Next());
  }
  void TearDown() override {
    memory_.reset();
    medium_.reset();
    EXPECT_EQ(driver_->left_over(), 0u);
    EXPECT_EQ(driver_->contexts_retained(), 0u);
  }

  TensorBuffer Tensor(const std::string& name, uint64_t place, uint64_t bytes) const {
    TensorBuffer tensor;
    tensor.name = name;
    tensor.dtype = "U8";
    tensor.shape = {bytes};
    tensor.data = begin_ + place;
    tensor.bytes = bytes;
    tensor.cuda = true;
    return tensor;
  }
  std::vector<Memory::Piece> Pieces(uint64_t begin, uint64_t bytes) const {
    std::vector<Memory::Piece> pieces;
    memory_->Pieces({begin, bytes}, pieces);
    return pieces;
  }
  // What is on the device now.
  std::string Bytes() {
    std::string bytes;
    for (const Memory::Piece& piece : Pieces(0, memory_->total_bytes())) {
      bytes.append(reinterpret_cast<const char*>(driver_->Shadow(piece.data)), piece.bytes);
    }
    return bytes;
  }
  void Fill() {
    size_t done = 0;
    for (const Memory::Piece& piece : Pieces(0, memory_->total_bytes())) {
      std::memcpy(driver_->Shadow(piece.data), content_.data() + done, piece.bytes);
      done += piece.bytes;
    }
  }

  std::unique_ptr<FakeDriver> driver_;
  std::byte* begin_ = nullptr;
  std::unique_ptr<Memory> memory_;
  std::shared_ptr<CudaMedium> medium_;
  std::string content_;
};

TEST_F(CudaMediumTest, SaysWhatItIs) {
  Make();
  EXPECT_EQ(medium_->Describe(), "CUDA device 0 (Fake H200, 0000:00:00.0)");
  const std::vector<Memory::Piece> regions = medium_->Regions();
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_EQ(regions[0].data, begin_ + 64);
  EXPECT_EQ(regions[0].bytes, 300'000u + 9001 - 64);
}

// R4: the copies may be late, but not later than that.
TEST_F(CudaMediumTest, WhatWasCopiedInIsThereOnceItIsMadeVisible) {
  Make();
  for (uint64_t begin = 0; begin < content_.size(); begin += 1000) {
    const uint64_t bytes = std::min<uint64_t>(1000, content_.size() - begin);
    std::string message = content_.substr(begin, bytes);
    ASSERT_EQ(medium_->CopyIn(Pieces(begin, bytes), message), absl::OkStatus());
    message.assign(bytes, '?');  // the message is gone
  }
  EXPECT_NE(Bytes(), content_);
  ASSERT_EQ(medium_->MakeVisible(), absl::OkStatus());
  EXPECT_EQ(Bytes(), content_);
}

// Whatever the size, and without taking ever more page-locked memory.
TEST_F(CudaMediumTest, CopiesInAnyNumberOfFrames) {
  begin_ = nullptr;
  driver_ = std::make_unique<FakeDriver>(FakeDriver::Options{});
  begin_ = driver_->Allocate(0, 8 << 20);
  const std::vector<TensorBuffer> tensors = {Tensor("a", 0, 5 << 20), Tensor("b", 6 << 20, 99)};
  memory_ = std::make_unique<Memory>(Memory::Make(tensors).value());
  medium_ = CudaMedium::Make(tensors, driver_.get(), KernelDriver::Image()).value();
  Random random(6);
  content_.resize(memory_->total_bytes());
  for (char& byte : content_) byte = static_cast<char>(random.Next());
  const size_t before = driver_->left_over();
  for (uint64_t begin = 0, bytes = 0; begin < content_.size(); begin += bytes) {
    bytes = std::min<uint64_t>(begin == 0 ? 700'001 : 50'000, content_.size() - begin);
    ASSERT_EQ(medium_->CopyIn(Pieces(begin, bytes), content_.substr(begin, bytes)),
              absl::OkStatus());
  }
  EXPECT_LE(driver_->left_over(), before + 17);
  ASSERT_EQ(medium_->MakeVisible(), absl::OkStatus());
  EXPECT_EQ(Bytes(), content_);
}

TEST_F(CudaMediumTest, WithoutNetworkCardsThereIsNothingToFlush) {
  driver_ = std::make_unique<FakeDriver>(FakeDriver::Options{});
  begin_ = driver_->Allocate(0, 1 << 20);
  medium_ = CudaMedium::Make({Tensor("a", 0, 5000)}, driver_.get(), KernelDriver::Image(),
                             /*network_cards=*/false)
                .value();
  ASSERT_EQ(medium_->MakeVisible(), absl::OkStatus());
  EXPECT_EQ(driver_->count("FlushRemoteWrites"), 0);
}

TEST_F(CudaMediumTest, RemoteWritesAreFlushedWhereTheDeviceDoesNotOrderThem) {
  using Ordering = CudaDevice::WritesOrdering;
  for (const Ordering ordering : {Ordering::kNone, Ordering::kOwner, Ordering::kAllDevices}) {
    if (medium_) TearDown();
    Make({.writes_ordering = ordering});
    driver_->WriteRemotely(begin_ + 64, "by a network card");
    ASSERT_EQ(medium_->MakeVisible(), absl::OkStatus());
    const bool seen = Bytes().substr(0, 17) == "by a network card";
    EXPECT_EQ(seen, ordering != Ordering::kAllDevices);
    EXPECT_EQ(driver_->count("FlushRemoteWrites"), seen ? 1 : 0);
  }
}

TEST_F(CudaMediumTest, ADeviceThatCannotFlushIsNotAskedTo) {
  Make({.flush_by_host = false});
  EXPECT_EQ(medium_->MakeVisible(), absl::OkStatus());
  EXPECT_EQ(driver_->count("FlushRemoteWrites"), 0);
}

TEST_F(CudaMediumTest, ExposedBytesStayUntilTheyAreConcealed) {
  Make();
  Fill();
  std::vector<ConstPiece> first;
  std::vector<ConstPiece> second;
  ASSERT_EQ(medium_->Expose(Pieces(4000, 6000), 1, first), absl::OkStatus());
  ASSERT_EQ(medium_->Expose(Pieces(0, 100), 2, second), absl::OkStatus());
  ASSERT_EQ(first.size(), 1u);
  const auto text = [](const ConstPiece& piece) {
    return std::string(static_cast<const char*>(piece.data), piece.bytes);
  };
  EXPECT_EQ(text(first[0]), content_.substr(4000, 6000));
  EXPECT_EQ(text(second[0]), content_.substr(0, 100));
  medium_->Conceal(1);
  medium_->Conceal(99);  // a message of other bytes
  std::vector<ConstPiece> third;
  ASSERT_EQ(medium_->Expose(Pieces(200, 50), 3, third), absl::OkStatus());
  EXPECT_EQ(third[0].data, first[0].data);  // its memory serves again
  EXPECT_EQ(text(second[0]), content_.substr(0, 100));
}

enum class By { kDevice, kCpu };

class CudaDigestsTest : public CudaMediumTest, public ::testing::WithParamInterface<By> {
 protected:
  void MakeForDigests() {
    if (GetParam() == By::kDevice) {
      Make(std::make_unique<KernelDriver>());
    } else {
      Make();
    }
  }
  std::vector<uint64_t> InHostMemory(const HashChunks& job) {
    TensorBuffer tensor;
    tensor.name = "all";
    tensor.dtype = "U8";
    tensor.shape = {content_.size()};
    tensor.data = content_.data();
    tensor.bytes = content_.size();
    const Memory host = Memory::Make({tensor}).value();
    return host.medium().Digests(host, job).value();
  }
  HashChunks All() const {
    const Chunking chunking{content_.size(), kChunkBytes};
    return {1, chunking, 0, chunking.count(), false};
  }
};

// Of what has arrived, also if nobody has made it visible.
TEST_P(CudaDigestsTest, AreThoseOfTheSameBytesInHostMemory) {
  MakeForDigests();
  driver_->WriteRemotely(begin_ + 64, content_.substr(0, 1000));
  ASSERT_EQ(medium_->CopyIn(Pieces(1000, content_.size() - 1000), content_.substr(1000)),
            absl::OkStatus());
  const auto digests = medium_->Digests(*memory_, All());
  ASSERT_TRUE(digests.ok()) << digests.status();
  EXPECT_EQ(*digests, InHostMemory(All()));
  const HashChunks second{1, All().chunking, 1, 1, true};
  EXPECT_EQ(medium_->Digests(*memory_, second).value()[0], (*digests)[1]);
  EXPECT_EQ(driver_->count("Launch"), GetParam() == By::kDevice ? 2 : 0);
  EXPECT_EQ(medium_->DigestsManyAtOnce(), GetParam() == By::kDevice);
}

// In their order, whichever lane made them.
TEST_P(CudaDigestsTest, LongJobsGoInSlices) {
  MakeForDigests();
  Fill();
  const Chunking chunking{content_.size(), content_.size() / 1300};
  const HashChunks most{1, chunking, 7, chunking.count() - 7, false};
  ASSERT_GT(most.count, 2 * 512u);
  EXPECT_EQ(medium_->Digests(*memory_, most).value(), InHostMemory(most));
  EXPECT_EQ(driver_->count("Launch"), GetParam() == By::kDevice ? 3 : 0);
  const absl::Status gone = absl::AbortedError("cuMemcpyAsync: CUDA_ERROR_ILLEGAL_ADDRESS: gone");
  const std::string wait = GetParam() == By::kDevice ? "StreamDone" : "SynchronizeStream";
  for (const std::string& call : {std::string("CopyAsync"), std::string("WaitEvent"), wait}) {
    driver_->FailNext(call, gone);
    EXPECT_EQ(medium_->Digests(*memory_, most).status(), gone) << call;
  }
  EXPECT_EQ(medium_->Digests(*memory_, most).value(), InHostMemory(most));
}

TEST_P(CudaDigestsTest, FromTwoThreads) {
  MakeForDigests();
  Fill();
  const auto expected = InHostMemory(All());
  auto other = std::async(std::launch::async, [&] {
    for (int i = 0; i < 50; ++i) EXPECT_EQ(medium_->Digests(*memory_, All()).value(), expected);
  });
  for (int i = 0; i < 50; ++i) EXPECT_EQ(medium_->Digests(*memory_, All()).value(), expected);
  other.get();
}

TEST_P(CudaDigestsTest, NoErrorIsTakenForADigest) {
  MakeForDigests();
  const absl::Status gone = absl::AbortedError("cuMemcpyAsync: CUDA_ERROR_ILLEGAL_ADDRESS: gone");
  for (const std::string call : {"FlushRemoteWrites", "WaitEvent", "CopyAsync"}) {
    driver_->FailNext(call, gone);
    EXPECT_EQ(medium_->Digests(*memory_, All()).status(), gone) << call;
  }
}

INSTANTIATE_TEST_SUITE_P(ByDeviceAndCpu, CudaDigestsTest, ::testing::Values(By::kDevice, By::kCpu),
                         [](const auto& test) {
                           return test.param == By::kDevice ? "Device" : "Cpu";
                         });

TEST_F(CudaMediumTest, TheOwnerHearsWhyTheCpuMakesDigests) {
  Make();
  ASSERT_EQ(medium_->Warnings().size(), 1u);
  EXPECT_THAT(medium_->Warnings()[0], HasSubstr("UNSUPPORTED_PTX_VERSION"));
  TearDown();
  Make(std::make_unique<KernelDriver>());
  EXPECT_TRUE(medium_->Warnings().empty());
}

// An allocator that leaves the device nothing has not lost the shard.
TEST_F(CudaMediumTest, TheCpuMakesDigestsWhereTheDeviceHasNoRoomForTables) {
  Make(std::make_unique<KernelDriver>());
  Fill();
  const Chunking chunking{content_.size(), kChunkBytes};
  const HashChunks job{1, chunking, 0, chunking.count(), false};
  driver_->FailNext("AllocateDevice", absl::ResourceExhaustedError("cuMemAlloc: none left"));
  const auto by_cpu = medium_->Digests(*memory_, job);
  ASSERT_TRUE(by_cpu.ok()) << by_cpu.status();
  EXPECT_EQ(driver_->count("Launch"), 0);
  EXPECT_EQ(medium_->Digests(*memory_, job).value(), *by_cpu);
  EXPECT_EQ(driver_->count("Launch"), 1);
}

// R3. The owner's streams go on meanwhile.
TEST_F(CudaMediumTest, AwaitsTheStreamAndNothingElse) {
  Make();
  char handles[2] = {};
  auto* const mine = reinterpret_cast<CudaStream>(&handles[0]);
  auto* const others = reinterpret_cast<CudaStream>(&handles[1]);
  bool written = false;
  driver_->Enqueue(mine, [&] { written = true; });
  driver_->Hold(others);
  driver_->Enqueue(others, [] {});
  EXPECT_EQ(medium_->Await({.stream = mine}, 10'000), absl::OkStatus());
  EXPECT_TRUE(written);
  driver_->Hold(mine);
  driver_->Enqueue(mine, [] {});
  const absl::Status late = medium_->Await({.stream = mine}, 20);
  EXPECT_EQ(late.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(late.message()), HasSubstr("20 ms"));
  driver_->Go(mine);
  EXPECT_EQ(medium_->Await({.stream = mine}, 10'000), absl::OkStatus());
  EXPECT_EQ(medium_->Await({}, 0), absl::OkStatus());
  driver_->Go(others);
  EXPECT_EQ(medium_->Await({.stream = others}, 10'000), absl::OkStatus());
  CudaCurrent current(medium_->primary());
  ASSERT_EQ(driver_->DestroyStream(mine), absl::OkStatus());
  ASSERT_EQ(driver_->DestroyStream(others), absl::OkStatus());
}

TEST_F(CudaMediumTest, AwaitsAnEvent) {
  Make();
  bool written = false;
  CudaEvent event = nullptr;
  {
    CudaCurrent current(medium_->primary());
    event = driver_->CreateEvent(false).value();
    driver_->Hold(nullptr);
    driver_->Enqueue(nullptr, [&] { written = true; });
    ASSERT_EQ(driver_->RecordEvent(event, nullptr), absl::OkStatus());
  }
  EXPECT_EQ(medium_->Await({.event = event}, 20).code(), StatusCode::kDeadlineExceeded);
  driver_->Go(nullptr);
  EXPECT_EQ(medium_->Await({.event = event}, 10'000), absl::OkStatus());
  EXPECT_TRUE(written);
  CudaCurrent current(medium_->primary());
  ASSERT_EQ(driver_->DestroyEvent(event), absl::OkStatus());
}

// A stream sees what was copied in although nobody has waited for the copies.
TEST_F(CudaMediumTest, ShowsAStreamWhatHasArrived) {
  Make();
  ASSERT_EQ(medium_->CopyIn(Pieces(0, content_.size()), content_), absl::OkStatus());
  ASSERT_EQ(medium_->ShowTo({.stream = nullptr}), absl::OkStatus());
  std::string seen;
  const auto* const there = reinterpret_cast<const char*>(driver_->Shadow(begin_ + 64));
  driver_->Enqueue(nullptr, [&] { seen.assign(there, 8); });
  EXPECT_EQ(medium_->Await({.stream = nullptr}, 10'000), absl::OkStatus());
  EXPECT_EQ(seen, content_.substr(0, 8));
}

TEST_F(CudaMediumTest, TheDriversErrorsComeThrough) {
  Make();
  std::vector<ConstPiece> exposed;
  driver_->FailNext("AllocateHost", absl::ResourceExhaustedError("none"));
  EXPECT_EQ(medium_->Expose(Pieces(0, 10), 1, exposed).code(), StatusCode::kResourceExhausted);
  const absl::Status gone = absl::AbortedError("cuMemcpyAsync: CUDA_ERROR_ILLEGAL_ADDRESS: gone");
  driver_->FailNext("CopyAsync", gone);
  EXPECT_EQ(medium_->CopyIn(Pieces(0, 10), content_.substr(0, 10)), gone);
  driver_->FailNext("FlushRemoteWrites", gone);
  EXPECT_EQ(medium_->MakeVisible(), gone);
  driver_->FailNext("RecordEvent", gone);
  EXPECT_EQ(medium_->Await({.stream = nullptr}, 10), gone);
  driver_->Free(begin_);
  EXPECT_EQ(medium_->CheckThere().code(), StatusCode::kFailedPrecondition);
}

TEST(HostMediumTest, HasNoStreams) {
  EXPECT_EQ(HostMedium()->Await({}, 10), absl::OkStatus());
  EXPECT_EQ(HostMedium()->Await({.stream = nullptr}, 10).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tensorhub::agent::testing
