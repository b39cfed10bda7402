// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/ucx_gets.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <cstring>

#include "tests/unit/worker_agent/ucx/ucx_test_peer.h"

namespace tensorhub::agent {
namespace {

// The parameter is UCX_TLS; empty: not set.
class UcxGetsTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    unsetenv("UCX_TLS");
    if (GetParam()[0] != '\0') setenv("UCX_TLS", GetParam(), 1);
    transport_ = UcxGets::Create(&sink_).value();
  }
  void ConnectTo(TestPeer& process) {
    peer_ = transport_->Connect(process.Read()).value();
    key_ = process.Read();
    base_ = std::stoull(process.Read());
  }
  absl::Status Get(GetTransport::RegionId region, uint64_t offset, size_t bytes) {
    const uint64_t token = ++last_token_;
    transport_->Get(peer_, region, offset, into_.data(), bytes, token);
    EXPECT_FALSE(sink_.done.contains(token));  // only from Progress
    if (!ProgressUntil([&] { return sink_.done.contains(token); }, *transport_)) {
      return absl::DeadlineExceededError("the get did not complete");
    }
    return sink_.done[token];
  }
  absl::StatusCode ImportCode(const std::string& key, uint64_t base, size_t bytes) {
    return transport_->ImportRegion(peer_, key, base, bytes).status().code();
  }

  RecordingGets sink_;
  std::unique_ptr<UcxGets> transport_;
  PeerId peer_ = 0;
  std::string key_;
  uint64_t base_ = 0;
  uint64_t last_token_ = 0;
  std::string into_ = std::string(kRegionBytes, '\0');
};

TEST_P(UcxGetsTest, ReadsFromAPeerThatDoesNotProgress) {
  TestPeer process("region", GetParam());
  ConnectTo(process);
  process.Signal(SIGSTOP);
  const auto region = transport_->ImportRegion(peer_, key_, base_, kRegionBytes).value();
  ASSERT_EQ(Get(region, 0, kRegionBytes), absl::OkStatus());
  const std::string pattern = Pattern(kRegionBytes, kRegionSeed);
  EXPECT_TRUE(into_ == pattern);
  ASSERT_EQ(Get(region, 12345, 8), absl::OkStatus());
  EXPECT_EQ(into_.substr(0, 8), pattern.substr(12345, 8));
  EXPECT_NE(transport_->Describe(peer_).find("/memory"), std::string::npos);
  EXPECT_NE(transport_->Summary().find("/memory"), std::string::npos);
}

