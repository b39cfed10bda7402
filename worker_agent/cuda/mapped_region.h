// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Device memory of another process of this host: what that process says of it, and the mapping.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_MAPPED_REGION_H_
#define TENSORHUB_WORKER_AGENT_CUDA_MAPPED_REGION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "worker_agent/cuda/driver.h"
#include "worker_agent/cuda/local_regions.h"

namespace tensorhub::agent {

// The key by which a peer on this host finds a region: in the same process by its entry in
// LocalRegions, in another one by the driver's name of the allocation, if it has one.
struct LocalKey {
  std::string entry;
  std::string allocation = {};
  uint64_t offset = 0;  // of the region in the allocation

  // The allocation of `base`; without one if no other process can map it.
  static LocalKey Of(std::string entry, const std::byte* base, CudaDriver& driver);
  std::string Encode() const;
  // Takes any bytes. What is cut off is empty, and leads nowhere.
  static LocalKey Decode(std::string_view encoded);
};

class MappedRegion : public PeerRegion {
 public:
  // FAILED_PRECONDITION: it cannot be mapped from here, or is shorter than that (R9).
  static absl::StatusOr<std::shared_ptr<PeerRegion>> Map(const CudaPrimary& primary,
                                                         const LocalKey& key, uint64_t bytes);
  // Nothing reads it any more.
  ~MappedRegion() override;

  // The owner of the memory cannot wait for us; rule R3 does.
  bool Enter() override { return true; }
  void Exit() override {}

 private:
  // The driver has made it accessible to that device.
  MappedRegion(const CudaPrimary& primary, std::byte* allocation, uint64_t offset, uint64_t bytes,
               int home)
      : PeerRegion(allocation + offset, bytes, primary.device(), home),
        primary_(primary),
        allocation_(allocation) {}

  const CudaPrimary& primary_;
  std::byte* const allocation_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CUDA_MAPPED_REGION_H_
