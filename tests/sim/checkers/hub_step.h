// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a checker sees of the hub: each event with what came of it. Checkers look at what crosses
// the border of the code under test, and at the truth behind it, not at what that code believes.

#ifndef TENSORHUB_TESTS_SIM_CHECKERS_HUB_STEP_H_
#define TENSORHUB_TESTS_SIM_CHECKERS_HUB_STEP_H_

#include <algorithm>
#include <variant>

#include "server/core/effects.h"
#include "server/core/events.h"
#include "tests/sim/scene.h"

namespace tensorhub::fault {

struct HubStep {
  const hub::Event& event;
  const hub::Effects& effects;
  Process* from = nullptr;  // who caused it; nullptr: time
  TimeMs now = 0;           // the hub's
};

// In the very step, for want of a session or of documents, perhaps; then it is said again.
inline bool IsRefused(const HubStep& step, hub::CallId call) {
  return std::any_of(step.effects.begin(), step.effects.end(), [call](const hub::Effect& effect) {
    const auto* reply = std::get_if<hub::Reply>(&effect);
    return reply != nullptr && reply->call == call && !reply->status.ok();
  });
}

// Of a SessionOpened.
inline bool IsWelcome(const HubStep& step) {
  return std::any_of(step.effects.begin(), step.effects.end(), [](const hub::Effect& effect) {
    const auto* directive = std::get_if<hub::Directive>(&effect);
    return directive != nullptr && std::holds_alternative<hub::Welcome>(directive->body);
  });
}

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_CHECKERS_HUB_STEP_H_
