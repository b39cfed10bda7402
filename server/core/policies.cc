// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R7: which versions must not be lost, as operators order it: the newest ones of a model, and those
// that are pinned.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/state.h"

namespace tensorhub::hub {

void Hub::State::On(const RetainOp& op) {
  const auto model = models_.find(op.model);
  if (model == models_.end()) return Answer(op.call, UnknownModel(op.model));
  if (op.keep_latest > kKeepLatestMax) {
    return Answer(op.call, absl::InvalidArgumentError(absl::StrCat("keep_latest ", op.keep_latest,
                                                                   " is above ", kKeepLatestMax)));
  }
  model->second.keep_latest = op.keep_latest;
  Say(LogLine::Level::kInfo,
      absl::StrCat(op.model, ": an operator wants the newest ", op.keep_latest, " versions kept"));
  changes_.retention.insert(op.model);
  RetentionChanged(op.model);
  Answer(op.call, absl::OkStatus());
}

void Hub::State::On(const PinOp& op) { Answer(op.call, Pin(op)); }

absl::Status Hub::State::Pin(const PinOp& op) {
  const auto found = models_.find(op.model);
  if (found == models_.end()) return UnknownModel(op.model);
  if (const auto problem = NameProblem(op.name)) {
    return absl::InvalidArgumentError(absl::StrCat("the pin's name ", *problem));
  }
  const auto wanted = choice_.Exact(op.model, op.version);
  if (!wanted.ok()) {
    // R8: its holders may still report.
    if (!recovering_) return wanted.status();
    return absl::UnavailableError("the server is recovering; pin again in a few seconds");
  }
  const Pins::ByName& pins = pins_.Of(op.model);
  if (!pins.contains(op.name) && pins.size() >= options_.limits.pins) {
    return absl::ResourceExhaustedError(
        absl::StrCat(op.model, " has its ", options_.limits.pins, " pins already"));
  }
  PinnedVersion pin{op.version, std::nullopt};
  if (op.ttl_ms > 0) pin.until = now_ + std::min(op.ttl_ms, kPinMsMax);
  pins_.Put(op.model, op.name, pin);
  changes_.retention.insert(op.model);
  Say(LogLine::Level::kInfo,
      absl::StrCat(op.model, ": an operator pins version ", op.version, " as ", op.name));
  SetPinTimer();
  RetentionChanged(op.model);  // the pin may have held another version before
  return absl::OkStatus();
}

void Hub::State::On(const UnpinOp& op) {
  if (!models_.contains(op.model)) return Answer(op.call, UnknownModel(op.model));
  if (!pins_.Drop(op.model, op.name)) {
    return Answer(op.call, absl::NotFoundError(
                               absl::StrCat(op.model, " has no pin named \"", op.name, "\"")));
  }
  changes_.retention.insert(op.model);
  Say(LogLine::Level::kInfo,
      absl::StrCat(op.model, ": an operator takes the pin ", op.name, " away"));
  SetPinTimer();
  RetentionChanged(op.model);
  Answer(op.call, absl::OkStatus());
}

// R8: while recovering, nothing ends; EndRecovery sets it.
void Hub::State::SetPinTimer() {
  if (pin_timer_) timers_.erase(Timer{*pin_timer_, Timer::Kind::kPins, 0, 0});
  pin_timer_.reset();
  const std::optional<TimeMs> first = pins_.FirstEnd();
  if (recovering_ || !first) return;
  pin_timer_ = std::max(*first, now_);
  timers_.insert(Timer{*pin_timer_, Timer::Kind::kPins, 0, 0});
}

void Hub::State::EndPins() {
  std::set<std::string> models;
  if (!recovering_) models = pins_.End(now_);
  changes_.retention.insert(models.begin(), models.end());
  SetPinTimer();
  for (const std::string& model : models) RetentionChanged(model);
}

uint32_t Hub::State::KeepLatest(const Model& model) const {
  return model.keep_latest.value_or(options_.keep_latest);
}

// Why the version must not be lost; nothing if it may be.
std::vector<std::string> Hub::State::KeptBy(const Model& model,
                                            const Publication& publication) const {
  std::vector<std::string> why;
  if (!publication.visible || publication.superseded) return why;
  const uint32_t keep_latest = KeepLatest(model);
  uint32_t newer = 0;
  for (auto it = model.visible.rbegin();
       it != model.visible.rend() && it->first > publication.version; ++it) {
    if (++newer >= keep_latest) break;
  }
  if (newer < keep_latest) why.emplace_back("latest");
  for (const auto& [name, pin] : pins_.Of(publication.model)) {
    if (pin.version == publication.version) why.push_back("pin " + name);
  }
  return why;
}

}  // namespace tensorhub::hub
