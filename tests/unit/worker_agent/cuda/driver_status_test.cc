// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/driver_status.h"

#include <gtest/gtest.h>

namespace tensorhub::agent {
namespace {

using absl::StatusCode;

TEST(CudaStatus, NamesTheCallAndTheDriversWords) {
  const absl::Status status = CudaStatus(2, "cuMemAlloc", "CUDA_ERROR_OUT_OF_MEMORY", "no memory");
  EXPECT_EQ(std::string(status.message()), "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY: no memory");
  EXPECT_EQ(CudaStatus(0, "cuInit", "", ""), absl::OkStatus());
}

TEST(CudaStatus, EveryKindOfResult) {
  const std::pair<int, StatusCode> table[] = {
      {1, StatusCode::kInvalidArgument},       // INVALID_VALUE
      {2, StatusCode::kResourceExhausted},     // OUT_OF_MEMORY
      {3, StatusCode::kUnavailable},           // NOT_INITIALIZED
      {100, StatusCode::kUnavailable},         // NO_DEVICE
      {101, StatusCode::kInvalidArgument},     // INVALID_DEVICE
      {201, StatusCode::kInvalidArgument},     // INVALID_CONTEXT
      {209, StatusCode::kFailedPrecondition},  // NO_BINARY_FOR_GPU
      {222, StatusCode::kFailedPrecondition},  // UNSUPPORTED_PTX_VERSION
      {400, StatusCode::kInvalidArgument},     // INVALID_HANDLE
      {700, StatusCode::kAborted},             // ILLEGAL_ADDRESS
      {719, StatusCode::kAborted},             // LAUNCH_FAILED
      {801, StatusCode::kFailedPrecondition},  // NOT_SUPPORTED
      {900, StatusCode::kFailedPrecondition},  // STREAM_CAPTURE_UNSUPPORTED
      {907, StatusCode::kFailedPrecondition},  // CAPTURED_EVENT
      {999, StatusCode::kInternal},            // UNKNOWN
      {-7, StatusCode::kInternal},
  };
  for (const auto& [result, code] : table) {
    EXPECT_EQ(CudaStatus(result, "cuX", "NAME", "text").code(), code) << result;
  }
}

}  // namespace
}  // namespace tensorhub::agent
