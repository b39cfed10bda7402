// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/fleet.h"

#include <optional>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/layout.h"

namespace tensorhub::sim {
namespace {

constexpr PublicationId kOldPublication{1, 1};

std::shared_ptr<const Layout> OneTensor(uint64_t bytes, std::optional<SliceSpec> slice) {
  TensorSpec tensor;
  tensor.name = "weights";
  tensor.dtype = DType::kU8;
  tensor.shape = {bytes};
  tensor.slice = std::move(slice);
  auto layout = Layout::Make({tensor});
  TH_CHECK(layout.ok());
  return std::make_shared<const Layout>(*std::move(layout));
}

// Groups of which all cut alike say nothing of places. Others have the ranks' parts one after the
// other.
std::vector<std::shared_ptr<const Layout>> LayoutsOf(const ShardOptions& shard, bool alike) {
  const auto bytes = static_cast<uint64_t>(shard.bytes);
  if (alike) return {shard.world_size, OneTensor(bytes, std::nullopt)};
  const auto total = static_cast<uint64_t>(shard.bytes * shard.world_size);
  std::vector<std::shared_ptr<const Layout>> layouts;
  for (uint64_t rank = 0; rank < shard.world_size; ++rank) {
    const uint64_t begin = total * rank / shard.world_size;
    const uint64_t end = total * (rank + 1) / shard.world_size;
    layouts.push_back(OneTensor(end - begin, SliceSpec{{total}, {begin}}));
  }
  return layouts;
}

}  // namespace

Fleet::Fleet(const FleetOptions& options, const Topology& topology, World& world)
    : options_(options),
      world_(world),
      hub_(options.hub, world),
      trainers_{world, hub_, topology, options_.trainers, options_.times},
      rollouts_{world, hub_, topology, options_.rollouts, options_.times},
      frames_(world) {
  const bool alike = options.trainers.world_size == options.rollouts.world_size;
  for (ShardOptions* side : {&options_.trainers, &options_.rollouts}) {
    for (const auto& layout : LayoutsOf(*side, alike)) {
      side->layouts.push_back(layout->fingerprint());
      hub::PutLayoutOp put;
      put.layout = layout;
      hub_.Apply(put);
    }
  }
  hub_.SetReceiver([this](uint32_t owner, const hub::Effect& effect) {
    if (owner < workers_.size()) workers_[owner]->OnHub(effect);
  });
  world_.OnWhole([this](FillId fill) { flow_workers_.by_fill[fill]->OnWhole(); });
}

GroupIndex Fleet::AddTrainers(const std::string& name, uint32_t first_gpu) {
  return Add(trainers_, name, first_gpu, /*holds_old=*/false);
}

GroupIndex Fleet::AddRollouts(const std::string& name, uint32_t first_gpu, bool holds_old) {
  return Add(rollouts_, name, first_gpu, holds_old);
}

GroupIndex Fleet::Add(const SimContext& side, const std::string& name, uint32_t first_gpu,
                      bool holds_old) {
  const auto group = static_cast<GroupIndex>(groups());
  groups_.push_back({workers_.size(), side.shard.world_size});
  for (Rank rank = 0; rank < side.shard.world_size; ++rank) {
    const auto number = static_cast<uint32_t>(workers_.size());
    const WorkerIdentity identity{{side.shard.model, name, rank}, number + 1};
    workers_.push_back(MakeWorker(side, {number, identity, first_gpu + rank, &side == &trainers_}));
    workers_.back()->on_fetched = [this, group] { RankFetched(group); };
    const bool old = holds_old && options_.agents == AgentModel::kFlow;
    workers_.back()->Open(old ? std::optional(kOldPublication) : std::nullopt, 1);
  }
  return group;
}

template <typename Visit>
void Fleet::ForEach(GroupIndex group, Visit visit) {
  const Group& its = groups_[group];
  for (Rank rank = 0; rank < its.ranks; ++rank) visit(*workers_[its.first + rank]);
}

void Fleet::Publish(GroupIndex group, VersionNumber version) {
  ForEach(group, [version](FleetWorker& worker) { worker.Publish(version); });
}

void Fleet::Fetch(GroupIndex group, VersionNumber newer_than) {
  ForEach(group, [newer_than](FleetWorker& worker) { worker.Fetch(newer_than); });
}

void Fleet::Die(GroupIndex group) {
  ForEach(group, [](FleetWorker& worker) { worker.Die(); });
}

void Fleet::Leave(GroupIndex group) {
  ForEach(group, [](FleetWorker& worker) { worker.Leave(); });
}

std::unique_ptr<FleetWorker> Fleet::MakeWorker(const SimContext& side, WorkerFacts facts) {
  if (options_.agents == AgentModel::kFlow) {
    return std::make_unique<FlowWorker>(side, std::move(facts), flow_workers_);
  }
  return std::make_unique<CoreWorker>(side, std::move(facts), core_workers_, frames_);
}

void Fleet::RankFetched(GroupIndex group) {
  if (++groups_[group].fetched < groups_[group].ranks) return;
  groups_[group].fetched = 0;
  if (on_fetched_) on_fetched_(group);
}

bool Fleet::Holds(GroupIndex group, VersionNumber version) const {
  for (const FleetWorker* worker : WorkersOf(group)) {
    if (worker->holds() != version) return false;
  }
  return true;
}

std::vector<const FleetWorker*> Fleet::WorkersOf(GroupIndex group) const {
  std::vector<const FleetWorker*> workers;
  const Group& its = groups_[group];
  for (Rank rank = 0; rank < its.ranks; ++rank) workers.push_back(workers_[its.first + rank].get());
  return workers;
}

}  // namespace tensorhub::sim
