// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The kernels as the host starts them: tables, arguments, results, on a driver
// without a GPU that runs the kernels' programs on the CPU.

#include "worker_agent/cuda/kernels/device_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

#include "tests/unit/worker_agent/cuda/kernel_driver.h"
#include "tests/unit/worker_agent/cuda/kernels/scattered.h"

namespace tensorhub::agent::kernels {
namespace {

using agent::testing::KernelDriver;

absl::Status Digest(DeviceDigester& digester, const DigestTables& tables,
                    std::vector<uint64_t>& digests) {
  digests.clear();
  const absl::Status started = digester.Start(tables);
  const absl::Status finished = digester.Finish(digests);
  return started.ok() ? finished : started;
}

class DeviceKernelsTest : public ::testing::Test {
 protected:
  DeviceKernelsTest()
      : primary_(CudaPrimary::Retain(&driver_, 0).value()),
        module_(KernelModule::Load(primary_, KernelDriver::Image()).value()) {}

  Random random_{21};
  KernelDriver driver_;
  CudaPrimary primary_;
  std::unique_ptr<KernelModule> module_;
};

TEST_F(DeviceKernelsTest, DigestsOfManyChunks) {
  const auto digester = DeviceDigester::Create(module_.get()).value();
  for (const size_t count : {1, 3, 40}) {
    DigestTables tables;
    std::vector<uint64_t> expected;
    for (size_t i = 0; i < count; ++i) {
      const std::string bytes = RandomBytes(random_, random_.Below(5000));
      const DigestPiece whole{bytes.data(), bytes.size()};
      expected.push_back(ChunkDigest(&whole, 1));
      const std::byte* const there = driver_.OnDevice(bytes);
      const size_t cut = random_.Below(bytes.size() + 1);
      const DigestPiece pieces[] = {{there, cut}, {there + cut, bytes.size() - cut}};
      tables.Add(pieces);
    }
    std::vector<uint64_t> digests;
    ASSERT_EQ(Digest(*digester, tables, digests), absl::OkStatus());
    EXPECT_EQ(digests, expected);
  }
  EXPECT_EQ(driver_.launched_blocks(), 44u);
  std::vector<uint64_t> none = {1};
  EXPECT_EQ(Digest(*digester, {}, none), absl::OkStatus());
  EXPECT_TRUE(none.empty());
}

TEST_F(DeviceKernelsTest, DigestsOfWhatIsCopiedOnTheWay) {
  const CudaCurrent current(primary_);
  const OwnedStream stream = OwnedStream::Make(primary_, StreamKind::kOrdinary).value();
  DigestJob job(&driver_);
  EXPECT_TRUE(job.digests().empty());
  for (const size_t count : {7, 2}) {  // the tables of one launch are reused by the next
    DigestTables tables;
    std::vector<uint64_t> expected;
    std::vector<std::pair<std::byte*, std::string>> copies;
    for (size_t i = 0; i < count; ++i) {
      const std::string bytes = RandomBytes(random_, 1 + random_.Below(5000));
      const DigestPiece whole{bytes.data(), bytes.size()};
      expected.push_back(ChunkDigest(&whole, 1));
      std::byte* const from = driver_.OnDevice(bytes);
      std::byte* const to = driver_.OnDevice(std::string(bytes.size(), '?'));
      const size_t cut = random_.Below(bytes.size() + 1);
      const MovePiece pieces[] = {{from, to, cut}, {from + cut, to + cut, bytes.size() - cut}};
      tables.AddCopied(pieces);
      copies.emplace_back(to, bytes);
    }
    ASSERT_EQ(job.Enqueue(module_->digest_copy(), tables, stream.get()), absl::OkStatus());
    ASSERT_EQ(driver_.SynchronizeStream(stream.get()), absl::OkStatus());
    EXPECT_EQ(std::vector<uint64_t>(job.digests().begin(), job.digests().end()), expected);
    for (const auto& [to, bytes] : copies) {
      EXPECT_EQ(std::memcmp(driver_.Shadow(to), bytes.data(), bytes.size()), 0);
    }
  }
}

TEST_F(DeviceKernelsTest, MovesInTheOrderOfItsStream) {
  auto mover = DeviceMover::Create(module_.get()).value();
  const CudaCurrent current(primary_);
  const CudaStream stream = driver_.CreateStream(false).value();
  std::byte* const to = driver_.OnDevice(std::string(100'000, '\0'));
  std::string expected;
  for (int round = 0; round < 3; ++round) {  // the table of one call is reused by the next
    std::vector<MovePiece> pieces;
    expected.clear();
    for (int i = 0; i < 200; ++i) {
      const std::string bytes = RandomBytes(random_, random_.Below(400));
      pieces.push_back({driver_.OnDevice(bytes), to + expected.size(), bytes.size()});
      expected += bytes;
    }
    ASSERT_EQ(mover->Start(pieces, stream), absl::OkStatus());
  }
  ASSERT_EQ(driver_.SynchronizeStream(stream), absl::OkStatus());
  EXPECT_EQ(std::memcmp(driver_.Shadow(to), expected.data(), expected.size()), 0);
  EXPECT_EQ(mover->Start({}, stream), absl::OkStatus());
  mover.reset();
  EXPECT_EQ(driver_.DestroyStream(stream), absl::OkStatus());
}

TEST_F(DeviceKernelsTest, AFailureIsToldAndNothingIsLeftBehind) {
  {
    const auto digester = DeviceDigester::Create(module_.get()).value();
    DigestTables tables;
    const std::string bytes(300, 'x');
    const DigestPiece piece{driver_.OnDevice(bytes), bytes.size()};
    tables.Add({&piece, 1});
    std::vector<uint64_t> digests;
    for (const std::string call : {"AllocateHost", "AllocateDevice", "CopyAsync", "Launch"}) {
      const auto fresh = DeviceDigester::Create(module_.get()).value();
      driver_.FailNext(call, absl::ResourceExhaustedError("a test"));
      EXPECT_EQ(Digest(*fresh, tables, digests).code(), absl::StatusCode::kResourceExhausted)
          << call;
      EXPECT_EQ(Digest(*fresh, tables, digests), absl::OkStatus()) << call;
    }
    driver_.FailNext("CreateStream", absl::ResourceExhaustedError("a test"));
    EXPECT_FALSE(DeviceDigester::Create(module_.get()).ok());
  }
  module_.reset();
  EXPECT_EQ(driver_.left_over(), 0u);
}

TEST_F(DeviceKernelsTest, SaysWhyThereAreNone) {
  const absl::Status none = KernelModule::Load(primary_, {}).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(none.ToString(), ::testing::HasSubstr("nvcc"));
  driver_.FailNext("LoadModule", absl::InvalidArgumentError("CUDA_ERROR_UNSUPPORTED_PTX_VERSION"));
  const absl::Status old = KernelModule::Load(primary_, KernelDriver::Image()).status();
  EXPECT_EQ(old.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(old.ToString(), ::testing::AllOf(::testing::HasSubstr("UNSUPPORTED_PTX_VERSION"),
                                               ::testing::HasSubstr("driver must be as new")));
}

// Where there is a GPU.
class RealKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<CudaDriver*> driver = OpenCudaDriver();
    if (!driver.ok()) GTEST_SKIP() << driver.status();
    driver_ = *driver;
    primary_ = CudaPrimary::Retain(driver_, 0).value();
    absl::StatusOr<std::unique_ptr<KernelModule>> module = KernelModule::Load(primary_);
    if (!module.ok()) GTEST_SKIP() << module.status();
    module_ = *std::move(module);
    stream_ = OwnedStream::Make(primary_, StreamKind::kOrdinary).value();
  }
  void Copy(void* to, const void* from, size_t bytes) {
    ASSERT_EQ(driver_->CopyAsync(to, from, bytes, stream_.get()), absl::OkStatus());
    ASSERT_EQ(driver_->SynchronizeStream(stream_.get()), absl::OkStatus());
  }
  // Gives each chunk to `add`, with the place where its second piece begins; returns the digests.
  std::vector<uint64_t> CutIntoChunks(const std::string& bytes,
                                      const std::function<void(size_t, size_t, size_t)>& add) {
    std::vector<uint64_t> digests;
    for (size_t at = 0, size = 0; at < bytes.size(); at += size) {
      size = std::min<size_t>(bytes.size() - at, random_.Below(600'000));
      const DigestPiece whole{bytes.data() + at, size};
      digests.push_back(ChunkDigest(&whole, 1));
      add(at, at + random_.Below(size + 1), at + size);
    }
    return digests;
  }

  Random random_{22};
  CudaDriver* driver_ = nullptr;
  CudaPrimary primary_;
  std::unique_ptr<KernelModule> module_;
  OwnedStream stream_;
};

TEST_F(RealKernels, DigestWhatTheHostDigests) {
  const CudaCurrent current(primary_);
  const std::string bytes = RandomBytes(random_, 9'000'017);
  auto* const there = static_cast<std::byte*>(driver_->AllocateDevice(bytes.size()).value());
  Copy(there, bytes.data(), bytes.size());
  DigestTables tables;
  const auto expected = CutIntoChunks(bytes, [&](size_t at, size_t cut, size_t end) {
    const DigestPiece pieces[] = {{there + at, cut - at}, {there + cut, end - cut}};
    tables.Add(pieces);
  });
  const auto digester = DeviceDigester::Create(module_.get()).value();
  std::vector<uint64_t> digests;
  EXPECT_EQ(Digest(*digester, tables, digests), absl::OkStatus());
  EXPECT_EQ(digests, expected);
  EXPECT_EQ(driver_->FreeDevice(there), absl::OkStatus());
}

TEST_F(RealKernels, CopyWhatTheyDigest) {
  const CudaCurrent current(primary_);
  const std::string bytes = RandomBytes(random_, 9'000'017);
  auto* const from = static_cast<std::byte*>(driver_->AllocateDevice(bytes.size()).value());
  auto* const to = static_cast<std::byte*>(driver_->AllocateDevice(bytes.size()).value());
  Copy(from, bytes.data(), bytes.size());
  DigestTables tables;
  const auto expected = CutIntoChunks(bytes, [&](size_t at, size_t cut, size_t end) {
    const MovePiece pieces[] = {{from + at, to + at, cut - at}, {from + cut, to + cut, end - cut}};
    tables.AddCopied(pieces);
  });
  DigestJob job(driver_);
  ASSERT_EQ(job.Enqueue(module_->digest_copy(), tables, stream_.get()), absl::OkStatus());
  std::string got(bytes.size(), '\0');
  Copy(got.data(), to, got.size());
  EXPECT_TRUE(got == bytes);
  EXPECT_EQ(std::vector<uint64_t>(job.digests().begin(), job.digests().end()), expected);
  EXPECT_EQ(driver_->FreeDevice(from), absl::OkStatus());
  EXPECT_EQ(driver_->FreeDevice(to), absl::OkStatus());
}

TEST_F(RealKernels, MoveEveryByteIntoPlace) {
  const CudaCurrent current(primary_);
  const std::string bytes = RandomBytes(random_, 1'000'003);
  auto* const from = static_cast<std::byte*>(driver_->AllocateDevice(bytes.size()).value());
  auto* const to = static_cast<std::byte*>(driver_->AllocateDevice(bytes.size()).value());
  Copy(from, bytes.data(), bytes.size());
  std::vector<MovePiece> pieces;
  std::string expected;
  for (size_t end = bytes.size(), size = 0; end > 0; end -= size) {  // the last comes first
    size = std::min<size_t>(end, 1 + random_.Below(2000));
    pieces.push_back({from + end - size, to + expected.size(), size});
    expected += bytes.substr(end - size, size);
  }
  auto mover = DeviceMover::Create(module_.get()).value();
  ASSERT_EQ(mover->Start(pieces, stream_.get()), absl::OkStatus());
  std::string got(bytes.size(), '\0');
  Copy(got.data(), to, got.size());
  EXPECT_TRUE(got == expected);
  mover.reset();
  EXPECT_EQ(driver_->FreeDevice(from), absl::OkStatus());
  EXPECT_EQ(driver_->FreeDevice(to), absl::OkStatus());
}

}  // namespace
}  // namespace tensorhub::agent::kernels
