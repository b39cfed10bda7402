// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/device_block.h"

#include <utility>

namespace tensorhub::bench {

absl::StatusOr<std::unique_ptr<DeviceBlock>> DeviceBlock::Make(const agent::CudaPrimary& primary,
                                                               size_t bytes) {
  const agent::CudaCurrent current(primary);
  if (!current.status().ok()) return current.status();
  const absl::StatusOr<void*> data = primary.driver()->AllocateDevice(bytes);
  if (!data.ok()) return data.status();
  return std::unique_ptr<DeviceBlock>(
      new DeviceBlock(primary, static_cast<std::byte*>(*data), bytes));
}

DeviceBlock::~DeviceBlock() {
  const agent::CudaCurrent current(primary_);
  static_cast<void>(primary_.driver()->FreeDevice(data_));
}

absl::StatusOr<DeviceTimer> DeviceTimer::Make(const agent::CudaPrimary& primary) {
  DeviceTimer timer(primary);
  absl::StatusOr<agent::OwnedStream> stream =
      agent::OwnedStream::Make(primary, agent::StreamKind::kOrdinary);
  if (!stream.ok()) return stream.status();
  timer.stream_ = *std::move(stream);
  for (agent::OwnedEvent* event : {&timer.begin_, &timer.end_}) {
    absl::StatusOr<agent::OwnedEvent> made =
        agent::OwnedEvent::Make(primary, agent::EventKind::kTimed);
    if (!made.ok()) return made.status();
    *event = *std::move(made);
  }
  return timer;
}

absl::StatusOr<double> DeviceTimer::Time(
    const std::function<absl::Status(agent::CudaStream)>& enqueue,
    const std::function<absl::Status()>& meanwhile) {
  const agent::CudaCurrent current(*primary_);
  agent::CudaDriver& driver = *primary_->driver();
  absl::Status status = driver.RecordEvent(begin_.get(), stream());
  if (status.ok()) status = enqueue(stream());
  if (status.ok()) status = driver.RecordEvent(end_.get(), stream());
  if (status.ok()) status = meanwhile();
  // The stream ends also after an error: what was given uses memory.
  status.Update(driver.SynchronizeStream(stream()));
  if (!status.ok()) return status;
  const absl::StatusOr<float> ms = driver.ElapsedMs(begin_.get(), end_.get());
  if (!ms.ok()) return ms.status();
  return static_cast<double>(*ms) / 1e3;
}

}  // namespace tensorhub::bench
