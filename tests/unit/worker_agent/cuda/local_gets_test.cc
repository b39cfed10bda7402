// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/local_gets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/worker_agent/cuda/kernel_driver.h"
#include "worker_agent/cuda/cuda_access.h"
#include "worker_agent/cuda/mapped_region.h"
#include "worker_agent/transport/shared_memory_description.h"

namespace tensorhub::agent::testing {
namespace {

using absl::StatusCode;

constexpr size_t kBytes = 1 << 16;

struct Recorder : GetTransport::Sink {
  void OnGetDone(uint64_t token, const absl::Status& status) override { done[token] = status; }
  void OnGetPeerFailed(PeerId /*peer*/, const absl::Status& /*status*/) override { FAIL(); }
  std::map<uint64_t, absl::Status> done;
};

// A source with memory of device 0, and a reader with page-locked host memory.
class LocalGetsTest : public ::testing::Test {
 protected:
  LocalGetsTest()
      : driver_({.devices = 2, .maps_its_own = true}),
        device_(driver_.Allocate(0, kBytes)),
        host_(kBytes, '?') {
    source_ = LocalGets::Create(&driver_, 0, &source_sink_, KernelDriver::Image()).value();
    reader_ = LocalGets::Create(&driver_, 0, &sink_, KernelDriver::Image()).value();
    shared_ = source_->Register(device_, kBytes).value();
    for (size_t i = 0; i < kBytes; ++i) driver_.Shadow(device_)[i] = std::byte(i % 251);
    peer_ = reader_->Connect(source_->Address()).value();
    CudaAccess access;
    access.open = [this] { return &driver_; };
    pin_ = PinHostMemory(access, 0, host_.data(), host_.size()).value();
  }
  ~LocalGetsTest() override {
    reader_.reset();
    source_.reset();
    pin_.reset();
    EXPECT_EQ(driver_.left_over(), 0u);
    EXPECT_EQ(driver_.contexts_retained(), 0u);
  }
  absl::StatusOr<GetTransport::RegionId> Import(const std::string& key, size_t bytes = kBytes) {
    return reader_->ImportRegion(peer_, key, reinterpret_cast<uint64_t>(device_), bytes);
  }
  // As another process would.
  absl::StatusOr<GetTransport::RegionId> ImportFromOutside(const std::string& key,
                                                           size_t bytes = kBytes) {
    peer_ = reader_->Connect(HostIdentity()).value();
    return Import(key, bytes);
  }
  std::string OnDevice(size_t begin, size_t bytes) {
    return {reinterpret_cast<const char*>(driver_.Shadow(device_)) + begin, bytes};
  }

