// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include <utility>

#include "worker_agent/cuda/driver.h"

namespace tensorhub::agent {

absl::StatusOr<CudaPrimary> CudaPrimary::Retain(CudaDriver* driver, int device) {
  const absl::StatusOr<CudaContext> context = driver->RetainPrimary(device);
  if (!context.ok()) return context.status();
  return CudaPrimary(driver, device, *context);
}

CudaPrimary::~CudaPrimary() {
  if (context_ != nullptr) static_cast<void>(driver_->ReleasePrimary(device_));
}

CudaPrimary::CudaPrimary(CudaPrimary&& other) noexcept
    : driver_(other.driver_),
      device_(other.device_),
      context_(std::exchange(other.context_, nullptr)) {}

CudaPrimary& CudaPrimary::operator=(CudaPrimary&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(device_, other.device_);
  std::swap(context_, other.context_);
  return *this;
}

CudaCurrent::CudaCurrent(const CudaPrimary& primary)
    : driver_(primary ? primary.driver() : nullptr) {
  if (driver_ == nullptr) return;
  status_ = driver_->PushCurrent(primary.context());
  if (!status_.ok()) return;
  const absl::StatusOr<CaptureMode> before = driver_->ExchangeCaptureMode(CaptureMode::kRelaxed);
  if (before.ok()) mode_before_ = *before;
}

CudaCurrent::~CudaCurrent() {
  if (driver_ == nullptr || !status_.ok()) return;
  static_cast<void>(driver_->ExchangeCaptureMode(mode_before_));
  static_cast<void>(driver_->PopCurrent());
}

}  // namespace tensorhub::agent
