// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which UCX this process has, and what it found on this machine.

#ifndef TENSORHUB_WORKER_AGENT_UCX_UCX_FACTS_H_
#define TENSORHUB_WORKER_AGENT_UCX_UCX_FACTS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace tensorhub::agent {

struct UcxFacts {
  std::pair<unsigned, unsigned> number;  // 1, 13
  std::string version;                   // "1.13.1"
  std::string library;                   // the file it was loaded from
  std::string why;                       // this one, where a launcher chose it and says so
  std::string transports;                // "posix/memory, tcp/eth0"
  bool cuda = false;                     // it tells memory of GPUs from the host's
  size_t address_bytes = 0;              // what a worker's address takes

  bool IsAtLeast(unsigned major, unsigned minor) const { return number >= std::pair(major, minor); }
  // "rc" stands for all its kinds: rc_verbs, rc_mlx5.
  bool Has(std::string_view transport) const;
};

// A launcher that chooses among several says in it, for people, why it chose this one.
inline constexpr char kUcxWhyVariable[] = "TENSORHUB_UCX_WHY";

// Opens a context with all transports that the environment allows, and closes it. An error says
// why there is none.
absl::StatusOr<UcxFacts> LookAtUcx();

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_UCX_UCX_FACTS_H_
