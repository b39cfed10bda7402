// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/waits.h"

#include <utility>

#include "common/check.h"
#include "server/core/tables.h"

namespace tensorhub::hub {

// Lag is counted in versions, since numbers may skip.
std::optional<VersionNumber> VersionFor(const Wait& wait, const Model& model) {
  if (!model.latest) return std::nullopt;
  const bool over = wait.held_in && model.terms.Supersede(*wait.held_in, wait.newer_than);
  if (wait.any || over) return model.latest;
  uint64_t newer = 0;
  for (auto above = model.visible.upper_bound(wait.newer_than); above != model.visible.end();
       ++above) {
    if (++newer > wait.max_lag) return model.latest;
  }
  return std::nullopt;
}

void Waits::Add(CallId call, Wait wait) {
  by_model_[wait.model].insert(call);
  const bool is_new = waits_.emplace(call, std::move(wait)).second;
  TH_CHECK(is_new);
}

const Wait* Waits::Find(CallId call) const {
  const auto it = waits_.find(call);
  return it == waits_.end() ? nullptr : &it->second;
}

std::optional<Wait> Waits::Take(CallId call) {
  auto taken = waits_.extract(call);
  if (!taken) return std::nullopt;
  const auto calls = by_model_.find(taken.mapped().model);
  calls->second.erase(call);
  if (calls->second.empty()) by_model_.erase(calls);
  return std::move(taken.mapped());
}

std::vector<CallId> Waits::Of(const std::string& model) const {
  const auto it = by_model_.find(model);
  if (it == by_model_.end()) return {};
  return {it->second.begin(), it->second.end()};
}

void Waits::CheckInvariants() const {
  size_t waits = 0;
  for (const auto& [model, calls] : by_model_) {
    TH_CHECK(!calls.empty());
    waits += calls.size();
    for (const CallId call : calls) TH_CHECK(waits_.at(call).model == model);
  }
  TH_CHECK(waits == waits_.size());
}

}  // namespace tensorhub::hub
