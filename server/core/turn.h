// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The event in progress: its time, what it has caused so far, which kept rows it has changed, and
// the timers. Each part of the hub's state that decides something has the turn to tell what it
// wants done. The hub alone begins one, and sets its time.

#ifndef TENSORHUB_SERVER_CORE_TURN_H_
#define TENSORHUB_SERVER_CORE_TURN_H_

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "server/core/effects.h"
#include "server/core/tables.h"

namespace tensorhub::hub {

// The rows of what is kept that the event has changed (durable.cc): a superset.
struct Changes {
  std::set<std::string> models;
  std::set<GroupKey> groups;
  std::set<std::string> retention;  // by model
  std::set<WorkerKey> workers;
};

class Turn {
 public:
  TimeMs now() const { return now_; }
  // R8: workers may not have reported yet, so that absence proves nothing.
  bool recovering() const { return recovering_; }
  // Appended to by what decides.
  Effects& effects() { return *out_; }
  void Say(LogLine::Level level, std::string text) {
    out_->push_back(LogLine{level, std::move(text)});
  }
  // Nothing is sent to a worker whose session has ended.
  void Send(const Worker& worker, decltype(Directive::body) body) {
    if (worker.session != 0) out_->push_back(Directive{worker.session, std::move(body)});
  }
  // The reply to a call. Those of workers' operations go through Calls, which keeps them.
  void Answer(CallId call, absl::Status status, decltype(Reply::payload) payload = {}) {
    out_->push_back(Reply{call, std::move(status), std::move(payload)});
  }
  Changes& changes() { return changes_; }
  void SetTimer(const Timer& timer) { timers_.insert(timer); }
  void ClearTimer(const Timer& timer) { timers_.erase(timer); }
  bool HasTimer(const Timer& timer) const { return timers_.contains(timer); }
  // R8: the one end of the recovery's grace, in the place of an earlier one. None: it is over.
  void SetGrace(std::optional<TimeMs> until) {
    absl::erase_if(timers_, [](const Timer& timer) { return timer.kind == Timer::Kind::kGrace; });
    if (until) timers_.insert(Timer{*until, Timer::Kind::kGrace, 0, 0});
  }

 protected:
  Turn() = default;
  ~Turn() = default;

  TimeMs now_ = 0;
  bool recovering_ = false;
  Effects* out_ = nullptr;
  Changes changes_;
  absl::btree_set<Timer> timers_;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_TURN_H_
