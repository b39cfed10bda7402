// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which states follow each other in runs of the real cores, and by what: of the hub's workers,
// references and group fetches, and of an agent's verb and streams.

#ifndef TENSORHUB_TESTS_SIM_STATE_WATCH_H_
#define TENSORHUB_TESTS_SIM_STATE_WATCH_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/core/effects.h"
#include "server/core/events.h"
#include "tests/sim/hub_node.h"
#include "worker_agent/core/agent_core.h"

namespace tensorhub::fault {

struct Arrow {
  std::string machine;
  std::string from;
  std::string to;
  std::string cause;
  auto operator<=>(const Arrow&) const = default;
};

class StateWatch {
 public:
  static constexpr char kWorker[] = "worker";
  static constexpr char kReference[] = "reference";
  static constexpr char kFetch[] = "fetch";
  static constexpr char kVerb[] = "verb";
  static constexpr char kStream[] = "stream";
  // Not there: before the first state, and after the last.
  static constexpr char kNone[] = "[*]";

  // After it; `from`: who caused it, if not time or an operator.
  void OnHubStep(HubNode& hub, const hub::Event& event, const hub::Effects& effects,
                 const Process* from);
  // A hub that has ended knows nothing.
  void OnHubEnd();
  void OnAgentStep(uint32_t process, const agent::Event& event,
                   const agent::AgentCore::Phases& phases);
  // The next run's hub and processes are others.
  void OnRunEnd();

  // With how often each was seen.
  const std::map<Arrow, uint64_t>& arrows() const { return arrows_; }

 private:
  using States = std::map<std::string, std::string>;  // by what is in that state
  // `by`: what the event was of; empty: of nothing that has states.
  void Compare(const std::string& machine, States& before, States now, const std::string& cause,
               const std::string& by);
  void NoteJoins(const hub::Event& event, const hub::Effects& effects, const Process* from);

  std::map<Arrow, uint64_t> arrows_;
  States workers_;
  States references_;
  States fetches_;
  std::map<hub::CallId, std::string> joins_;              // not answered, with their groups
  std::map<uint32_t, std::string> verbs_;                 // by process
  std::map<uint32_t, std::vector<std::string>> streams_;  // likewise, by part
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_STATE_WATCH_H_
