// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How an agent comes by the driver, and gives a shard's memory the medium that it lies in.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_CUDA_ACCESS_H_
#define TENSORHUB_WORKER_AGENT_CUDA_CUDA_ACCESS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker_agent/core/transport.h"
#include "worker_agent/cuda/driver.h"
#include "worker_agent/memory/memory.h"

namespace tensorhub::agent {

// Tests have another driver, and other hosts.
struct CudaAccess {
  std::function<absl::StatusOr<CudaDriver*>()> open = OpenCudaDriver;
  std::function<CudaDriver*()> loaded = LoadedCudaDriver;
  // As CudaMedium::Make's; nothing: as this host has them.
  std::optional<bool> network_cards = {};
};

// What `memory` was made of. Returns what the owner should be warned of; fails as PlaceOnDevice,
// CheckOnHost, OpenCudaDriver and the driver do. Nothing is asked of a driver that the process has
// not loaded and does not need. `network_cards`: as CudaMedium::Make's.
absl::StatusOr<std::vector<std::string>> UseRightMedium(const CudaAccess& access,
                                                        const std::vector<TensorBuffer>& tensors,
                                                        bool network_cards, Memory& memory);

// LocalGets by this device.
absl::StatusOr<std::unique_ptr<GetTransport>> MakeLocalGets(const CudaAccess& access, int device,
                                                            GetTransport::Sink* sink);

// Page-locks memory for copies of this device, for as long as the result lives.
absl::StatusOr<std::shared_ptr<void>> PinHostMemory(const CudaAccess& access, int device,
                                                    void* data, uint64_t bytes);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CUDA_CUDA_ACCESS_H_
