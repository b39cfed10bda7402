// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whole agents with tensors on a device that is not there (kernel_driver.h): every byte of a fetch,
// and of a copy for retention, must come by the driver's calls, since the CPU cannot touch the
// memory. A real server, and UCX for messages.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/harness/server_process.h"
#include "tests/integration/worker/content.h"
#include "tests/unit/worker_agent/cuda/kernel_driver.h"
#include "worker_agent/agent.h"
#include "worker_agent/cuda/kernels/kernels_image.h"

namespace tensorhub::harness {
namespace {

using absl::StatusCode;
using agent::Agent;
using agent::AgentOptions;
using agent::testing::FakeDriver;
using agent::testing::KernelDriver;
using testing::AllOf;
using testing::HasSubstr;

// Two tensors; enough for several spans of chunks.
constexpr size_t kFirst = 7'000'003;
constexpr size_t kSecond = 3'000'001;
constexpr size_t kPlaceOfSecond = 8'000'000;
constexpr size_t kAllocation = 12'000'000;
constexpr size_t kChunk = 128 * 1024;  // of so small a shard

class Shard {
 public:
  Shard(FakeDriver& driver, bool on_device) : driver_(driver), on_device_(on_device) {
    if (on_device) {
      begin_ = driver.Allocate(0, kAllocation);
    } else {
      host_.resize(kAllocation);
      begin_ = host_.data();
    }
  }

  // In this host memory.
  Shard(FakeDriver& driver, std::byte* begin) : driver_(driver), on_device_(false), begin_(begin) {}

  std::vector<agent::TensorBuffer> Tensors() const {
    return {Tensor("a", 0, kFirst), Tensor("b", kPlaceOfSecond, kSecond)};
  }
  // The first tensor may keep the bytes of version 1.
  void Fill(uint64_t version, bool first_is_same = false) {
    worker::FillContent({first_is_same ? 1 : version, 0, "a"}, Bytes(0), kFirst);
    worker::FillContent({version, 0, "b"}, Bytes(kPlaceOfSecond), kSecond);
  }
  void ExpectHolds(uint64_t version, bool first_is_same = false) {
    EXPECT_EQ(worker::FirstDifference({first_is_same ? 1 : version, 0, "a"}, Bytes(0), kFirst),
              std::nullopt);
    EXPECT_EQ(worker::FirstDifference({version, 0, "b"}, Bytes(kPlaceOfSecond), kSecond),
              std::nullopt);
  }
  std::byte* begin() const { return begin_; }

 private:
  agent::TensorBuffer Tensor(const std::string& name, size_t place, size_t bytes) const {
    agent::TensorBuffer tensor;
    tensor.name = name;
    tensor.dtype = "U8";
    tensor.shape = {bytes};
    tensor.data = begin_ + place;
    tensor.bytes = bytes;
    tensor.cuda = on_device_;
    return tensor;
  }
  std::byte* Bytes(size_t place) {
    return on_device_ ? driver_.Shadow(begin_ + place) : begin_ + place;
  }

  FakeDriver& driver_;
  const bool on_device_;
  std::vector<std::byte> host_;
  std::byte* begin_ = nullptr;
};

struct Place {
  bool on_device = true;
  bool one_sided = true;
  bool device_copies = true;
  agent::DigestMode digests = agent::DigestMode::kAuto;
};

class DeviceTest : public testing::Test {
 protected:
  explicit DeviceTest(std::vector<std::string> server_args = {})
      : server_(std::move(server_args)) {}

  struct Member {
    std::unique_ptr<Shard> shard;
    std::unique_ptr<Agent> agent;
  };

  AgentOptions OptionsFor(const std::string& group, const Place& place) {
    AgentOptions options;
    options.server = server_.address();
    options.key = {"m", group, 0};
    options.location = "us/dc1/r1/h1";
    options.through_host = true;
    options.one_sided = place.one_sided;
    options.device_copies = place.device_copies;
    options.digests = place.digests;
    options.host_copy_bytes = uint64_t{1} << 30;
    options.cuda.open = [this] { return &driver_; };
    options.cuda.loaded = [this] { return &driver_; };
    options.cuda.network_cards = true;
    return options;
  }
  Member Join(const std::string& group, const Place& place = {}) {
    Member member;
    member.shard = std::make_unique<Shard>(driver_, place.on_device);
    auto agent = Agent::Start(OptionsFor(group, place));
    EXPECT_TRUE(agent.ok()) << agent.status();
    member.agent = *std::move(agent);
    const absl::Status status = member.agent->Register(member.shard->Tensors());
    EXPECT_TRUE(status.ok()) << status;
    return member;
  }
  static absl::Status Publish(Member& member, uint64_t version, bool first_is_same = false) {
    member.shard->Fill(version, first_is_same);
    agent::PublishVerb publish;
    publish.version = version;
    return member.agent->RunVerb(publish).status;
  }
  static agent::VerbDone Fetch(Member& member) {
    agent::FetchVerb fetch;
    fetch.timeout_ms = 60'000;
    return member.agent->RunVerb(fetch);
  }

