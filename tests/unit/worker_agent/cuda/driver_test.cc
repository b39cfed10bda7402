// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The real driver where there is one, and what is said where there is none.

#include "worker_agent/cuda/driver.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "worker_agent/cuda/driver_status.h"

namespace tensorhub::agent {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

bool LibraryThere() { return dlopen("libcuda.so.1", RTLD_NOW) != nullptr; }

TEST(CudaDriverTest, WithoutOneTheErrorSaysWhatToDo) {
  if (LibraryThere()) GTEST_SKIP() << "this machine has NVIDIA's driver";
  const absl::Status status = OpenCudaDriver().status();
  const std::string message(status.message());
  if (BuiltWithCuda()) {
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_THAT(message, HasSubstr("NVIDIA's driver is not there"));
    EXPECT_THAT(message, HasSubstr("libcuda.so.1"));
  } else {
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(message, HasSubstr("built without CUDA's headers"));
  }
  EXPECT_EQ(LoadedCudaDriver(), nullptr);
}

// What only a device can tell: the calls do what driver.h says of them.
class RealDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<CudaDriver*> driver = OpenCudaDriver();
    if (!driver.ok()) GTEST_SKIP() << driver.status();
    driver_ = *driver;
    primary_ = CudaPrimary::Retain(driver_, 0).value();
  }

  CudaDriver* driver_ = nullptr;
  CudaPrimary primary_;
};

TEST_F(RealDevice, CopiesThereAndBack) {
  CudaCurrent current(primary_);
  ASSERT_EQ(current.status(), absl::OkStatus());
  constexpr uint64_t kBytes = 1 << 20;
  void* const device = driver_->AllocateDevice(kBytes).value();
  auto* const host = static_cast<char*>(driver_->AllocateHost(kBytes).value());
  const CudaStream stream = driver_->CreateStream(/*urgent=*/true).value();
  std::memset(host, 7, kBytes);
  EXPECT_EQ(driver_->CopyAsync(device, host, kBytes, stream), absl::OkStatus());
  EXPECT_EQ(driver_->FillAsync(device, 9, kBytes / 2, stream), absl::OkStatus());
  EXPECT_EQ(driver_->CopyAsync(host, device, kBytes, stream), absl::OkStatus());
  EXPECT_EQ(driver_->SynchronizeStream(stream), absl::OkStatus());
  EXPECT_EQ(host[0], 9);
  EXPECT_EQ(host[kBytes - 1], 7);
  EXPECT_EQ(driver_->DestroyStream(stream), absl::OkStatus());
  EXPECT_EQ(driver_->FreeHost(host), absl::OkStatus());
  EXPECT_EQ(driver_->FreeDevice(device), absl::OkStatus());
}

TEST_F(RealDevice, KnowsItsPointers) {
  CudaCurrent current(primary_);
  char local = 0;
  EXPECT_EQ(driver_->Lookup(&local)->kind, CudaMemoryKind::kUnknown);
  void* const device = driver_->AllocateDevice(1 << 20).value();
  const CudaPointer found = driver_->Lookup(static_cast<char*>(device) + 5).value();
  EXPECT_EQ(found.kind, CudaMemoryKind::kDevice);
  EXPECT_EQ(found.device, 0);
  EXPECT_EQ(found.begin, reinterpret_cast<uint64_t>(device));
  EXPECT_EQ(found.bytes, uint64_t{1} << 20);
  EXPECT_TRUE(found.legacy_ipc);
  EXPECT_NE(found.allocation_id, 0u);
  EXPECT_EQ(driver_->FreeDevice(device), absl::OkStatus());
  const absl::StatusOr<CudaPointer> freed = driver_->Lookup(device);
  ASSERT_TRUE(freed.ok()) << freed.status();
  EXPECT_EQ(freed->kind, CudaMemoryKind::kUnknown);
}

// Where the device says that it cannot, the driver may still have nothing to do.
TEST_F(RealDevice, FlushesWhereItSaysSo) {
  CudaCurrent current(primary_);
  const CudaDevice device = driver_->Device(0).value();
  const absl::Status flushed = driver_->FlushRemoteWrites();
  EXPECT_TRUE(flushed.ok() || !device.flush_by_host) << flushed;
}

}  // namespace
}  // namespace tensorhub::agent
