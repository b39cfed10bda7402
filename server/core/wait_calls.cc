// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Calls that wait for a newer version (waits.h), until it is there, or their time is up.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/state.h"

namespace tensorhub::hub {

void Hub::State::On(const WaitOp& op) {
  if (const auto problem = NameProblem(op.model)) {
    return Answer(op.call, absl::InvalidArgumentError(absl::StrCat("the model's name ", *problem)));
  }
  const TimeMs deadline = now_ + std::clamp<TimeMs>(op.timeout_ms, 0, kTimeoutMsMax);
  const Wait wait{op.model, op.newer_than, op.held_in, op.any, op.max_lag, deadline};
  if (const auto version = Satisfied(wait)) {
    return Answer(op.call, absl::OkStatus(), WaitReply{*version});
  }
  if (waits_.size() >= options_.limits.waits) {
    return Answer(op.call, absl::ResourceExhaustedError(absl::StrCat(
                               "this server has its ", options_.limits.waits, " waits already")));
  }
  waits_.Add(op.call, wait);
  timers_.insert(Timer{deadline, Timer::Kind::kWait, 0, op.call});
}

// R8: while recovering, the watermark may still rise with the next report.
std::optional<VersionNumber> Hub::State::Satisfied(const Wait& wait) const {
  if (recovering_) return std::nullopt;
  const auto model = models_.find(wait.model);
  return model == models_.end() ? std::nullopt : VersionFor(wait, model->second);
}

// False: it does not wait (any more).
bool Hub::State::ForgetWait(CallId call) {
  const std::optional<Wait> wait = waits_.Take(call);
  if (wait) timers_.erase(Timer{wait->deadline, Timer::Kind::kWait, 0, call});
  return wait.has_value();
}

void Hub::State::EndWait(CallId call, absl::Status status, VersionNumber version) {
  if (ForgetWait(call)) Answer(call, std::move(status), WaitReply{version});
}

void Hub::State::WakeWaits(const std::string& model) {
  for (const CallId call : waits_.Of(model)) {
    const auto version = Satisfied(*waits_.Find(call));
    if (version) EndWait(call, absl::OkStatus(), *version);
  }
}

}  // namespace tensorhub::hub
