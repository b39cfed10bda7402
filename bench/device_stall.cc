// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/device_stall.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/device_block.h"

namespace tensorhub::bench {
namespace {

constexpr size_t kScratchBytes = size_t{64} << 20;
// Long against a publish, so that all of it falls within.
constexpr double kTrainSeconds = 0.05;
constexpr int kFillsMax = 100'000;

// Many short kernels, as a step of training is.
absl::StatusOr<double> TimeTrain(agent::CudaDriver* driver, DeviceTimer& timer,
                                 const DeviceBlock& scratch, int fills,
                                 const std::function<absl::Status()>& meanwhile) {
  const auto enqueue = [&](agent::CudaStream stream) {
    for (int i = 0; i < fills; ++i) {
      const absl::Status status =
          driver->FillAsync(scratch.data(), static_cast<uint8_t>(i), scratch.bytes(), stream);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  };
  return timer.Time(enqueue, meanwhile);
}

absl::Status Nothing() { return absl::OkStatus(); }

}  // namespace

absl::StatusOr<double> MeasureStall(agent::CudaDriver* driver, int device,
                                    const std::function<absl::Status(void* stream)>& publish) {
  const absl::StatusOr<agent::CudaPrimary> primary = agent::CudaPrimary::Retain(driver, device);
  if (!primary.ok()) return primary.status();
  const auto scratch = DeviceBlock::Make(*primary, kScratchBytes);
  if (!scratch.ok()) return scratch.status();
  absl::StatusOr<DeviceTimer> timer = DeviceTimer::Make(*primary);
  if (!timer.ok()) return timer.status();
  const absl::StatusOr<agent::OwnedStream> awaited =
      agent::OwnedStream::Make(*primary, agent::StreamKind::kOrdinary);
  if (!awaited.ok()) return awaited.status();
  const absl::StatusOr<double> one = TimeTrain(driver, *timer, **scratch, 1, Nothing);
  if (!one.ok()) return one.status();
  const int fills = static_cast<int>(
      std::clamp(kTrainSeconds / std::max(*one, 1e-9), 1.0, static_cast<double>(kFillsMax)));
  const absl::StatusOr<double> alone = TimeTrain(driver, *timer, **scratch, fills, Nothing);
  if (!alone.ok()) return alone.status();
  const absl::StatusOr<double> beside =
      TimeTrain(driver, *timer, **scratch, fills, [&] { return publish(awaited->get()); });
  if (!beside.ok()) return beside.status();
  return *beside - *alone;
}

}  // namespace tensorhub::bench
