// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/http/facts.h"

#include <algorithm>
#include <utility>

#include "common/location.h"

namespace tensorhub::http {
namespace {

void CountTransfers(const std::vector<hub::TransferView>& transfers, HubFacts& facts) {
  for (const Tier tier : {Tier::kHost, Tier::kRack, Tier::kDatacenter, Tier::kRemote}) {
    facts.transfers[std::string(ToString(tier))] = 0;
  }
  facts.transfers["none"] = 0;
  for (const hub::TransferView& transfer : transfers) {
    const bool fed = transfer.source.incarnation != 0;
    ++facts.transfers[fed ? std::string(ToString(transfer.tier)) : "none"];
    const double running = static_cast<double>(transfer.running_ms) / 1000;
    facts.oldest_transfer_s = std::max(facts.oldest_transfer_s, running);
  }
}

// After a term has begun, a number above the latest is an older content.
void CountHolder(const hub::WorkerView& worker, ModelFacts& model) {
  if (!worker.holds || !model.view.has_latest || worker.version >= model.view.latest) return;
  ++model.behind;
  model.lag_max = std::max(model.lag_max, model.view.latest - worker.version);
}

}  // namespace

HubFacts FactsOf(const hub::Hub& hub, TimeMs now) {
  HubFacts facts;
  facts.status = hub.Status();
  CountTransfers(hub.Transfers(now), facts);
  std::map<std::string, ModelFacts> models;
  for (hub::ModelView& view : hub.Models()) {
    if (models.size() == kModelsShown) {
      ++facts.models_left_out;
      continue;
    }
    ModelFacts& model = models[view.model];
    model.view = std::move(view);
  }
  for (const hub::WorkerView& worker : hub.Workers(now)) {
    if (worker.stalled_ms > 0) ++facts.stalled;
    const auto model = models.find(worker.worker.key.model);
    if (model != models.end()) CountHolder(worker, model->second);
  }
  for (auto& [name, model] : models) facts.models.push_back(std::move(model));
  return facts;
}

}  // namespace tensorhub::http
