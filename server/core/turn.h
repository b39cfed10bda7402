// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The event in progress: its time, what it has caused so far, and the timers. Each part of the
// hub's state that decides something has the turn to tell what it wants done. The hub alone begins
// one, and sets its time.

#ifndef TENSORHUB_SERVER_CORE_TURN_H_
#define TENSORHUB_SERVER_CORE_TURN_H_

#include <string>
#include <utility>

#include "absl/container/btree_set.h"
#include "server/core/effects.h"
#include "server/core/tables.h"

namespace tensorhub::hub {

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
  void SetTimer(const Timer& timer) { timers_.insert(timer); }
  void ClearTimer(const Timer& timer) { timers_.erase(timer); }

 protected:
  Turn() = default;
  ~Turn() = default;

  TimeMs now_ = 0;
  bool recovering_ = false;
  Effects* out_ = nullptr;
  absl::btree_set<Timer> timers_;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_TURN_H_
