// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/wait_calls.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace tensorhub::hub {

void WaitCalls::On(const WaitOp& op) {
  if (const auto problem = NameProblem(op.model)) {
    return turn_.Answer(op.call,
                        absl::InvalidArgumentError(absl::StrCat("the model's name ", *problem)));
  }
  const TimeMs deadline = turn_.now() + std::clamp<TimeMs>(op.timeout_ms, 0, kTimeoutMsMax);
  const Wait wait{op.model, op.newer_than, op.held_in, op.any, op.max_lag, deadline};
  if (const auto version = Satisfied(wait)) {
    return turn_.Answer(op.call, absl::OkStatus(), WaitReply{*version});
  }
  if (waits_.size() >= options_.limits.waits) {
    return turn_.Answer(op.call,
                        absl::ResourceExhaustedError(absl::StrCat(
                            "this server has its ", options_.limits.waits, " waits already")));
  }
  waits_.Add(op.call, wait);
  turn_.SetTimer(Timer{deadline, Timer::Kind::kWait, 0, op.call});
}

// R8: while recovering, the watermark may still rise with the next report.
std::optional<VersionNumber> WaitCalls::Satisfied(const Wait& wait) const {
  if (turn_.recovering()) return std::nullopt;
  const Model* model = catalog_.FindModel(wait.model);
  return model == nullptr ? std::nullopt : VersionFor(wait, *model);
}

bool WaitCalls::Take(CallId call) {
  const std::optional<Wait> wait = waits_.Take(call);
  if (wait) turn_.ClearTimer(Timer{wait->deadline, Timer::Kind::kWait, 0, call});
  return wait.has_value();
}

void WaitCalls::Forget(CallId call) { Take(call); }

void WaitCalls::End(CallId call, absl::Status status, VersionNumber version) {
  if (Take(call)) turn_.Answer(call, std::move(status), WaitReply{version});
}

void WaitCalls::Expire(CallId call) {
  const Wait* wait = waits_.Find(call);
  if (wait != nullptr) End(call, absl::DeadlineExceededError(WhyInVain(*wait)), 0);
}

std::string WaitCalls::WhyInVain(const Wait& wait) const {
  if (turn_.recovering()) return "the server is recovering; try again in a few seconds";
  using Kind = VersionSelector::Kind;
  const VersionSelector wanted{wait.any ? Kind::kAny : Kind::kNewerThan, wait.newer_than};
  std::string why = NotInTime(wait.model, wanted, catalog_.FindModel(wait.model));
  if (wait.max_lag > 0) absl::StrAppend(&why, ", and may be ", wait.max_lag, " versions ahead");
  return why;
}

void WaitCalls::Wake(const std::string& model) {
  for (const CallId call : waits_.Of(model)) {
    const auto version = Satisfied(*waits_.Find(call));
    if (version) End(call, absl::OkStatus(), *version);
  }
}

void WaitCalls::CheckInvariants() const {
  waits_.CheckInvariants();
  TH_CHECK(waits_.size() <= options_.limits.waits);
  for (const auto& [call, wait] : waits_.all()) {
    TH_CHECK(turn_.HasTimer(Timer{wait.deadline, Timer::Kind::kWait, 0, call}));
    TH_CHECK(!Satisfied(wait));  // nobody waits for what is there
  }
}

}  // namespace tensorhub::hub
