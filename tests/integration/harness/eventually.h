// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Waiting for a condition instead of for a while.

#ifndef TENSORHUB_TESTS_INTEGRATION_HARNESS_EVENTUALLY_H_
#define TENSORHUB_TESTS_INTEGRATION_HARNESS_EVENTUALLY_H_

#include <poll.h>

#include <chrono>

namespace tensorhub::harness {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Asks `predicate` every few milliseconds; false if it did not hold within `timeout`.
template <typename Predicate>
bool Eventually(milliseconds timeout, Predicate predicate) {
  const auto deadline = Clock::now() + timeout;
  while (!predicate()) {
    if (Clock::now() >= deadline) return false;
    poll(nullptr, 0, 5);
  }
  return true;
}

}  // namespace tensorhub::harness

#endif  // TENSORHUB_TESTS_INTEGRATION_HARNESS_EVENTUALLY_H_
