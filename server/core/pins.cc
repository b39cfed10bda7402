// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/pins.h"

#include "common/check.h"

namespace tensorhub::hub {

void Pins::Put(const std::string& model, const std::string& name, const PinnedVersion& pin) {
  Drop(model, name);
  by_model_[model][name] = pin;
  if (pin.until) ends_.insert({*pin.until, model, name});
}

bool Pins::Drop(const std::string& model, const std::string& name) {
  const auto pins = by_model_.find(model);
  if (pins == by_model_.end()) return false;
  const auto pin = pins->second.find(name);
  if (pin == pins->second.end()) return false;
  if (pin->second.until) ends_.erase({*pin->second.until, model, name});
  pins->second.erase(pin);
  if (pins->second.empty()) by_model_.erase(pins);
  return true;
}

const Pins::ByName& Pins::Of(const std::string& model) const {
  static const ByName none;
  const auto pins = by_model_.find(model);
  return pins == by_model_.end() ? none : pins->second;
}

std::optional<TimeMs> Pins::FirstEnd() const {
  if (ends_.empty()) return std::nullopt;
  return std::get<0>(*ends_.begin());
}

std::set<std::string> Pins::End(TimeMs now) {
  std::set<std::string> models;
  while (!ends_.empty() && std::get<0>(*ends_.begin()) <= now) {
    const auto [until, model, name] = *ends_.begin();
    Drop(model, name);
    models.insert(model);
  }
  return models;
}

// Every pin that ends has its place in the order of ends.
void Pins::CheckInvariants() const {
  size_t ends = 0;
  for (const auto& [model, pins] : by_model_) {
    TH_CHECK(!pins.empty());
    for (const auto& [name, pin] : pins) {
      if (!pin.until) continue;
      TH_CHECK(ends_.contains({*pin.until, model, name}));
      ++ends;
    }
  }
  TH_CHECK(ends == ends_.size());
}

}  // namespace tensorhub::hub
