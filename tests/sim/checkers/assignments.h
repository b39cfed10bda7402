// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Who was told to read from whom and has not said since that it no longer does: from what the hub
// said and heard alone. R3 and R5 are held against it.

#ifndef TENSORHUB_TESTS_SIM_CHECKERS_ASSIGNMENTS_H_
#define TENSORHUB_TESTS_SIM_CHECKERS_ASSIGNMENTS_H_

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "tests/sim/checkers/hub_step.h"

namespace tensorhub::fault {

class Assignments {
 public:
  struct Place {
    WorkerIdentity source;
    Generation generation = 0;
    Tier tier = Tier::kRemote;
    PublicationId publication;
  };
  struct Reader {
    TransactionId transaction;
    std::map<AssignmentNumber, Place> places;
    AssignmentNumber last = 0;
    bool running = true;  // wants a source
    bool complained = false;
    bool restored = false;  // begun in an earlier life of the hub
    uint32_t moves = 0;
  };

  explicit Assignments(Scene& scene) : scene_(scene) {}
  void OnHubStart() {
    readers_.clear();
    heard_.clear();
    finished_.clear();
  }
  void OnHubStep(const HubStep& step);

  const std::map<uint32_t, Reader>& readers() const { return readers_; }  // by process
  // When the hub heard it last in a session, by the hub's clock.
  TimeMs HeardAt(uint32_t process) const {
    const auto found = heard_.find(process);
    return found == heard_.end() ? 0 : found->second;
  }
  // The source that a running reader reads from, as far as the hub has said.
  const Place* Current(uint32_t process) const;
  // True if the last step made this assignment, and did not only repeat it.
  bool IsNew(const hub::Assign& assign, uint32_t process) const {
    return new_.contains({process, assign.assignment});
  }

 private:
  void OnEvent(const HubStep& step);
  void OnHeard(const Process& from, TimeMs now);
  void OnOpened(const HubStep& step, const hub::SessionOpened& opened);
  void Restore(uint32_t process, const hub::OpenFetch& fetch);
  void Release(const Process& reader, const TransactionId& transaction, AssignmentNumber number);
  void EndWith(const Process& reader, const TransactionId& transaction);
  void EndAborted(const Process& reader);
  void EndOthers(const Process& reader, const TransactionId& transaction);

  Scene& scene_;
  std::map<uint32_t, Reader> readers_;
  std::set<std::pair<uint32_t, AssignmentNumber>> new_;  // by process
  std::map<uint32_t, TimeMs> heard_;
  std::map<uint32_t, TransactionId> finished_;  // of which the hub has heard FinishRead last
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_CHECKERS_ASSIGNMENTS_H_