  KernelDriver driver_;
  std::byte* device_;
  std::string host_;
  std::shared_ptr<void> pin_;
  Recorder source_sink_;
  Recorder sink_;
  std::unique_ptr<LocalGets> source_;
  std::unique_ptr<LocalGets> reader_;
  SharedRegion shared_;
  PeerId peer_ = 0;
};

TEST_F(LocalGetsTest, CopiesLeaveTheDeviceWhileOthersAreUnderWay) {
  const auto region = Import(shared_.local_key).value();
  reader_->Get(peer_, region, 100, host_.data(), 1000, 1);
  reader_->Get(peer_, region, 5000, host_.data() + 1000, 24, 2);
  EXPECT_TRUE(sink_.done.empty());  // never from within Get
  EXPECT_FALSE(reader_->Arm());
  EXPECT_FALSE(reader_->Progress());  // begun, not done
  reader_->Get(peer_, region, 0, host_.data() + 1024, 50, 3);
  while (sink_.done.size() < 3) reader_->Progress();
  for (const auto& [token, status] : sink_.done) EXPECT_EQ(status, absl::OkStatus()) << token;
  EXPECT_EQ(host_.substr(0, 1074), OnDevice(100, 1000) + OnDevice(5000, 24) + OnDevice(0, 50));
  EXPECT_TRUE(reader_->Arm());
  EXPECT_EQ(reader_->Describe(peer_), "copies of CUDA device 0");
}

TEST_F(LocalGetsTest, AndComeBack) {
  const SharedRegion copy = reader_->Register(host_.data(), host_.size()).value();
  const PeerId peer = source_->Connect(reader_->Address()).value();
  const auto region =
      source_->ImportRegion(peer, copy.local_key, reinterpret_cast<uint64_t>(copy.base), kBytes);
  ASSERT_TRUE(region.ok()) << region.status();
  host_.assign(kBytes, 'c');
  source_->Get(peer, *region, 7, device_ + 7, 3000, 9);
  while (source_sink_.done.empty()) source_->Progress();
  EXPECT_EQ(OnDevice(7, 3000), std::string(3000, 'c'));
}

// R9: what a message names must be what somebody here shares.
TEST_F(LocalGetsTest, OnlyWhatIsSharedIsRead) {
  EXPECT_EQ(Import("0123456789abcdef").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Import("").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Import(shared_.local_key, kBytes + 1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(reader_->ImportRegion(peer_, shared_.local_key, 4096, kBytes).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(reader_->Connect("another process").status().code(), StatusCode::kUnavailable);
  const auto region = Import(shared_.local_key).value();
  reader_->Get(peer_, region, kBytes - 10, host_.data(), 11, 1);
  reader_->Get(peer_, region, ~uint64_t{0}, host_.data(), 1, 2);
  reader_->Get(peer_ + 1, region, 0, host_.data(), 1, 3);
  reader_->Progress();
  EXPECT_EQ(sink_.done[1].code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(sink_.done[2].code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(sink_.done[3].code(), StatusCode::kCancelled);
}

TEST_F(LocalGetsTest, MemoryOfAnotherProcessIsMapped) {
  const auto region = ImportFromOutside(shared_.local_key).value();
  EXPECT_EQ(driver_.count("MapNamed"), 1);
  reader_->Get(peer_, region, 700, host_.data(), 3000, 1);
  reader_->Get(peer_, region, kBytes - 10, host_.data(), 11, 2);
  while (sink_.done.size() < 2) reader_->Progress();
  EXPECT_EQ(sink_.done[1], absl::OkStatus());
  EXPECT_EQ(host_.substr(0, 3000), OnDevice(700, 3000));
  EXPECT_EQ(sink_.done[2].code(), StatusCode::kInvalidArgument);
}

// A get may outlive its connection, and so does the mapping; but no longer.
TEST_F(LocalGetsTest, AMappingEndsWithItsLastGet) {
  const auto region = ImportFromOutside(shared_.local_key).value();
  reader_->Get(peer_, region, 0, host_.data(), 10, 1);
  reader_->Progress();
  const int before = driver_.count("FreeDevice");
  reader_->Close(peer_);
  EXPECT_EQ(driver_.count("FreeDevice"), before);
  while (sink_.done.empty()) reader_->Progress();
  EXPECT_EQ(host_.substr(0, 10), OnDevice(0, 10));
  EXPECT_EQ(driver_.count("FreeDevice"), before + 1);
}

TEST_F(LocalGetsTest, ARegionInTheMiddleOfItsAllocation) {
  const SharedRegion part = source_->Register(device_ + 4096, 100).value();
  EXPECT_EQ(LocalKey::Decode(part.local_key).offset, 4096u);
  const auto region = ImportFromOutside(part.local_key, 100).value();
  reader_->Get(peer_, region, 1, host_.data(), 99, 1);
  while (sink_.done.empty()) reader_->Progress();
  EXPECT_EQ(host_.substr(0, 99), OnDevice(4097, 99));
}

// R9: whatever a stranger's key says.
TEST_F(LocalGetsTest, KeysThatLeadNowhereAreRefused) {
  const std::string& key = shared_.local_key;
  const auto code = [this](const std::string& tried, size_t bytes = kBytes) {
    return ImportFromOutside(tried, bytes).status().code();
  };
  EXPECT_EQ(code(key, kBytes + 1), StatusCode::kFailedPrecondition);
  LocalKey beyond = LocalKey::Decode(key);
  beyond.offset = ~uint64_t{0};
  EXPECT_EQ(code(beyond.Encode()), StatusCode::kFailedPrecondition);
  for (size_t bytes = 0; bytes < key.size(); ++bytes) {
    EXPECT_EQ(code(key.substr(0, bytes)), StatusCode::kFailedPrecondition);
  }
  driver_.FailNext("MapNamed", absl::InvalidArgumentError("cuIpcOpenMemHandle: not from here"));
  EXPECT_EQ(code(key), StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(key), StatusCode::kOk);
}

TEST_F(LocalGetsTest, AClosedPeersGetsEndAndNoMoreBegin) {
  const auto region = Import(shared_.local_key).value();
  reader_->Get(peer_, region, 0, host_.data(), 10, 1);
  reader_->Close(peer_);
  reader_->Get(peer_, region, 0, host_.data(), 10, 2);
  while (sink_.done.size() < 2) reader_->Progress();
  EXPECT_EQ(sink_.done[1], absl::OkStatus());
  EXPECT_EQ(sink_.done[2].code(), StatusCode::kCancelled);
}

// R4: whoever has withdrawn its memory may free it.
TEST_F(LocalGetsTest, ASourceWaitsForItsReaders) {
  const auto region = Import(shared_.local_key).value();
  reader_->Get(peer_, region, 0, host_.data(), 10, 1);
  auto gone = std::async(std::launch::async, [&] { source_.reset(); });
  EXPECT_EQ(gone.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  while (sink_.done.empty()) reader_->Progress();
  gone.get();
  reader_->Get(peer_, region, 0, host_.data(), 10, 2);
  reader_->Progress();
  EXPECT_EQ(sink_.done[2].code(), StatusCode::kUnavailable);
  EXPECT_EQ(Import(shared_.local_key).status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(LocalGetsTest, AReaderThatGoesIsNotWaitedFor) {
  const auto region = Import(shared_.local_key).value();
  reader_->Get(peer_, region, 0, host_.data(), 10, 1);
  reader_->Progress();  // begun
  reader_.reset();
  source_.reset();
  EXPECT_EQ(host_.substr(0, 10), OnDevice(0, 10));
}

TEST_F(LocalGetsTest, WithinADeviceAKernelMovesSmallOnes) {
  std::byte* const to = driver_.Allocate(0, kBytes);
  ASSERT_TRUE(reader_->Register(to, kBytes).ok());
  const auto region = ImportFromOutside(shared_.local_key).value();
  for (size_t i = 0; i < 50; ++i) reader_->Get(peer_, region, 100 * i, to + 100 * i, 99, i);
  while (sink_.done.size() < 50) reader_->Progress();
  EXPECT_EQ(driver_.count("Launch"), 1);
  EXPECT_EQ(std::memcmp(driver_.Shadow(to) + 4900, driver_.Shadow(device_) + 4900, 99), 0);
}

TEST_F(LocalGetsTest, WithinADeviceDigestsAreMadeOnTheWay) {
  std::byte* const to = driver_.Allocate(0, kBytes);
  ASSERT_TRUE(reader_->Register(to, kBytes).ok());
  const auto region = ImportFromOutside(shared_.local_key).value();
  const GetTransport::Part parts[] = {{region, 512, to, 1600}, {region, 160, to + 1600, 99}};
  std::optional<uint64_t> digest;
  ASSERT_TRUE(reader_->GetWithDigest(peer_, parts, 7, &digest));
  EXPECT_FALSE(reader_->Arm());
  while (sink_.done.empty()) reader_->Progress();
  EXPECT_EQ(sink_.done.at(7), absl::OkStatus());
  const std::string whole = OnDevice(512, 1600) + OnDevice(160, 99);
  EXPECT_EQ(std::memcmp(driver_.Shadow(to), whole.data(), whole.size()), 0);
  const DigestPiece piece{whole.data(), whole.size()};
  EXPECT_EQ(digest, ChunkDigest(&piece, 1));
}

TEST_F(LocalGetsTest, ChunksOfOneGetEndTogether) {
  std::byte* const to = driver_.Allocate(0, kBytes);
  ASSERT_TRUE(reader_->Register(to, kBytes).ok());
  const auto region = ImportFromOutside(shared_.local_key).value();
  std::optional<uint64_t> digests[4];
  size_t ends[4];
  for (size_t i = 0; i < 4; ++i) {
    const GetTransport::Part part{region, 160 * i, to + 160 * i, 160};
    ends[i] = reader_->GetWithDigest(peer_, {&part, 1}, i < 3 ? 7 : 8, &digests[i]).value();
  }
  EXPECT_THAT(ends, ::testing::ElementsAre(1, 0, 0, 1));
  while (sink_.done.empty()) reader_->Progress();
  EXPECT_THAT(digests, ::testing::Each(::testing::Optional(::testing::_)));
}

// R9: then it is for Get to say what is wrong; nothing of it is kept.
TEST_F(LocalGetsTest, WhatCannotBeReadHasNoDigestOnTheWay) {
  std::byte* const to = driver_.Allocate(0, kBytes);
  ASSERT_TRUE(reader_->Register(to, kBytes).ok());
  const auto region = Import(shared_.local_key).value();
  std::optional<uint64_t> digest;
  const auto taken = [&](PeerId peer, GetTransport::Part second) {
    const GetTransport::Part parts[] = {{region, 0, to, 160}, second};
    return reader_->GetWithDigest(peer, parts, 7, &digest);
  };
  EXPECT_FALSE(taken(peer_, {region, kBytes - 10, to + 160, 11}));
  EXPECT_FALSE(taken(peer_, {region, ~uint64_t{0}, to + 160, 1}));
  EXPECT_FALSE(taken(peer_, {region + 1, 0, to + 160, 1}));
  EXPECT_FALSE(taken(peer_ + 1, {region, 0, to + 160, 1}));
  EXPECT_FALSE(taken(peer_, {region, 160, to + 164, 3000}));  // would go byte by byte
  reader_->Progress();
  while (!reader_->Arm()) reader_->Progress();
  EXPECT_TRUE(sink_.done.empty());
  source_.reset();  // waits for whoever is in its memory
  EXPECT_FALSE(taken(peer_, {region, 160, to + 160, 160}));
  EXPECT_EQ(driver_.count("Launch"), 0);
}

// R4: whoever has withdrawn its memory may free it.
TEST_F(LocalGetsTest, ASourceWaitsForReadersThatHash) {
  std::byte* const to = driver_.Allocate(0, kBytes);
  ASSERT_TRUE(reader_->Register(to, kBytes).ok());
  const GetTransport::Part part{Import(shared_.local_key).value(), 0, to, 160};
  std::optional<uint64_t> digest;
  ASSERT_TRUE(reader_->GetWithDigest(peer_, {&part, 1}, 7, &digest));
  auto gone = std::async(std::launch::async, [&] { source_.reset(); });
  EXPECT_EQ(gone.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  while (sink_.done.empty()) reader_->Progress();
  gone.get();
  EXPECT_TRUE(digest);
}

TEST_F(LocalGetsTest, ChunksFillABatchAsGetsDo) {
  constexpr size_t kWhole = 64 << 20;
  std::byte* const from = driver_.Allocate(0, kWhole);
  std::byte* const to = driver_.Allocate(0, kWhole);
  ASSERT_TRUE(reader_->Register(to, kWhole).ok());
  const SharedRegion shared = source_->Register(from, kWhole).value();
  const auto region =
      reader_->ImportRegion(peer_, shared.local_key, reinterpret_cast<uint64_t>(from), kWhole);
  ASSERT_TRUE(region.ok()) << region.status();
  std::optional<uint64_t> digests[2];
  for (size_t i = 0; i < 2; ++i) {
    const GetTransport::Part part{*region, i * kWhole / 2, to + i * kWhole / 2, kWhole / 2};
    EXPECT_EQ(driver_.count("Launch"), 0);
    ASSERT_TRUE(reader_->GetWithDigest(peer_, {&part, 1}, i, &digests[i]));
  }
  EXPECT_EQ(driver_.count("Launch"), 1);  // within GetWithDigest
}

// Kernels of one device may have no access to another's memory, nor to the host's.
TEST_F(LocalGetsTest, OtherDevicesAndTheHostAreCopied) {
  const auto there = LocalGets::Create(&driver_, 1, &sink_, KernelDriver::Image()).value();
  std::byte* const to = driver_.Allocate(1, kBytes);
  ASSERT_TRUE(there->Register(to, kBytes).ok());
  const PeerId peer = there->Connect(LocalProcess()).value();
  const auto base = reinterpret_cast<uint64_t>(device_);
  const auto region = there->ImportRegion(peer, shared_.local_key, base, kBytes).value();
  there->Get(peer, region, 0, to, 1000, 1);
  while (sink_.done.empty()) there->Progress();
  const PeerId outside = there->Connect(HostIdentity()).value();
  for (const PeerId each : {peer, outside}) {
    const auto again = there->ImportRegion(each, shared_.local_key, base, kBytes).value();
    const GetTransport::Part part{again, 0, to, 1600};
    std::optional<uint64_t> digest;
    EXPECT_FALSE(there->GetWithDigest(each, {&part, 1}, 3, &digest));
  }
  reader_->Get(peer_, Import(shared_.local_key).value(), 0, host_.data(), 1000, 2);
  while (sink_.done.size() < 2) reader_->Progress();
  EXPECT_EQ(driver_.count("Launch"), 0);
  EXPECT_EQ(std::memcmp(driver_.Shadow(to), driver_.Shadow(device_), 1000), 0);
}

TEST_F(LocalGetsTest, TheDriversErrorsAreTheGets) {
  const auto region = Import(shared_.local_key).value();
  for (const char* call : {"CopyAsync", "RecordEvent", "EventDone"}) {
    sink_.done.clear();
    driver_.FailNext(call, absl::AbortedError("gone"));
    reader_->Get(peer_, region, 0, host_.data(), 10, 1);
    reader_->Get(peer_, region, 20, host_.data() + 20, 10, 2);
    while (sink_.done.size() < 2) reader_->Progress();
    EXPECT_EQ(sink_.done[1].code(), StatusCode::kAborted) << call;
    EXPECT_EQ(sink_.done[2].code(), StatusCode::kAborted) << call;
  }
}

}  // namespace
}  // namespace tensorhub::agent::testing
