// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Progressive filling: all rates rise together; a flow stops at its cap, or when one of its links
// is full.

#include "tools/sim/fair_share.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tensorhub::sim {
namespace {

class Filling {
 public:
  explicit Filling(const FairShareProblem& problem)
      : problem_(problem),
        left_(problem.capacities),
        rising_(problem.capacities.size(), 0),
        weight_(problem.capacities.size(), 0),
        members_(problem.capacities.size()),
        stopped_(problem.flows.size(), 0),
        by_cap_(problem.flows.size()) {
    result_.rates.assign(problem.flows.size(), 0);
    result_.binding.assign(problem.capacities.size(), 0);
    for (uint32_t flow = 0; flow < problem.flows.size(); ++flow) {
      const FairShareProblem::Flow& its = problem.flows[flow];
      for (size_t i = 0; i < its.links.size(); ++i) {
        ++rising_[its.links[i]];
        weight_[its.links[i]] += its.PartOver(i);
        members_[its.links[i]].push_back(flow);
      }
    }
    std::iota(by_cap_.begin(), by_cap_.end(), 0u);
    std::stable_sort(by_cap_.begin(), by_cap_.end(), [&](uint32_t a, uint32_t b) {
      return problem_.flows[a].cap < problem_.flows[b].cap;
    });
  }

  FairShareResult Run() {
    size_t next = 0;
    while (true) {
      const uint32_t link = FullestLink();
      const double level = link == kNone ? std::numeric_limits<double>::max() : Level(link);
      const size_t before = next;
      // Who stops at its cap leaves the others no less, so that one level serves for many.
      while (next < by_cap_.size() && IsContent(by_cap_[next], level)) StopAtCap(by_cap_[next++]);
      if (link == kNone) return std::move(result_);
      if (next != before) continue;
      result_.binding[link] = 1;
      for (const uint32_t member : members_[link]) {
        if (stopped_[member] == 0) Stop(member, level);
      }
    }
  }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  bool IsContent(uint32_t flow, double level) const {
    return stopped_[flow] != 0 || problem_.flows[flow].cap <= level * (1 + kRateTolerance);
  }

  void StopAtCap(uint32_t flow) {
    if (stopped_[flow] == 0) Stop(flow, problem_.flows[flow].cap);
  }

  double Level(uint32_t link) const { return std::max(0.0, left_[link]) / weight_[link]; }

  uint32_t FullestLink() const {
    uint32_t fullest = kNone;
    for (uint32_t link = 0; link < left_.size(); ++link) {
      if (rising_[link] == 0) continue;
      if (fullest == kNone || Level(link) < Level(fullest)) fullest = link;
    }
    return fullest;
  }

  void Stop(uint32_t flow, double rate) {
    stopped_[flow] = 1;
    result_.rates[flow] = rate;
    const FairShareProblem::Flow& its = problem_.flows[flow];
    for (size_t i = 0; i < its.links.size(); ++i) {
      left_[its.links[i]] -= rate * its.PartOver(i);
      weight_[its.links[i]] -= its.PartOver(i);
      --rising_[its.links[i]];
    }
  }

  const FairShareProblem& problem_;
  std::vector<double> left_;      // by link
  std::vector<uint32_t> rising_;  // by link: flows that have not stopped
  std::vector<double> weight_;    // by link: the parts of those that go over it
  std::vector<std::vector<uint32_t>> members_;
  std::vector<uint8_t> stopped_;
  std::vector<uint32_t> by_cap_;
  FairShareResult result_;
};

}  // namespace

FairShareResult SolveFairShare(const FairShareProblem& problem) { return Filling(problem).Run(); }

}  // namespace tensorhub::sim
