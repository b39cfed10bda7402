// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/worker_agent/cuda/fake_driver.h"
#include "worker_agent/cuda/cuda_access.h"

namespace tensorhub::agent::testing {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TensorBuffer On(int device, const std::string& name, void* data, uint64_t bytes) {
  TensorBuffer tensor;
  tensor.name = name;
  tensor.dtype = "U8";
  tensor.shape = {bytes};
  tensor.data = data;
  tensor.bytes = bytes;
  tensor.cuda = device >= 0;
  tensor.cuda_device = device;
  return tensor;
}
TensorBuffer OnHost(const std::string& name, void* data, uint64_t bytes) {
  return On(-1, name, data, bytes);
}

class PlacementTest : public ::testing::Test {
 protected:
  void ExpectRefused(const TensorBuffer& tensor, const std::string& text) {
    absl::Status status = DeviceOf({tensor}, driver_).status();
    if (status.ok()) status = PlaceOnDevice({tensor}, driver_).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("tensor \"" + tensor.name + "\""));
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }

  FakeDriver driver_{FakeDriver::Options{.devices = 2}};
};

TEST_F(PlacementTest, RegionsAreTheUsedPartsOfAllocations) {
  std::byte* const first = driver_.Allocate(1, 1 << 20);
  std::byte* const second = driver_.Allocate(1, 1 << 20);
  const auto placed = PlaceOnDevice(
      {On(1, "d", second + 100, 50), On(1, "a", first + 4096, 1000), On(1, "none", nullptr, 0),
       On(1, "c", first + 70000, 24), On(1, "b", first + 5096, 4)},
      driver_);
  ASSERT_TRUE(placed.ok()) << placed.status();
  EXPECT_EQ(placed->device, 1);
  EXPECT_THAT(placed->warnings, IsEmpty());
  ASSERT_EQ(placed->regions.size(), 2u);
  const bool in_order = first < second;
  const auto& of_first = placed->regions[in_order ? 0 : 1];
  const auto& of_second = placed->regions[in_order ? 1 : 0];
  EXPECT_EQ(of_first.data, first + 4096);
  EXPECT_EQ(of_first.bytes, 70024u - 4096);
  EXPECT_EQ(of_second.data, second + 100);
  EXPECT_EQ(of_second.bytes, 50u);
  EXPECT_EQ(CheckStillThere(*placed, driver_), absl::OkStatus());
}

TEST_F(PlacementTest, EveryWrongAddressIsNamed) {
  std::byte* const memory = driver_.Allocate(0, 1 << 16);
  ExpectRefused(On(2, "w", memory, 8), "device_index 2, but this process sees 2 devices");
  TensorBuffer negative = On(0, "w", memory, 8);
  negative.cuda_device = -1;
  ExpectRefused(negative, "device_index -1, but this process sees 2 devices");
  ExpectRefused(On(1, "w", memory, 8), "says device_index 1, but is on device 0");
  char local[8];
  ExpectRefused(On(0, "w", local, 8), "host memory, or memory that was freed");
  ExpectRefused(On(0, "w", memory + 65000, 1000),
                "1000 bytes long, but its allocation ends after 536");
  std::byte* const managed = driver_.Allocate(0, 4096, {.kind = CudaMemoryKind::kManaged});
  ExpectRefused(On(0, "w", managed, 8), "managed memory");
  std::byte* const pinned = driver_.Allocate(0, 4096, {.kind = CudaMemoryKind::kHost});
  ExpectRefused(On(0, "w", pinned, 8), "page-locked host memory");
  driver_.Free(memory);
  ExpectRefused(On(0, "w", memory, 8), "host memory, or memory that was freed");
}