  KernelDriver driver_;
  ServerProcess server_;
};

// Within a process the driver copies; the bytes never pass through the CPU's hands.
TEST_F(DeviceTest, FromOneDevicesMemoryToAnother) {
  Member trainer = Join("trainer");
  Member reader = Join("reader");
  Member second = Join("second");
  ASSERT_EQ(Publish(trainer, 1), absl::OkStatus());
  for (Member* each : {&reader, &second}) {
    const agent::VerbDone fetched = Fetch(*each);
    ASSERT_EQ(fetched.status, absl::OkStatus());
    EXPECT_EQ(fetched.fetch.way, "one-sided over copies of CUDA device 0");
    EXPECT_TRUE(fetched.fetch.one_sided);
    EXPECT_EQ(fetched.fetch.bytes_read, kFirst + kSecond);
    each->shard->ExpectHolds(1);
  }
}

// Where nothing reads one-sidedly, through host memory, and it says so.
TEST_F(DeviceTest, ServedThroughHostMemory) {
  const Place served{.one_sided = false, .digests = agent::DigestMode::kOn};
  Member trainer = Join("trainer", served);
  Member reader = Join("reader", served);
  ASSERT_EQ(Publish(trainer, 1), absl::OkStatus());
  const agent::VerbDone fetched = Fetch(reader);
  ASSERT_EQ(fetched.status, absl::OkStatus());
  EXPECT_THAT(fetched.fetch.way,
              AllOf(HasSubstr("served over "), HasSubstr(", through host memory")));
  reader.shard->ExpectHolds(1);
}

TEST_F(DeviceTest, BetweenADeviceAndHostMemoryBothWays) {
  Member trainer = Join("trainer");
  Member host = Join("host", {.on_device = false});
  ASSERT_EQ(Publish(trainer, 1), absl::OkStatus());
  ASSERT_EQ(Fetch(host).status, absl::OkStatus());
  host.shard->ExpectHolds(1);
  ASSERT_EQ(trainer.agent->Leave(10'000), absl::OkStatus());
  Member reader = Join("reader");
  const agent::VerbDone fetched = Fetch(reader);
  ASSERT_EQ(fetched.status, absl::OkStatus());
  EXPECT_EQ(fetched.fetch.sources, "host/0");
  reader.shard->ExpectHolds(1);
}

// Memory that the host's transport maps would be copied by the CPU, which cannot reach a device.
TEST_F(DeviceTest, SharedHostMemoryIsServedToADevice) {
  auto trainer = Agent::Start(OptionsFor("trainer", {})).value();
  auto* const memory = static_cast<std::byte*>(trainer->Allocate(kAllocation).value());
  Shard shard(driver_, memory);
  ASSERT_EQ(trainer->Register(shard.Tensors()), absl::OkStatus());
  shard.Fill(1);
  agent::PublishVerb publish;
  publish.version = 1;
  ASSERT_EQ(trainer->RunVerb(publish).status, absl::OkStatus());
  for (const bool device_copies : {true, false}) {
    Place place;
    place.device_copies = device_copies;
    Member reader = Join(device_copies ? "copies" : "ucx", place);
    const agent::VerbDone fetched = Fetch(reader);
    ASSERT_EQ(fetched.status, absl::OkStatus());
    EXPECT_THAT(fetched.fetch.way, HasSubstr("served over "));
    reader.shard->ExpectHolds(1);
    ASSERT_EQ(reader.agent->Leave(10'000), absl::OkStatus());
  }
}

// The first tensor's chunks; the second is not where sixteen bytes of it could be stored at a time.
TEST_F(DeviceTest, WhatIsCheckedIsHashedAsItPasses) {
  const Place checked{.digests = agent::DigestMode::kOn};
  Member trainer = Join("trainer", checked);
  Member reader = Join("reader", checked);
  ASSERT_EQ(Publish(trainer, 1), absl::OkStatus());
  ASSERT_EQ(Fetch(reader).status, absl::OkStatus());
  reader.shard->ExpectHolds(1);
  const bool kernels = !agent::kernels::KernelImage().empty();
  EXPECT_EQ(driver_.copied_chunks(), kernels ? kFirst / kChunk : 0);
  Member unchecked = Join("unchecked");
  ASSERT_EQ(Fetch(unchecked).status, absl::OkStatus());
  unchecked.shard->ExpectHolds(1);
  EXPECT_EQ(driver_.copied_chunks(), kernels ? kFirst / kChunk : 0);
}

// Unchanged chunks are hashed where they are.
TEST_F(DeviceTest, UnchangedChunksAreSkipped) {
  const Place checked{.digests = agent::DigestMode::kOn};
  Member trainer = Join("trainer", checked);
  Member reader = Join("reader", checked);
  ASSERT_EQ(Publish(trainer, 1), absl::OkStatus());
  ASSERT_EQ(Fetch(reader).status, absl::OkStatus());
  ASSERT_EQ(trainer.agent->RunVerb(agent::UnpublishVerb{}).status, absl::OkStatus());
  ASSERT_EQ(Publish(trainer, 2, /*first_is_same=*/true), absl::OkStatus());
  const agent::VerbDone fetched = Fetch(reader);
  ASSERT_EQ(fetched.status, absl::OkStatus());
  EXPECT_GT(fetched.fetch.bytes_skipped, 4'000'000u);
  EXPECT_EQ(fetched.fetch.bytes_skipped + fetched.fetch.bytes_read, kFirst + kSecond);
  reader.shard->ExpectHolds(2, /*first_is_same=*/true);
  // By the device, where the build has kernels.
  EXPECT_EQ(driver_.count("Launch") > 0, !agent::kernels::KernelImage().empty());
}

// R3: what the kernels of the stream write is what is published.
TEST_F(DeviceTest, PublishWaitsForTheOwnersStream) {
  Member trainer = Join("trainer");
  Member reader = Join("reader");
  trainer.shard->Fill(7);
  driver_.Enqueue(nullptr, [&, a = driver_.Shadow(trainer.shard->begin())] {
    worker::FillContent({1, 0, "a"}, a, kFirst);
    worker::FillContent({1, 0, "b"}, a + kPlaceOfSecond, kSecond);
  });
  const auto left = trainer.agent->Await({.stream = nullptr}, 10'000);
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_LE(*left, 10'000);
  agent::PublishVerb publish;
  publish.version = 1;
  ASSERT_EQ(trainer.agent->RunVerb(publish).status, absl::OkStatus());
  ASSERT_EQ(Fetch(reader).status, absl::OkStatus());
  EXPECT_EQ(reader.agent->ShowTo({.stream = nullptr}), absl::OkStatus());
  reader.shard->ExpectHolds(1);
}

TEST_F(DeviceTest, WithoutADirectWayRegisterFailsUnlessAskedToGoThroughTheHost) {
  AgentOptions options = OptionsFor("trainer", {});
  options.through_host = false;
  Shard shard(driver_, /*on_device=*/true);
  auto agent = Agent::Start(options);
  ASSERT_TRUE(agent.ok()) << agent.status();
  const absl::Status status = (*agent)->Register(shard.Tensors());
  if (status.ok()) GTEST_SKIP() << "this UCX has CUDA in it";
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("tensors are on a GPU, but"));
  // Nothing is left of the attempt.
  Shard host(driver_, /*on_device=*/false);
  EXPECT_EQ((*agent)->Register(host.Tensors()), absl::OkStatus());
}

TEST_F(DeviceTest, FreedMemoryIsNotPublished) {
  Member trainer = Join("trainer");
  driver_.Free(trainer.shard->begin());
  agent::PublishVerb publish;
  publish.version = 1;
  const absl::Status status = trainer.agent->RunVerb(publish).status;
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("was freed"));
}

// The device fails under a reader: the reader's fetch says so, and so does every later call; what
// it had is served to nobody.
TEST_F(DeviceTest, AFailedDeviceEndsItsClientAndNobodyElses) {
  // Without digests, so that the reader is the next to flush.
  Member trainer = Join("trainer", {.digests = agent::DigestMode::kOff});
  Member reader = Join("reader", {.one_sided = false, .digests = agent::DigestMode::kOff});
  Member other = Join("other");
  ASSERT_EQ(Publish(trainer, 1), absl::OkStatus());
  driver_.FailNext("FlushRemoteWrites", absl::AbortedError("CUDA_ERROR_LAUNCH_FAILED"));
  const absl::Status status = Fetch(reader).status;
  const absl::Status again = Fetch(reader).status;
  for (const absl::Status& each : {status, again}) {
    EXPECT_FALSE(each.ok());
    EXPECT_THAT(std::string(each.message()), HasSubstr("the registered memory is lost"));
    EXPECT_THAT(std::string(each.message()), HasSubstr("CUDA_ERROR_LAUNCH_FAILED"));
  }
  ASSERT_EQ(Fetch(other).status, absl::OkStatus());
  other.shard->ExpectHolds(1);
}

class DeviceRetentionTest : public DeviceTest {
 protected:
  DeviceRetentionTest() : DeviceTest({"--keep-latest", "1"}) {}
};

// R7: to page-locked memory by the driver's copies, and from there back to a device.
TEST_F(DeviceRetentionTest, ACopyLeavesTheDeviceAndComesBack) {
  Member trainer = Join("trainer");
  ASSERT_EQ(Publish(trainer, 1), absl::OkStatus());
  ASSERT_EQ(trainer.agent->RunVerb(agent::UnpublishVerb{}).status, absl::OkStatus());
  EXPECT_EQ(driver_.count("RegisterHost"), 1);
  trainer.shard->Fill(2);
  Member reader = Join("reader");
  const agent::VerbDone fetched = Fetch(reader);
  ASSERT_EQ(fetched.status, absl::OkStatus());
  EXPECT_EQ(fetched.fetch.sources, "trainer.copy.1/0");
  EXPECT_EQ(fetched.fetch.way, "one-sided over copies of CUDA device 0");
  reader.shard->ExpectHolds(1);
}

}  // namespace
}  // namespace tensorhub::harness
