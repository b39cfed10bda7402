// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How long it is worth waiting for bytes with open eyes. On a fast link the next bytes come within
// microseconds, and falling asleep costs a factor of four (docs/benchmarks.md); at 500 Mbit/s they
// come every millisecond, and spinning for each of them would burn a third of a core. So the
// budget follows the gaps that were worth waiting for: it is some of the last ones' length, and
// halves with each wait in vain.

#ifndef TENSORHUB_WORKER_AGENT_RUNTIME_SPIN_BUDGET_H_
#define TENSORHUB_WORKER_AGENT_RUNTIME_SPIN_BUDGET_H_

#include <algorithm>
#include <cstdint>

namespace tensorhub::agent {

class SpinBudget {
 public:
  static constexpr int64_t kMaxUs = 300;
  static constexpr int64_t kMinUs = 5;

  // Whether to go on waiting, `idle_us` after something last happened.
  bool Allows(int64_t idle_us) {
    if (idle_us < budget_us_) {
      spun_ = true;
      return true;
    }
    if (spun_) budget_us_ = std::max(budget_us_ / 2, kMinUs);
    spun_ = false;
    return false;
  }
  // Something happened; `idle_us` is how long nothing had.
  void OnActive(int64_t idle_us) {
    if (idle_us < kMaxUs) budget_us_ = std::max(budget_us_, std::min(4 * idle_us, kMaxUs));
    spun_ = false;
  }
  int64_t us() const { return budget_us_; }

 private:
  int64_t budget_us_ = kMaxUs;
  bool spun_ = false;  // since something last happened
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_RUNTIME_SPIN_BUDGET_H_
