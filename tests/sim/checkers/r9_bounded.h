// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R9: what clients did leaves nothing behind: when all are gone, the hub counts nobody and nothing.
// And who was not sent to a source hears a refusal there, and nothing else.

#ifndef TENSORHUB_TESTS_SIM_CHECKERS_R9_BOUNDED_H_
#define TENSORHUB_TESTS_SIM_CHECKERS_R9_BOUNDED_H_

#include <string>

#include "tests/sim/scene.h"

namespace tensorhub::fault {

class R9Bounded {
 public:
  explicit R9Bounded(Scene& scene) : scene_(scene) {}
  // A message arrives from a source, or from a reader.
  void OnFrame(const Process& from, const Process& to, const std::string& header);
  // Nothing is under way: no reference has a reader.
  void CheckSettled();
  // All have left or died, and their leases are over.
  void CheckEmpty();

 private:
  Scene& scene_;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_CHECKERS_R9_BOUNDED_H_
