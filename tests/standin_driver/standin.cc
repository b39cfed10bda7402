// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/standin_driver/standin.h"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "common/mutex.h"

namespace tensorhub::standin {
namespace {

// How long a device takes to see what it was given, if nobody asks, and to go on with it.
constexpr std::chrono::microseconds kIdleTurn(1000);
constexpr std::chrono::microseconds kTurn(50);

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

Settings ReadSettings() {
  Settings settings;
  settings.devices = static_cast<int>(
      FromEnvironment("TENSORHUB_STANDIN_DEVICES", static_cast<uint64_t>(settings.devices)));
  settings.memory_bytes = FromEnvironment("TENSORHUB_STANDIN_MEMORY", settings.memory_bytes);
  settings.memory_gbps = FromEnvironment("TENSORHUB_STANDIN_RATE", settings.memory_gbps);
  settings.bus_gbps = FromEnvironment("TENSORHUB_STANDIN_BUS", settings.bus_gbps);
  return settings;
}

agent::testing::KernelDriver* Start() {
  const Settings& settings = TheSettings();
  auto* const driver = new agent::testing::KernelDriver(
      {.devices = settings.devices,
       .memory_bytes = settings.memory_bytes,
       .memory_rate = 1e9 * static_cast<double>(settings.memory_gbps),
       .bus_rate = 1e9 * static_cast<double>(settings.bus_gbps)});
  std::thread([driver] {
    Mutex mutex;
    CondVar turn;  // which nobody signals
    MutexLock lock(mutex);
    for (;;) {
      const auto wait = driver->Run() ? kIdleTurn : kTurn;
      turn.WaitUntil(mutex, std::chrono::steady_clock::now() + wait);
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