TEST_F(PlacementTest, MemoryThatPeersCannotMapIsWarnedOf) {
  std::byte* const plain = driver_.Allocate(0, 4096);
  std::byte* const expandable = driver_.Allocate(0, 4096, {.legacy_ipc = false});
  auto placed = PlaceOnDevice({On(0, "a", plain, 8), On(0, "b", expandable, 8)}, driver_);
  ASSERT_TRUE(placed.ok()) << placed.status();
  ASSERT_EQ(placed->warnings.size(), 1u);
  EXPECT_THAT(placed->warnings[0], HasSubstr("1 of 2 tensors"));
  EXPECT_THAT(placed->warnings[0], HasSubstr("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False"));
  std::byte* const pooled = driver_.Allocate(0, 4096, {.legacy_ipc = false, .pooled = true});
  placed = PlaceOnDevice({On(0, "a", pooled, 8)}, driver_);
  ASSERT_TRUE(placed.ok()) << placed.status();
  ASSERT_EQ(placed->warnings.size(), 1u);
  EXPECT_THAT(placed->warnings[0], HasSubstr("cudaMallocAsync"));
}

TEST_F(PlacementTest, WhatWasFreedOrReplacedIsNotThere) {
  std::byte* const memory = driver_.Allocate(0, 1 << 16);
  const auto placed = PlaceOnDevice({On(0, "w", memory, 8)}, driver_);
  ASSERT_TRUE(placed.ok());
  CudaPlacement other = *placed;
  ++other.regions[0].allocation_id;  // the same place, allocated anew
  EXPECT_EQ(CheckStillThere(other, driver_).code(), StatusCode::kFailedPrecondition);
  driver_.Free(memory);
  const absl::Status status = CheckStillThere(*placed, driver_);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("was freed"));
}

TEST_F(PlacementTest, ADevicesAddressIsNoHostMemory) {
  char local[8];
  EXPECT_EQ(CheckOnHost({OnHost("a", local, 8)}, &driver_), absl::OkStatus());
  std::byte* const memory = driver_.Allocate(1, 4096);
  const absl::Status status =
      CheckOnHost({OnHost("a", local, 8), OnHost("b", memory, 8)}, &driver_);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"b\" says that it is in host memory"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("device_index 1"));
  // Without a driver in the process there are no devices' addresses, whatever they look like.
  EXPECT_EQ(CheckOnHost({OnHost("b", memory, 8)}, nullptr), absl::OkStatus());
}

// --- the whole of Register's first half ----------------------------------------------------------

absl::Status Use(const CudaAccess& access, const std::vector<TensorBuffer>& tensors) {
  absl::StatusOr<Memory> memory = Memory::Make(tensors);
  EXPECT_TRUE(memory.ok()) << memory.status();
  return UseRightMedium(access, tensors, /*network_cards=*/true, *memory).status();
}

TEST_F(PlacementTest, AMissingDriverIsSaidOnlyIfItIsNeeded) {
  CudaAccess none;
  none.open = [] { return absl::UnavailableError("no driver"); };
  none.loaded = [] { return nullptr; };
  char local[8];
  EXPECT_EQ(Use(none, {OnHost("a", local, 8)}), absl::OkStatus());
  const absl::Status status = Use(none, {On(0, "a", local, 8)});
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(std::string(status.message()), "tensors are on a GPU, but no driver");
}

TEST_F(PlacementTest, ADeviceOutOfMemoryIsSaidAtOnce) {
  CudaAccess access;
  access.open = [this] { return &driver_; };
  std::byte* const memory = driver_.Allocate(0, 4096);
  for (const char* call : {"RetainPrimary", "CreateStream", "CreateEvent", "PushCurrent"}) {
    driver_.FailNext(call, absl::ResourceExhaustedError("CUDA_ERROR_OUT_OF_MEMORY"));
    EXPECT_EQ(Use(access, {On(0, "w", memory, 8)}).code(), StatusCode::kResourceExhausted) << call;
    EXPECT_EQ(driver_.left_over(), 0u) << call;
    EXPECT_EQ(driver_.contexts_retained(), 0u) << call;
  }
  EXPECT_EQ(Use(access, {On(0, "w", memory, 8)}), absl::OkStatus());
  EXPECT_EQ(driver_.left_over(), 0u);
}

}  // namespace
}  // namespace tensorhub::agent::testing
