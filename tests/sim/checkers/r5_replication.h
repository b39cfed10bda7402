// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R5: nobody reads, through any number of others, from itself; one seed per version, shard and
// datacenter. That no committed chunk is read twice is checked where bytes are written (memory.h).

#ifndef TENSORHUB_TESTS_SIM_CHECKERS_R5_REPLICATION_H_
#define TENSORHUB_TESTS_SIM_CHECKERS_R5_REPLICATION_H_

#include "tests/sim/checkers/assignments.h"
#include "tests/sim/checkers/hub_step.h"

namespace tensorhub::fault {

class R5Replication {
 public:
  R5Replication(Scene& scene, const Assignments& assignments)
      : scene_(scene), assignments_(assignments) {}
  // After the assignments have seen it.
  void OnHubStep(const HubStep& step);

 private:
  bool IsTold(const Process& process) const;
  bool IsWithdrawn(const Process& process) const;
  void CheckNoCycle(const Process& reader);
  void CheckOneSeed(const Process& reader);

  Scene& scene_;
  const Assignments& assignments_;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_CHECKERS_R5_REPLICATION_H_
