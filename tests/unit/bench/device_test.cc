// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What `tensorhub-bench device` does to a GPU, on a driver without one: that the right bytes move,
// and that errors are told. How long it takes is not looked at.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "bench/content.h"
#include "bench/device_stall.h"
#include "bench/device_yardsticks.h"
#include "bench/tensors.h"
#include "tests/unit/worker_agent/cuda/kernel_driver.h"

namespace tensorhub::bench {
namespace {

using agent::testing::FakeDriver;
using agent::testing::KernelDriver;

constexpr size_t kBytes = 300'001;

std::unique_ptr<DeviceYardsticks> Make(FakeDriver& driver) {
  return DeviceYardsticks::Make(
             {.driver = &driver, .bytes = kBytes, .image = KernelDriver::Image()})
      .value();
}

TEST(DeviceContentTest, HoldsWhatHostMemoryWould) {
  KernelDriver driver;
  std::string host(kBytes, '\0');
  const auto expected = ContentInHostMemory(reinterpret_cast<std::byte*>(host.data()), kBytes);
  const auto content = ContentOnDevice(&driver, 0, kBytes).value();
  ASSERT_EQ(expected->Fill(3), absl::OkStatus());
  ASSERT_EQ(content->Fill(3), absl::OkStatus());
  EXPECT_EQ(content->Digest().value(), expected->Digest().value());
  ASSERT_EQ(content->Stamp(4), absl::OkStatus());
  EXPECT_NE(content->Digest().value(), expected->Digest().value());
  ASSERT_EQ(expected->Scrub(), absl::OkStatus());
  ASSERT_EQ(content->Scrub(), absl::OkStatus());
  EXPECT_EQ(content->Digest().value(), expected->Digest().value());
}

TEST(DeviceContentTest, SaysThatItDoesNotFit) {
  KernelDriver driver;
  driver.FailNext("AllocateDevice", absl::ResourceExhaustedError("cuMemAlloc: none left"));
  EXPECT_EQ(ContentOnDevice(&driver, 0, kBytes).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ContentOnDevice(&driver, 7, kBytes).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(DeviceYardsticksTest, EachDoesItsWork) {
  KernelDriver driver;
  {
    const auto yardsticks = Make(driver);
    EXPECT_EQ(yardsticks->WhyNoKernels(), "");
    const int copies = driver.count("CopyAsync");
    EXPECT_GT(yardsticks->Copy().value(), 0);
    EXPECT_GT(yardsticks->CopyOut().value(), 0);
    EXPECT_GT(yardsticks->CopyIn().value(), 0);
    EXPECT_EQ(driver.count("CopyAsync"), copies + 3);
    EXPECT_GT(yardsticks->CopySmall(100).value(), 0);
    EXPECT_EQ(driver.count("CopyAsync"), copies + 103);
    EXPECT_GT(yardsticks->Digest().value(), 0);
    EXPECT_EQ(driver.count("Launch"), 1);
    EXPECT_GT(yardsticks->GatherSmall(100).value(), 0);
    EXPECT_EQ(driver.count("Launch"), 3);
  }
  EXPECT_EQ(driver.left_over(), 0u);
  EXPECT_EQ(driver.contexts_retained(), 0u);
}

TEST(DeviceYardsticksTest, SaysWhereThereAreNoKernels) {
  FakeDriver driver;
  const auto yardsticks = Make(driver);
  EXPECT_THAT(yardsticks->WhyNoKernels(), ::testing::HasSubstr("driver must be as new"));
  EXPECT_GT(yardsticks->Digest().value(), 0);
  EXPECT_EQ(yardsticks->GatherSmall(100).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(DeviceStallTest, PublishesOnceBesideTheTrain) {
  KernelDriver driver;
  int published = 0;
  const absl::StatusOr<double> stall = MeasureStall(&driver, 0, [&](void* stream) {
    EXPECT_NE(stream, nullptr);
    ++published;
    return absl::OkStatus();
  });
  EXPECT_EQ(stall.value(), 0) << "this driver's clock stands still";
  EXPECT_EQ(published, 1);
  const absl::Status refused = absl::UnavailableError("no hub");
  EXPECT_EQ(MeasureStall(&driver, 0, [&](void*) { return refused; }).status(), refused);
  EXPECT_EQ(driver.left_over(), 0u);
}

}  // namespace
}  // namespace tensorhub::bench
