// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/standin_driver/standin.h"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "common/mutex.h"

namespace tensorhub::standin {
namespace {

// How long a device takes to begin what it was given, if nobody asks.
constexpr std::chrono::microseconds kTurn(200);

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

Settings ReadSettings() {
  Settings settings;
  settings.devices = static_cast<int>(
      FromEnvironment("TENSORHUB_STANDIN_DEVICES", static_cast<uint64_t>(settings.devices)));
  settings.memory_bytes = FromEnvironment("TENSORHUB_STANDIN_MEMORY", settings.memory_bytes);
  return settings;
}

agent::testing::KernelDriver* Start() {
  auto* const driver = new agent::testing::KernelDriver(
      {.devices = TheSettings().devices, .memory_bytes = TheSettings().memory_bytes});
  std::thread([driver] {
    Mutex mutex;
    CondVar turn;  // which nobody signals
    MutexLock lock(mutex);
    for (;;) {
      turn.WaitUntil(mutex, std::chrono::steady_clock::now() + kTurn);
      driver->Run();
    }
  }).detach();
  return driver;
}

}  // namespace

const Settings& TheSettings() {
  static const Settings settings = ReadSettings();
  return settings;
}

agent::testing::KernelDriver& TheDriver() {
  static agent::testing::KernelDriver* const driver = Start();
  return *driver;
}

CUresult ResultOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return CUDA_SUCCESS;
    case absl::StatusCode::kResourceExhausted:
      return CUDA_ERROR_OUT_OF_MEMORY;
    case absl::StatusCode::kFailedPrecondition:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace tensorhub::standin
