// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R2: a version becomes visible only when every rank of one group, in one group epoch, published
// it.

#ifndef TENSORHUB_TESTS_SIM_CHECKERS_R2_VISIBLE_H_
#define TENSORHUB_TESTS_SIM_CHECKERS_R2_VISIBLE_H_

#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/sim/checkers/hub_step.h"

namespace tensorhub::fault {

class R2Visible {
 public:
  explicit R2Visible(Scene& scene) : scene_(scene) {}
  void OnHubStart();
  void OnHubStep(const HubStep& step);

 private:
  using Members = std::map<Rank, Incarnation>;
  struct Publish {
    Members beside;
    Nanos at = 0;  // when the hub heard it first
  };
  // Who was alive, as far as the hub could know, when a rank published.
  Members MembersOf(const WorkerKey& key) const;
  static bool IsGone(const HubStep& step, const hub::ModelChange& visible);
  void OnVisible(const std::string& model, Version version, bool gone);
  bool IsOneEpoch(const Members& publishers, const std::map<Rank, Publish>& publishes) const;
  // kNever: not yet.
  Nanos Came(Incarnation incarnation) const;

  Scene& scene_;
  // By process and generation: what the hub lists of, or has heard of in this life.
  std::map<std::pair<uint32_t, Generation>, Publish> published_;
  std::map<std::pair<uint32_t, Generation>, Publish> earlier_;  // in those before
  std::map<uint32_t, Nanos> came_;  // by process: its first session, in any life
  std::set<PublicationId> seen_;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_CHECKERS_R2_VISIBLE_H_
