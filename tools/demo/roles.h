// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The parts that the demonstration's processes play.

#ifndef TENSORHUB_TOOLS_DEMO_ROLES_H_
#define TENSORHUB_TOOLS_DEMO_ROLES_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorhub/ros.h"

namespace tensorhub::demo {

// What readers without another source get of a process that is told to end.
inline constexpr std::chrono::seconds kGrace(3);

// What all processes of one run agree on.
struct Setting {
  std::string server = "localhost:7070";
  std::string model = "demo";
  std::string checkpoint;
  std::string directory;  // for notes
  uint32_t ranks = 2;
  uint32_t rollouts = 4;
  uint64_t versions = 5;
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
};

// Publishes version after version: waits until every rollout has one, trains, publishes the next.
absl::Status RunTrainer(const Setting& setting, uint32_t rank);

// Fetches every version, checks its digest, prints a line about it.
absl::Status RunRollout(const Setting& setting, uint32_t number, uint32_t rank);

// Shows what the others do until they are done, then sums up. An error if any digest differs.
absl::Status RunReport(const Setting& setting);

// A client whose location says at least which host this is.
absl::StatusOr<std::unique_ptr<tensorhub::Client>> ConnectTo(const Setting& setting,
                                                             const std::string& group,
                                                             uint32_t rank);

}  // namespace tensorhub::demo

#endif  // TENSORHUB_TOOLS_DEMO_ROLES_H_
