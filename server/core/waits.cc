// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Calls that wait for a newer version. A model that nobody has mentioned yet may still come.

#include <algorithm>

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
  waits_[op.call] = wait;
  waits_by_model_[op.model].insert(op.call);
  timers_.insert(Timer{deadline, Timer::Kind::kWait, 0, op.call});
}

// R2: `latest` is a mark; whether it is still held is the fetch's question. Lag is counted in
// versions, since numbers may skip.
std::optional<VersionNumber> Hub::State::Satisfied(const Wait& wait) const {
  if (recovering_) return std::nullopt;  // R8: the mark may still rise with the next report
  const auto it = models_.find(wait.model);
  if (it == models_.end() || !it->second.latest) return std::nullopt;
  const Model& model = it->second;
  const bool over = wait.held_in && model.terms.Supersede(*wait.held_in, wait.newer_than);
  if (wait.any || over) return model.latest;
  uint64_t newer = 0;
  for (auto above = model.visible.upper_bound(wait.newer_than); above != model.visible.end();
       ++above) {
    if (++newer > wait.max_lag) return model.latest;
  }
  return std::nullopt;
}

void Hub::State::EndWait(CallId call, absl::Status status, VersionNumber version) {
  if (!waits_.contains(call)) return;
  ForgetWait(call);
  Answer(call, std::move(status), WaitReply{version});
}

void Hub::State::ForgetWait(CallId call) {
  const auto it = waits_.find(call);
  if (it == waits_.end()) return;
  timers_.erase(Timer{it->second.deadline, Timer::Kind::kWait, 0, call});
  const auto calls = waits_by_model_.find(it->second.model);
  calls->second.erase(call);
  if (calls->second.empty()) waits_by_model_.erase(calls);
  waits_.erase(it);
}

void Hub::State::WakeWaits(const std::string& model) {
  const auto it = waits_by_model_.find(model);
  if (it == waits_by_model_.end()) return;
  const std::set<CallId> calls = it->second;
  for (const CallId call : calls) {
    if (const auto version = Satisfied(waits_.at(call))) EndWait(call, absl::OkStatus(), *version);
  }
}

}  // namespace tensorhub::hub
