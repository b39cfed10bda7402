// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/cuda_access.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "worker_agent/cuda/cuda_medium.h"
#include "worker_agent/cuda/local_gets.h"
#include "worker_agent/cuda/placement.h"

namespace tensorhub::agent {
namespace {

class HostPin {
 public:
  HostPin(CudaPrimary primary, void* data) : primary_(std::move(primary)), data_(data) {}
  ~HostPin() {
    CudaCurrent current(primary_);
    static_cast<void>(primary_.driver()->UnregisterHost(data_));
  }
  HostPin(const HostPin&) = delete;
  HostPin& operator=(const HostPin&) = delete;

 private:
  const CudaPrimary primary_;
  void* const data_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> UseRightMedium(const CudaAccess& access,
                                                        const std::vector<TensorBuffer>& tensors,
                                                        bool network_cards, Memory& memory) {
  if (!memory.cuda_device()) {
    if (absl::Status status = CheckOnHost(tensors, access.loaded()); !status.ok()) return status;
    return std::vector<std::string>();
  }
  const absl::StatusOr<CudaDriver*> driver = access.open();
  if (!driver.ok()) {
    return absl::Status(
        driver.status().code(),
        absl::StrCat("tensors are on a GPU, but ", std::string(driver.status().message())));
  }
  absl::StatusOr<std::shared_ptr<CudaMedium>> medium =
      CudaMedium::Make(tensors, *driver, kernels::KernelImage(), network_cards);
  if (!medium.ok()) return medium.status();
  std::vector<std::string> warnings = (*medium)->Warnings();
  memory.UseMedium(*std::move(medium));
  return warnings;
}

absl::StatusOr<std::unique_ptr<GetTransport>> MakeLocalGets(const CudaAccess& access, int device,
                                                            GetTransport::Sink* sink) {
  const absl::StatusOr<CudaDriver*> driver = access.open();
  if (!driver.ok()) return driver.status();
  return LocalGets::Create(*driver, device, sink);
}

absl::StatusOr<std::shared_ptr<void>> PinHostMemory(const CudaAccess& access, int device,
                                                    void* data, uint64_t bytes) {
  const absl::StatusOr<CudaDriver*> driver = access.open();
  if (!driver.ok()) return driver.status();
  absl::StatusOr<CudaPrimary> primary = CudaPrimary::Retain(*driver, device);
  if (!primary.ok()) return primary.status();
  CudaCurrent current(*primary);
  const absl::Status status = (*driver)->RegisterHost(data, bytes);
  if (!status.ok()) return status;
  return std::shared_ptr<void>(std::make_shared<HostPin>(*std::move(primary), data));
}

}  // namespace tensorhub::agent
