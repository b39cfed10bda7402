// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Simulated time, the processes that live in it, and what is to happen to whom and when. A stopped
// process finds everything that came meanwhile, in order, when it runs again; a dead one nothing.

#ifndef TENSORHUB_TESTS_SIM_AGENDA_H_
#define TENSORHUB_TESTS_SIM_AGENDA_H_

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "common/time.h"
#include "tools/sim/event_queue.h"

namespace tensorhub::fault {

using sim::kMicrosecond;
using sim::kMillisecond;
using sim::kSecond;
using sim::Nanos;
using Action = std::function<void()>;

// A process, as far as time is concerned: whether it runs, and what its monotonic clock says, which
// runs a little fast or slow and may jump forward.
class Node {
 public:
  enum class State { kRunning, kPaused, kDead };

  State state() const { return state_; }
  bool running() const { return state_ == State::kRunning; }
  bool dead() const { return state_ == State::kDead; }

  TimeMs LocalMs(Nanos now) const {
    const Nanos elapsed = now - based_at_;
    return (local_ + elapsed + elapsed / kMillion * drift_ppm_) / kMillisecond;
  }
  // The first moment at which its clock says at least `local_ms`.
  Nanos WhenLocal(TimeMs local_ms, Nanos now) const {
    const TimeMs left = local_ms - LocalMs(now);
    if (left <= 0) return now;
    Nanos when = now + left * kMillisecond - left * kMillisecond / kMillion * drift_ppm_;
    while (LocalMs(when) < local_ms) when += kMillisecond / 4;
    return when;
  }
  void SetClock(Nanos now, Nanos local, int64_t drift_ppm) {
    based_at_ = now;
    local_ = local;
    drift_ppm_ = drift_ppm;
  }
  // When it was stopped, or its clock jumped, last: it is late since, and not by its own fault.
  Nanos disturbed_at() const { return disturbed_at_; }
  void Jump(Nanos now, Nanos by) {
    disturbed_at_ = now;
    const Nanos elapsed = now - based_at_;
    SetClock(now, local_ + elapsed + elapsed / kMillion * drift_ppm_ + by, drift_ppm_);
  }

 private:
  friend class Agenda;
  static constexpr int64_t kMillion = 1'000'000;
  State state_ = State::kRunning;
  std::vector<Action> inbox_;  // while paused
  Nanos disturbed_at_ = 0;
  Nanos based_at_ = 0;
  Nanos local_ = 0;
  int64_t drift_ppm_ = 0;
};

class Agenda {
 public:
  Nanos now() const { return now_; }

  // On behalf of `owner`, which outlives the agenda; nullptr: whoever runs or not.
  void At(Nanos when, Node* owner, Action action) {
    queue_.Push(std::max(when, now_), Item{owner, std::move(action)});
  }
  void After(Nanos delay, Node* owner, Action action) {
    At(now_ + delay, owner, std::move(action));
  }

  // False: nothing is left to happen up to `end`, where time stands now.
  bool DoNext(Nanos end) {
    const std::optional<Nanos> next = queue_.NextTime();
    if (!next || *next > end) {
      now_ = std::max(now_, end);
      return false;
    }
    auto [when, item] = queue_.Pop();
    now_ = when;
    ++steps_;
    item.owner == nullptr ? item.action() : Do(*item.owner, std::move(item.action));
    return true;
  }

  // Now, or when it runs again.
  void Do(Node& node, Action action) {
    if (node.running()) {
      action();
    } else if (!node.dead()) {
      node.inbox_.push_back(std::move(action));
    }
  }

  void Pause(Node& node) {
    if (node.running()) node.state_ = Node::State::kPaused;
  }
  void Resume(Node& node) {
    if (node.state_ != Node::State::kPaused) return;
    node.state_ = Node::State::kRunning;
    node.disturbed_at_ = now_;
    for (Action& action : std::exchange(node.inbox_, {})) At(now_, &node, std::move(action));
  }
  void Kill(Node& node) {
    node.state_ = Node::State::kDead;
    node.inbox_.clear();
  }

  // Mixes a fact into the trace; two runs alike have equal ones.
  void Note(uint64_t fact) {
    trace_ = (trace_ ^ fact ^ (static_cast<uint64_t>(now_) << 8)) * 0x9e3779b97f4a7c15u;
    trace_ ^= trace_ >> 29;
  }
  uint64_t trace() const { return trace_; }
  uint64_t steps() const { return steps_; }

 private:
  struct Item {
    Node* owner = nullptr;
    Action action;
  };
  Nanos now_ = kSecond;
  uint64_t steps_ = 0;
  uint64_t trace_ = 0xcbf29ce484222325u;
  sim::EventQueue<Item> queue_;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_AGENDA_H_
