// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Max-min fair rates: every flow gets as much as it can use, and where a link is full its flows get
// equal rates, except those that a smaller one satisfies. What TCP and RDMA congestion
// control tend to, without the time that they need for it.

#ifndef TENSORHUB_TOOLS_SIM_FAIR_SHARE_H_
#define TENSORHUB_TOOLS_SIM_FAIR_SHARE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tensorhub::sim {

struct FairShareProblem {
  struct Flow {
    double cap = 0;               // what it can use; finite
    std::vector<uint32_t> links;  // indices of `capacities`, each once
    // Parts of its rate that go over each of them; empty: all of it.
    std::vector<double> parts = {};
    double PartOver(size_t link) const { return parts.empty() ? 1 : parts[link]; }
  };
  std::vector<double> capacities;
  std::vector<Flow> flows;
};

struct FairShareResult {
  std::vector<double> rates;     // by flow
  std::vector<uint8_t> binding;  // by link: it keeps a flow below its cap
};

// Rates closer than this, relatively, count as equal.
inline constexpr double kRateTolerance = 1e-9;

FairShareResult SolveFairShare(const FairShareProblem& problem);

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_FAIR_SHARE_H_