TEST_P(UcxGetsTest, ChecksBoundsAndOwner) {
  TestPeer process("region", GetParam());
  ConnectTo(process);
  const auto region = transport_->ImportRegion(peer_, key_, base_ + 4096, 8192).value();
  EXPECT_EQ(Get(region, 8192, 0), absl::OkStatus());
  EXPECT_EQ(Get(region, 8192, 1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Get(region, UINT64_MAX, 2).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Get(region + 1, 0, 1).code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(UcxGetsTest, RefusesMalformedKeys) {
  TestPeer process("region", GetParam());
  ConnectTo(process);
  using absl::StatusCode;
  EXPECT_EQ(ImportCode("", base_, 8), StatusCode::kInvalidArgument);
  EXPECT_EQ(ImportCode(key_.substr(0, key_.size() - 1), base_, 8), StatusCode::kInvalidArgument);
  EXPECT_EQ(ImportCode(key_, base_, kRegionBytes + 1), StatusCode::kInvalidArgument);
  EXPECT_EQ(ImportCode(key_, base_ - 1, 8), StatusCode::kInvalidArgument);
  EXPECT_EQ(ImportCode(key_, base_, 0), StatusCode::kInvalidArgument);
  EXPECT_EQ(transport_->Connect(key_).status().code(), StatusCode::kInvalidArgument);
}

TEST_P(UcxGetsTest, CloseReleasesAndLaterGetsFail) {
  TestPeer process("region", GetParam());
  ConnectTo(process);
  const auto region = transport_->ImportRegion(peer_, key_, base_, kRegionBytes).value();
  transport_->Get(peer_, region, 0, into_.data(), kRegionBytes, 99);
  transport_->Close(peer_);
  ASSERT_TRUE(ProgressUntil([&] { return sink_.done.contains(99); }, *transport_));
  EXPECT_FALSE(Get(region, 0, 1).ok());
  EXPECT_EQ(ImportCode(key_, base_, 8), absl::StatusCode::kCancelled);
}

TEST_P(UcxGetsTest, AKilledPeerIsNoticedSoonerOrLaterAndItsMemoryStaysReadable) {
  TestPeer process("region", GetParam());
  ConnectTo(process);
  const auto region = transport_->ImportRegion(peer_, key_, base_, kRegionBytes).value();
  ASSERT_EQ(Get(region, 0, 1), absl::OkStatus());
  process.Kill();
  static_cast<void>(Get(region, 0, kRegionBytes));  // must not crash; success is allowed
  transport_->Close(peer_);
  transport_.reset();
}

TEST_P(UcxGetsTest, SameProcess) {
  RecordingGets other_sink;
  auto other = UcxGets::Create(&other_sink).value();
  const SharedRegion shared = other->Allocate(1 << 20).value();
  EXPECT_EQ(reinterpret_cast<uint64_t>(shared.base) % 4096, 0u);
  const std::string zeros(1 << 20, '\0');
  EXPECT_EQ(std::memcmp(shared.base, zeros.data(), zeros.size()), 0);
  std::memcpy(shared.base, "some bytes", 10);
  peer_ = transport_->Connect(other->Address()).value();
  const auto region = transport_->ImportRegion(
      peer_, shared.packed_key, reinterpret_cast<uint64_t>(shared.base), shared.bytes);
  ASSERT_EQ(region.status(), absl::OkStatus());
  ASSERT_EQ(Get(*region, 0, 10), absl::OkStatus());
  EXPECT_EQ(into_.substr(0, 10), "some bytes");
}

INSTANTIATE_TEST_SUITE_P(Transports, UcxGetsTest, ::testing::Values("", "posix", "sysv"));

TEST(UcxGetsWithoutSharedMemory, SayNo) {
  setenv("UCX_TLS", "tcp", 1);
  RecordingGets sink;
  auto transport = UcxGets::Create(&sink).value();
  TestPeer process("region", "tcp");
  const auto peer = transport->Connect(process.Read());
  EXPECT_EQ(peer.status().code(), absl::StatusCode::kUnavailable);
}

TEST(UcxGetsAllocate, NamesTheSizeItCannotHave) {
  unsetenv("UCX_TLS");
  RecordingGets sink;
  auto transport = UcxGets::Create(&sink).value();
  const auto region = transport->Allocate(size_t{1} << 60);
  EXPECT_EQ(region.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(region.status().ToString().find("1152921504606846976"), std::string::npos);
  EXPECT_EQ(transport->Allocate(0).status().code(), absl::StatusCode::kInvalidArgument);
}

// A UCX without CUDA, or before 1.19: said when the transport is made, never at the first get.
TEST(UcxGetsOfDevices, SayWhatIsMissing) {
  unsetenv("UCX_TLS");
  RecordingGets sink;
  const auto transport = UcxGets::Create(&sink, UcxGets::Kind::kDevice);
  if (transport.ok()) GTEST_SKIP() << "this UCX has CUDA in it";
  EXPECT_EQ(transport.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(transport.status().ToString().find("tensors are on a GPU, but"), std::string::npos);
  EXPECT_NE(transport.status().ToString().find("docs/gpu.md"), std::string::npos);
}

TEST(UcxGetsOfSharedMemory, TakeNoOtherMemory) {
  RecordingGets sink;
  auto transport = UcxGets::Create(&sink).value();
  char memory[64];
  EXPECT_EQ(transport->Register(memory, sizeof(memory)).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace tensorhub::agent

int main(int argc, char** argv) {
  if (tensorhub::agent::RunPeerRole(argc, argv)) return 0;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
