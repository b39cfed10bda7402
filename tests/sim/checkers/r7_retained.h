// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R7: when the hub lets a holder unpublish the newest version, somebody else keeps its shard:
// whole, not on its way out or out of service, and stable where the model has stable workers.
// Unless the owner forces it or leaves, or the version cannot be fetched anyhow. A copy in host
// memory goes when nobody wants its version.

#ifndef TENSORHUB_TESTS_SIM_CHECKERS_R7_RETAINED_H_
#define TENSORHUB_TESTS_SIM_CHECKERS_R7_RETAINED_H_

#include <map>
#include <optional>
#include <set>

#include "server/core/views.h"
#include "tests/sim/checkers/hub_step.h"

namespace tensorhub::fault {

class R7Retained {
 public:
  explicit R7Retained(Scene& scene) : scene_(scene) {}
  void OnHubStart() {
    asked_.clear();
    leaving_.clear();
    newest_.clear();
  }
  void BeforeHubStep(const hub::Event& event);
  void OnHubStep(const HubStep& step);
  void CheckSettled();

 private:
  struct Asked {
    WorkerIdentity worker;
    Generation generation = 0;
    VersionNumber version = 0;
    PublicationId publication = {};
    ShardingId sharding = {};
    bool was_wanted = true;  // before the step that is looked at
  };
  std::optional<hub::ReferenceState> StateOf(const Asked& asked) const;
  static bool HearsOfIt(const HubStep& step, const Asked& asked, const Scene& scene);
  static bool IsItsOwnWord(const HubStep& step, const Asked& asked);
  void OnLetGo(const Asked& asked);
  bool IsNewest(const std::string& model, const PublicationId& publication) const;
  bool IsWanted(const Asked& asked) const;
  bool IsKept(const Asked& asked) const;
  bool IsFull(const Process& process) const;
  bool HasStable(const std::string& model) const;
  bool IsWithdrawn(const WorkerIdentity& worker) const;

  Scene& scene_;
  // What complete holders asked for, without force, until it is decided; by incarnation.
  std::map<Incarnation, Asked> asked_;
  std::set<Incarnation> leaving_;
  std::map<Incarnation, OpId> newest_;  // of the calls to unpublish
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_CHECKERS_R7_RETAINED_H_
