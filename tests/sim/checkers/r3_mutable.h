// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R3: the owner gets its buffers back when no assigned reader counts any more, or when the time is
// up; from the moment that it asks, nobody new is assigned. That it writes only then is checked
// where it writes (process.cc); that an unpublish ends within its bound, where verbs end
// (r8_recovery.cc).
//
// And one that an operator takes out of service is given nobody while another that is in service
// holds its shard whole.

#ifndef TENSORHUB_TESTS_SIM_CHECKERS_R3_MUTABLE_H_
#define TENSORHUB_TESTS_SIM_CHECKERS_R3_MUTABLE_H_

#include <map>
#include <set>
#include <utility>

#include "tests/sim/checkers/assignments.h"
#include "tests/sim/checkers/hub_step.h"

namespace tensorhub::fault {

class R3Mutable {
 public:
  R3Mutable(Scene& scene, const Assignments& assignments)
      : scene_(scene), assignments_(assignments) {}
  void OnHubStart() {
    closed_.clear();
    heard_.clear();
    unlisted_.clear();
    aside_.clear();
  }
  // After the assignments have seen it.
  void OnHubStep(const HubStep& step);

 private:
  void OnListed(const HubStep& step);
  void OnAssigned(Incarnation reader, const hub::Assign& assign);
  void OnUnpublish(const Process& source, const hub::UnpublishOp& unpublish);
  void CheckNoGets(const HubStep& step, const Process& source, Generation generation);
  void OnDrained(const HubStep& step, const Process& source, Generation generation);
  std::set<Incarnation> ThoseAside() const;

  Scene& scene_;
  const Assignments& assignments_;
  // Sources and generations whose admission is closed, by process.
  std::map<uint32_t, Generation> closed_;
  std::map<uint32_t, TimeMs> heard_;
  // Whose reference may have gone without its asking; its readers count no more then.
  std::set<uint32_t> unlisted_;
  // Who was out of service after the last step, and had somebody to step aside for.
  std::set<Incarnation> aside_;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_CHECKERS_R3_MUTABLE_H_
