// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R7: which versions must not be lost, as operators order it: the newest ones of a model, and those
// that are pinned.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "server/core/retention.h"

namespace tensorhub::hub {

void Retention::On(const RetainOp& op) {
  Model* model = catalog_.FindModel(op.model);
  if (model == nullptr) return turn_.Answer(op.call, UnknownModel(op.model));
  if (op.keep_latest > kKeepLatestMax) {
    return turn_.Answer(
        op.call, absl::InvalidArgumentError(
                     absl::StrCat("keep_latest ", op.keep_latest, " is above ", kKeepLatestMax)));
  }
  model->keep_latest = op.keep_latest;
  turn_.Say(LogLine::Level::kInfo, absl::StrCat(op.model, ": an operator wants the newest ",
                                                op.keep_latest, " versions kept"));
  turn_.changes().retention.insert(op.model);
  WantedChanged(op.model);
  turn_.Answer(op.call, absl::OkStatus());
}

void Retention::On(const PinOp& op) { turn_.Answer(op.call, Pin(op)); }

absl::Status Retention::Pin(const PinOp& op) {
  if (catalog_.FindModel(op.model) == nullptr) return UnknownModel(op.model);
  if (const auto problem = NameProblem(op.name)) {
    return absl::InvalidArgumentError(absl::StrCat("the pin's name ", *problem));
  }
  const auto wanted = choice_.Exact(op.model, op.version);
  if (!wanted.ok()) {
    // R8: its holders may still report.
    if (!turn_.recovering()) return wanted.status();
    return absl::UnavailableError("the server is recovering; pin again in a few seconds");
  }
  const Pins::ByName& pins = pins_.Of(op.model);
  if (!pins.contains(op.name) && pins.size() >= options_.limits.pins) {
    return absl::ResourceExhaustedError(
        absl::StrCat(op.model, " has its ", options_.limits.pins, " pins already"));
  }
  PinnedVersion pin{op.version, std::nullopt};
  if (op.ttl_ms > 0) pin.until = turn_.now() + std::min(op.ttl_ms, kPinMsMax);
  pins_.Put(op.model, op.name, pin);
  turn_.changes().retention.insert(op.model);
  turn_.Say(LogLine::Level::kInfo,
            absl::StrCat(op.model, ": an operator pins version ", op.version, " as ", op.name));
  SetPinTimer();
  WantedChanged(op.model);  // the pin may have held another version before
  return absl::OkStatus();
}

void Retention::On(const UnpinOp& op) {
  if (catalog_.FindModel(op.model) == nullptr) return turn_.Answer(op.call, UnknownModel(op.model));
  if (!pins_.Drop(op.model, op.name)) {
    return turn_.Answer(op.call, absl::NotFoundError(absl::StrCat(op.model, " has no pin named \"",
                                                                  op.name, "\"")));
  }
  turn_.changes().retention.insert(op.model);
  turn_.Say(LogLine::Level::kInfo,
            absl::StrCat(op.model, ": an operator takes the pin ", op.name, " away"));
  SetPinTimer();
  WantedChanged(op.model);
  turn_.Answer(op.call, absl::OkStatus());
}

void Retention::SetPinTimer() {
  if (pin_timer_) turn_.ClearTimer(Timer{*pin_timer_, Timer::Kind::kPins, 0, 0});
  pin_timer_.reset();
  const std::optional<TimeMs> first = pins_.FirstEnd();
  if (turn_.recovering() || !first) return;
  pin_timer_ = std::max(*first, turn_.now());
  turn_.SetTimer(Timer{*pin_timer_, Timer::Kind::kPins, 0, 0});
}

void Retention::EndPins() {
  std::set<std::string> models;
  if (!turn_.recovering()) models = pins_.End(turn_.now());
  turn_.changes().retention.insert(models.begin(), models.end());
  SetPinTimer();
  for (const std::string& model : models) WantedChanged(model);
}

uint32_t Retention::KeepLatest(const Model& model) const {
  return model.keep_latest.value_or(options_.keep_latest);
}

std::vector<std::string> Retention::KeptBy(const Publication& publication) const {
  std::vector<std::string> why;
  if (!publication.visible || publication.superseded) return why;
  const Model& model = catalog_.models().at(publication.model);
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

std::optional<RetentionRow> Retention::RowOf(const std::string& name) const {
  const Model* model = catalog_.FindModel(name);
  if (model == nullptr) return std::nullopt;
  RetentionRow row;
  row.keep_latest = model->keep_latest;
  for (const auto& [pin, pinned] : pins_.Of(name)) {
    PinRow& kept = row.pins[pin];
    kept.version = pinned.version;
    if (pinned.until) kept.until = *pinned.until + options_.wall_at_zero;
  }
  return row == RetentionRow{} ? std::nullopt : std::optional(std::move(row));
}

void Retention::Restore(const std::string& name, const RetentionRow& row) {
  catalog_.FindModel(name)->keep_latest = row.keep_latest;
  for (const auto& [pin, kept] : row.pins) {
    PinnedVersion pinned{kept.version, std::nullopt};
    if (kept.until) pinned.until = *kept.until - options_.wall_at_zero;
    pins_.Put(name, pin, pinned);
  }
}

}  // namespace tensorhub::hub
