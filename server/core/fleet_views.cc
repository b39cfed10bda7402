// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/fleet_views.h"

#include <algorithm>

#include "server/core/looks.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

void CountRead(const Read& read, TimeMs now, FleetView& view) {
  view.oldest_read_ms = std::max(view.oldest_read_ms, now - read.began);
  const Assignment* feed = FirstFeed(read);
  ++(feed != nullptr ? view.reads_by_tier[static_cast<size_t>(feed->tier)]
                     : view.reads_without_source);
}

bool IsInState(const Worker& worker, ReferenceState state) {
  return worker.reference && worker.reference->state == state;
}

bool IsBehind(const Worker& worker, const std::optional<VersionNumber>& latest) {
  return worker.reference && latest && worker.reference->version < *latest;
}

}  // namespace

std::optional<VersionNumber> Hub::State::Looks::Latest(const std::string& model) const {
  const auto found = state.models_.find(model);
  return found == state.models_.end() ? std::nullopt : found->second.latest;
}

FleetView Hub::State::Looks::Fleet(TimeMs now) const {
  FleetView view;
  view.totals = state.totals_;
  for (const auto& [key, worker] : state.workers_) {
    if (worker.alive && worker.stalled_ms > 0) ++view.stalled;
    if (worker.alive && worker.withdrawn) ++view.withdrawn;
    if (Reads(worker)) CountRead(*worker.read, now, view);
  }
  return view;
}

bool Hub::State::Looks::IsAskedFor(const Worker& worker, WorkerQuery::Which which) const {
  using Which = WorkerQuery::Which;
  if (!worker.alive) return false;
  switch (which) {
    case Which::kAll:
      return true;
    case Which::kStalled:
      return worker.stalled_ms > 0;
    case Which::kDisconnected:
      return worker.session == 0;
    case Which::kDraining:
      return IsInState(worker, ReferenceState::kDraining);
    case Which::kFilling:
      return IsInState(worker, ReferenceState::kFilling);
    case Which::kBehind:
      return IsBehind(worker, Latest(worker.id.key.model));
  }
  return false;
}

std::vector<WorkerView> Hub::State::Looks::Workers(const WorkerQuery& query, TimeMs now) const {
  std::vector<WorkerView> views;
  const WorkerKey first{query.model, "", 0};
  const bool later = query.after && *query.after >= first;
  auto it = later ? state.workers_.upper_bound(*query.after) : state.workers_.lower_bound(first);
  for (; it != state.workers_.end() && views.size() < query.limit; ++it) {
    if (!query.model.empty() && it->first.model != query.model) break;
    if (IsAskedFor(it->second, query.which)) views.push_back(ViewOf(it->second, now));
  }
  return views;
}

// Fetches by group and rank. A worker that waits for one has no version yet.
std::vector<FetchView> Hub::State::Looks::Fetches(const std::string& model,
                                                  std::optional<VersionNumber> version,
                                                  const std::string& group) const {
  std::vector<FetchView> views;
  for (auto it = state.workers_.lower_bound({model, group, 0});
       it != state.workers_.end() && it->first.model == model; ++it) {
    if (!group.empty() && it->first.group != group) break;
    const FetchRecord& record = it->second.record;
    if (record.joined == 0 || (version && record.version != *version)) continue;
    views.push_back({it->first, record});
  }
  return views;
}

}  // namespace tensorhub::hub
