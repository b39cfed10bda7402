// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// An allocation of a GPU's memory, and the time that work takes there.

#ifndef TENSORHUB_BENCH_DEVICE_BLOCK_H_
#define TENSORHUB_BENCH_DEVICE_BLOCK_H_

#include <cstddef>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker_agent/cuda/driver.h"
#include "worker_agent/cuda/owned.h"

namespace tensorhub::bench {

class DeviceBlock {
 public:
  // `primary` outlives it. RESOURCE_EXHAUSTED names the size.
  static absl::StatusOr<std::unique_ptr<DeviceBlock>> Make(const agent::CudaPrimary& primary,
                                                           size_t bytes);
  ~DeviceBlock();
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  DeviceBlock(const agent::CudaPrimary& primary, std::byte* data, size_t bytes)
      : primary_(primary), data_(data), bytes_(bytes) {}

  const agent::CudaPrimary& primary_;
  std::byte* const data_;
  const size_t bytes_;
};

// A stream whose work is timed by the device.
class DeviceTimer {
 public:
  // `primary` outlives it.
  static absl::StatusOr<DeviceTimer> Make(const agent::CudaPrimary& primary);
  agent::CudaStream stream() const { return stream_.get(); }
  // Seconds from the begin to the end of what `enqueue` gives to the stream. `meanwhile` is called
  // when it is given, and before it is waited for.
  absl::StatusOr<double> Time(
      const std::function<absl::Status(agent::CudaStream)>& enqueue,
      const std::function<absl::Status()>& meanwhile = [] { return absl::OkStatus(); });

 private:
  explicit DeviceTimer(const agent::CudaPrimary& primary) : primary_(&primary) {}

  const agent::CudaPrimary* primary_;
  agent::OwnedStream stream_;
  agent::OwnedEvent begin_;
  agent::OwnedEvent end_;
};

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_DEVICE_BLOCK_H_
