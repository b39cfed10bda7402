// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/fleet.h"

#include <utility>

#include "common/check.h"
#include "common/layout.h"

namespace tensorhub::sim {
namespace {

constexpr PublicationId kOldPublication{1, 1};

std::shared_ptr<const Layout> OneTensor(double bytes) {
  TensorSpec tensor;
  tensor.name = "weights";
  tensor.dtype = DType::kU8;
  tensor.shape = {static_cast<uint64_t>(bytes)};
  auto layout = Layout::Make({tensor});
  TH_CHECK(layout.ok());
  return std::make_shared<const Layout>(*std::move(layout));
}

}  // namespace

Fleet::Fleet(const FleetOptions& options, const Topology& topology, World& world)
    : options_(options),
      world_(world),
      hub_(options.hub, world),
      around_{world, hub_, topology, options_.shard, options_.times},
      frames_(world) {
  hub::PutLayoutOp put;
  put.layout = OneTensor(options.shard.bytes);
  options_.shard.layout = put.layout->fingerprint();
  hub_.Apply(put);
  hub_.SetReceiver([this](uint32_t owner, const hub::Effect& effect) {
    if (owner < workers_.size()) workers_[owner]->OnHub(effect);
  });
  world_.OnWhole([this](FillId fill) { flow_workers_.by_fill[fill]->OnWhole(); });
}

GroupIndex Fleet::AddGroup(const std::string& name, uint32_t first_gpu, bool stable,
                           bool holds_old) {
  const auto group = static_cast<GroupIndex>(groups());
  for (Rank rank = 0; rank < world_size(); ++rank) {
    const auto number = static_cast<uint32_t>(workers_.size());
    const WorkerIdentity identity{{options_.shard.model, name, rank}, number + 1};
    workers_.push_back(MakeWorker({number, identity, first_gpu + rank, stable}));
    workers_.back()->on_fetched = [this, group] { RankFetched(group); };
    const bool old = holds_old && options_.agents == AgentModel::kFlow;
    workers_.back()->Open(old ? std::optional(kOldPublication) : std::nullopt, 1);
  }
  fetched_ranks_.push_back(0);
  return group;
}

template <typename Visit>
void Fleet::ForEach(GroupIndex group, Visit visit) {
  for (Rank rank = 0; rank < world_size(); ++rank) visit(*workers_[group * world_size() + rank]);
}

void Fleet::Publish(GroupIndex group, Version version) {
  ForEach(group, [version](FleetWorker& worker) { worker.Publish(version); });
}

void Fleet::Fetch(GroupIndex group, Version newer_than) {
  ForEach(group, [newer_than](FleetWorker& worker) { worker.Fetch(newer_than); });
}

void Fleet::Die(GroupIndex group) {
  ForEach(group, [](FleetWorker& worker) { worker.Die(); });
}

void Fleet::Leave(GroupIndex group) {
  ForEach(group, [](FleetWorker& worker) { worker.Leave(); });
}

std::unique_ptr<FleetWorker> Fleet::MakeWorker(WorkerFacts facts) {
  if (options_.agents == AgentModel::kFlow) {
    return std::make_unique<FlowWorker>(around_, std::move(facts), flow_workers_);
  }
  return std::make_unique<CoreWorker>(around_, std::move(facts), core_workers_, frames_);
}

void Fleet::RankFetched(GroupIndex group) {
  if (++fetched_ranks_[group] < world_size()) return;
  fetched_ranks_[group] = 0;
  if (on_fetched_) on_fetched_(group);
}

bool Fleet::Holds(GroupIndex group, Version version) const {
  for (const FleetWorker* worker : WorkersOf(group)) {
    if (worker->holds() != version) return false;
  }
  return true;
}

std::vector<const FleetWorker*> Fleet::WorkersOf(GroupIndex group) const {
  std::vector<const FleetWorker*> workers;
  for (Rank rank = 0; rank < world_size(); ++rank) {
    workers.push_back(workers_[group * world_size() + rank].get());
  }
  return workers;
}

}  // namespace tensorhub::sim
