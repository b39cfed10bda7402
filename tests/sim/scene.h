// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What all parts of one run share: time, dice, faults, the truth about contents, and the verdict.

#ifndef TENSORHUB_TESTS_SIM_SCENE_H_
#define TENSORHUB_TESTS_SIM_SCENE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/sim/agenda.h"
#include "tests/sim/contents.h"
#include "tests/sim/faults.h"
#include "tests/sim/hearsay.h"

namespace tensorhub::fault {

class Checkers;
class EffectTrace;
class Gets;
class HubNode;
class Process;
class StateWatch;
class Wire;

struct Violation {
  std::string rule;  // "R4"
  std::string text;
  Nanos at = 0;
};

struct Counts {
  uint64_t operations = 0;  // calls of the client's interface
  uint64_t succeeded = 0;
  uint64_t fetched = 0;  // fetches that succeeded
  uint64_t copies = 0;   // made in host memory
  uint64_t chunks = 0;   // committed by readers
  uint64_t hub_events = 0;
  uint64_t faults = 0;
  uint64_t damaged = 0;  // cells, on their way
  uint64_t rotten = 0;   // cells, in memory
};

struct Scene {
  explicit Scene(uint64_t seed);
  ~Scene();
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  Agenda agenda;
  Dice dice;
  FaultPlan plan;
  bool faults_on = false;  // the shares of the plan count
  Contents contents;
  Counts counts;
  std::ostream* log = nullptr;          // everything that happens, for people
  Listener* listener = nullptr;         // hears what is said
  EffectTrace* effect_trace = nullptr;  // if it is wanted
  StateWatch* states = nullptr;         // likewise

  // By number; dead ones stay, since their memory does.
  std::vector<std::unique_ptr<Process>> processes;
  HubNode* hub = nullptr;
  Wire* wire = nullptr;
  Gets* gets = nullptr;
  Checkers* checkers = nullptr;
  // The owner of this process gives up what it does and takes its buffers back, if it may.
  std::function<void(const Process&)> take_back = nullptr;
  // It dies, and its owner starts another.
  std::function<void(Process&)> kill = nullptr;

  // The first one is kept.
  void Fail(const std::string& rule, const std::string& text) {
    if (!violation) violation = Violation{rule, text, agenda.now()};
    Log(rule, " VIOLATED: ", text);
  }
  std::optional<Violation> violation;

  void Said(const std::string& from, const std::string& to, const std::string& what,
            const std::string& detail = "") const {
    if (listener != nullptr && !what.empty()) listener->OnMessage(from, to, what, detail);
  }
  void Note(const std::string& who, const std::string& what) const {
    if (listener != nullptr) listener->OnNote(who, what);
  }

  bool Happens(Ppm ppm) { return faults_on && dice.Chance(ppm); }
  // One cell of what is on its way may become another. True if it has.
  bool Damage(Cells& cells);

  template <typename... Parts>
  void Log(const Parts&... parts) {
    if (log == nullptr) return;
    *log << sim::Seconds(agenda.now()) << ' ';
    ((*log << parts), ...);
    *log << '\n';
  }
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_SCENE_H_
