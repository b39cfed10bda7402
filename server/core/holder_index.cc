// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/holder_index.h"

#include "absl/strings/str_cat.h"
#include "server/core/tables.h"

namespace tensorhub::hub {
namespace {

constexpr size_t kRackPart = 2;
constexpr size_t kHostPart = 3;

void UpdateScope(Scope& scope, Tier tier, Worker& worker, const IndexEntry& from,
                 const IndexEntry& to) {
  if (from.rank != to.rank) {
    if (from.rank) scope.holders.erase(Holder{*from.rank, worker.serial, &worker});
    if (to.rank) scope.holders.insert(Holder{*to.rank, worker.serial, &worker});
  }
  const bool was = from.fed_from && *from.fed_from > tier;
  const bool is = to.fed_from && *to.fed_from > tier;
  if (was && !is) scope.inlets.erase(&worker);
  if (!was && is) scope.inlets.insert(&worker);
}

const Scope* Find(const std::map<std::string, Scope>& scopes, const std::string& name) {
  const auto it = scopes.find(name);
  return it == scopes.end() ? nullptr : &it->second;
}

void Leave(std::map<std::string, Scope>& scopes, const std::string& name) {
  if (name.empty()) return;
  const auto it = scopes.find(name);
  if (--it->second.members == 0) scopes.erase(it);
}

}  // namespace

Place PlaceOf(const Location& location) {
  Place place;
  place.datacenter = location.Datacenter();
  const std::string& rack = location.Part(kRackPart);
  const std::string& host = location.Part(kHostPart);
  place.rack = rack;
  if (!host.empty()) place.host = absl::StrCat(rack, "/", host);
  return place;
}

const Worker* FirstOf(const Scope& scope, const SourcePolicy& policy, const SourceClass& wanted,
                      uint32_t steps_allowed, absl::FunctionRef<bool(const Worker&)> may) {
  auto it = scope.holders.lower_bound(Holder{{.slow = wanted.slow}});
  while (it != scope.holders.end() && it->rank.slow == wanted.slow) {
    if (const auto next = policy.SkipTo(it->rank, wanted, steps_allowed)) {
      it = scope.holders.lower_bound(Holder{*next});
      continue;
    }
    if (may(*it->worker)) return it->worker;
    ++it;
  }
  return nullptr;
}

void HolderIndex::Add(Worker& worker) {
  const Place& place = worker.place;
  Site& site = sites_[place.datacenter];
  ++site.all.members;
  if (!place.rack.empty()) ++site.racks[place.rack].members;
  if (!place.host.empty()) ++site.hosts[place.host].members;
}

void HolderIndex::Update(Worker& worker, const IndexEntry& from, const IndexEntry& to) {
  const Place& place = worker.place;
  Site& site = sites_.at(place.datacenter);
  if (from.unfed) --site.unfed;
  if (to.unfed) ++site.unfed;
  UpdateScope(site.all, Tier::kDatacenter, worker, from, to);
  if (!place.rack.empty()) {
    UpdateScope(site.racks.at(place.rack), Tier::kRack, worker, from, to);
  }
  if (!place.host.empty()) {
    UpdateScope(site.hosts.at(place.host), Tier::kHost, worker, from, to);
  }
}

void HolderIndex::Remove(Worker& worker, const IndexEntry& last) {
  Update(worker, last, {});
  const auto site = sites_.find(worker.place.datacenter);
  Leave(site->second.racks, worker.place.rack);
  Leave(site->second.hosts, worker.place.host);
  if (--site->second.all.members == 0) sites_.erase(site);
}

const Site* HolderIndex::FindSite(const Place& place) const {
  const auto it = sites_.find(place.datacenter);
  return it == sites_.end() ? nullptr : &it->second;
}

const Scope* HolderIndex::FindScope(const Place& place, Tier tier) const {
  const Site* site = FindSite(place);
  if (site == nullptr) return nullptr;
  switch (tier) {
    case Tier::kHost:
      return Find(site->hosts, place.host);
    case Tier::kRack:
      return Find(site->racks, place.rack);
    case Tier::kDatacenter:
      return &site->all;
    case Tier::kRemote:
      break;
  }
  return nullptr;
}

}  // namespace tensorhub::hub
