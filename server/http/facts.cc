// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/http/facts.h"

#include "common/location.h"

namespace tensorhub::http {

HubFacts FactsOf(const hub::Hub& hub, TimeMs now) {
  return {hub.Status(), hub.Fleet(now), hub.Models("", kModelsShown)};
}

uint32_t ModelsLeftOut(const HubFacts& facts) {
  return facts.status.models - static_cast<uint32_t>(facts.models.size());
}

std::map<std::string, uint32_t> TransfersByTier(const HubFacts& facts) {
  std::map<std::string, uint32_t> by_tier = {{"none", facts.fleet.reads_without_source}};
  for (const Tier tier : {Tier::kHost, Tier::kRack, Tier::kDatacenter, Tier::kRemote}) {
    by_tier[std::string(ToString(tier))] = facts.fleet.reads_by_tier[static_cast<size_t>(tier)];
  }
  return by_tier;
}

double OldestTransferSeconds(const HubFacts& facts) {
  return static_cast<double>(facts.fleet.oldest_read_ms) / 1000;
}

}  // namespace tensorhub::http
