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

#include "server/core/views.h"
#include "tests/sim/checkers/hub_step.h"

namespace tensorhub::fault {

// Also: terms rise only, and no fetch is decided on what a later one supersedes.
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
  // After that revision.
  static bool IsGone(const HubStep& step, const std::string& model, VersionNumber version,
                     uint64_t since);
  void OnVisible(const std::string& model, VersionNumber version, bool gone);
  void CheckPublished(const std::string& model, const hub::VersionView& view);
  void OnTerms(const std::string& model, const std::vector<Term>& terms);
  void OnPublished(const std::string& model, const hub::PublishReply& reply);
  void OnDecided(const std::string& model, const hub::FetchDecision& decision);
  bool IsOneEpoch(const Members& publishers, const std::map<Rank, Publish>& publishes) const;
  // kNever: not yet.
  Nanos Came(Incarnation incarnation) const;

  Scene& scene_;
  // By process and generation: what the hub lists of, or has heard of in this life.
  std::map<std::pair<uint32_t, Generation>, Publish> published_;
  std::map<std::pair<uint32_t, Generation>, Publish> earlier_;  // in those before
  std::map<uint32_t, Nanos> came_;  // by process: its first session, in any life
  std::set<PublicationId> seen_;
  // By model: the terms of what became visible, as their publishers were told, and since when.
  std::map<std::string, std::map<TermNumber, VersionNumber>> terms_;
  std::map<PublicationId, TermNumber> published_in_;
  std::set<TransactionId> decided_;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_CHECKERS_R2_VISIBLE_H_
