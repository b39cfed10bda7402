// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whether what is cut in one way can be read in another, as far as the planner has said. It is
// asked once for each pair of shardings, and the answers that were used last are remembered.

#ifndef TENSORHUB_SERVER_CORE_PLANS_H_
#define TENSORHUB_SERVER_CORE_PLANS_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/core/documents.h"
#include "server/core/effects.h"
#include "server/core/events.h"

namespace tensorhub::hub {

struct KnownPlan {
  bool made = false;    // false: the answer is to come
  absl::Status status;  // why it cannot be read so
  PartsByRank parts;
  bool full = false;    // the readers have, together, all that is read from
  std::string missing;  // what they have not, for people
  EqualBoxes equal;     // of the answer to EqualBoxesIn
  uint64_t used = 0;    // the greater, the later
};

struct Sharding;

// Layouts by rank; fewer than its ranks while some are not known.
std::vector<Fingerprint> LayoutsOf(const Sharding& sharding);
// The question whether what is cut in one way can be read as cut in the other.
PlanWanted PlanOf(std::vector<Fingerprint> from, std::vector<Fingerprint> to);
// The question which boxes ranks that cut so hold alike.
PlanWanted EqualBoxesIn(std::vector<Fingerprint> layouts);
// R9: what a plan says of a sharding counts more than workers' words. The published one has
// everything.
void TakePlan(const KnownPlan& plan, const Sharding& origin, Sharding& sharding);

class Plans {
 public:
  explicit Plans(const Documents& documents) : documents_(documents) {}

  // Whether all of these layouts are known, without which nothing can be planned.
  bool HaveLayouts(const std::vector<Fingerprint>& layouts);
  // Whether they were not for somebody since this was asked last: a new layout may help.
  bool TakeLacked() { return std::exchange(lacked_, false); }
  // What is known now. Asks the planner if nobody has. Valid until the next call.
  const KnownPlan& Get(const PlanWanted& wanted, Effects& out);
  // False: nobody waits for it.
  bool Learn(const PlanMade& made);
  // A failure that may pass is asked for again. To be called once those who waited have heard it.
  void ForgetFailure(const PlanMade& made);

 private:
  const Documents& documents_;
  bool lacked_ = false;
  std::map<PlanKey, KnownPlan> known_;
  uint64_t used_ = 0;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_PLANS_H_
