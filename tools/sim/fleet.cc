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
      old_publication_(kOldPublication),
      around_{.world = world,
              .hub = hub_,
              .topology = topology,
              .shard = options_.shard,
              .times = options_.times,
              .find =
                  [this](Incarnation incarnation) {
                    SimWorker* worker = workers_[incarnation - 1].get();
                    return worker->gone() ? nullptr : worker;
                  },
              .owners = owners_,
              .fetched = [this](SimWorker& worker) { WorkerFetched(worker); }} {
  hub::PutLayoutOp put;
  put.layout = OneTensor(options.shard.bytes);
  options_.shard.layout = put.layout->fingerprint();
  hub_.Apply(put);
  hub_.SetReceiver([this](uint32_t owner, const hub::Effect& effect) {
    if (owner < workers_.size()) workers_[owner]->OnHub(effect);
  });
  world_.OnWhole([this](FillId fill) { owners_[fill]->OnWhole(); });
}

GroupIndex Fleet::AddGroup(const std::string& name, uint32_t first_gpu, bool stable,
                           bool holds_old) {
  const auto group = static_cast<GroupIndex>(groups());
  for (Rank rank = 0; rank < world_size(); ++rank) {
    const auto number = static_cast<uint32_t>(workers_.size());
    const hub::WorkerIdentity identity{{options_.shard.model, name, rank}, number + 1};
    workers_.push_back(
        std::make_unique<SimWorker>(around_, number, identity, first_gpu + rank, stable));
    std::optional<PublicationId> held;
    if (holds_old) held = old_publication_;
    workers_.back()->Open(held, 1);
  }
  fetched_ranks_.push_back(0);
  return group;
}

template <typename Visit>
void Fleet::ForEach(GroupIndex group, Visit visit) {
  for (Rank rank = 0; rank < world_size(); ++rank) visit(*workers_[group * world_size() + rank]);
}

void Fleet::Publish(GroupIndex group, Version version) {
  ForEach(group, [version](SimWorker& worker) { worker.Publish(version); });
}

void Fleet::Fetch(GroupIndex group, Version newer_than) {
  ForEach(group, [newer_than](SimWorker& worker) { worker.Fetch(newer_than); });
}

void Fleet::Die(GroupIndex group) {
  ForEach(group, [](SimWorker& worker) { worker.Die(); });
}

void Fleet::Leave(GroupIndex group) {
  ForEach(group, [](SimWorker& worker) { worker.Leave(); });
}

void Fleet::WorkerFetched(const SimWorker& worker) {
  const auto group = static_cast<GroupIndex>((worker.identity().incarnation - 1) / world_size());
  if (++fetched_ranks_[group] < world_size()) return;
  fetched_ranks_[group] = 0;
  if (on_fetched_) on_fetched_(group);
}

bool Fleet::Holds(GroupIndex group, Version version) const {
  for (const SimWorker* worker : WorkersOf(group)) {
    if (worker->holds() != version) return false;
  }
  return true;
}

std::vector<const SimWorker*> Fleet::WorkersOf(GroupIndex group) const {
  std::vector<const SimWorker*> workers;
  for (Rank rank = 0; rank < world_size(); ++rank) {
    workers.push_back(workers_[group * world_size() + rank].get());
  }
  return workers;
}

}  // namespace tensorhub::sim
