// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the demonstration's processes tell one another outside of TensorHub, in files of one
// directory: the trainer its digests, the rollouts their results.

#ifndef TENSORHUB_TOOLS_DEMO_NOTES_H_
#define TENSORHUB_TOOLS_DEMO_NOTES_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"

namespace tensorhub::demo {

struct FetchNote {
  std::string group;
  uint32_t rank = 0;
  uint64_t version = 0;
  uint64_t bytes = 0;
  double seconds = 0;
  std::string way;
  std::string sources;
  bool digest_ok = false;
};

class Notes {
 public:
  explicit Notes(std::string directory) : directory_(std::move(directory)) {}

  absl::Status WriteDigest(uint64_t version, uint32_t rank, const Fingerprint& digest) const;
  // NOT_FOUND before it was written.
  absl::StatusOr<Fingerprint> ReadDigest(uint64_t version, uint32_t rank) const;

  absl::Status WriteFetch(const FetchNote& note) const;
  absl::StatusOr<FetchNote> ReadFetch(const std::string& group, uint32_t rank,
                                      uint64_t version) const;

  // Blocks until every rank of the rollout groups 1 … `rollouts` has noted its fetch of `version`.
  absl::Status WaitForFetches(uint64_t version, uint32_t rollouts, uint32_t ranks,
                              std::chrono::milliseconds timeout) const;

 private:
  std::string FetchPath(const std::string& group, uint32_t rank, uint64_t version) const;
  std::string DigestPath(uint64_t version, uint32_t rank) const;

  const std::string directory_;
};

// "rollout-3"
std::string RolloutName(uint32_t number);

}  // namespace tensorhub::demo

#endif  // TENSORHUB_TOOLS_DEMO_NOTES_H_
