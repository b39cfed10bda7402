// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/cluster.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace tensorhub::fault {
namespace {

constexpr uint32_t kWorkersMin = 8;
constexpr uint64_t kChunkBytes = 128 << 10;

}  // namespace

Cluster::Cluster(Scene& scene) : scene_(scene) {
  Dice& dice = scene.dice;
  datacenters_ = 1 + dice.Below(2);
  racks_ = 1 + dice.Below(2);
  hosts_ = 1 + dice.Below(3);
  const uint64_t models = 1 + dice.Below(2);
  for (uint64_t i = 0; i < models; ++i) {
    const auto rollouts = 2 + static_cast<uint32_t>(dice.Below(3));
    const auto trainers = 1 + static_cast<uint32_t>(dice.Below(2));
    const auto ranks = 1 + static_cast<uint32_t>(dice.Below(3));
    AddModel(absl::StrCat("m", i), ranks, trainers, rollouts);
  }
  for (uint32_t i = 0; workers() < kWorkersMin; ++i) {
    AddGroup(models_.back(), absl::StrCat("more", i), /*trains=*/false);
  }
  scene.take_back = [this](const Process& process) {
    const auto [group, rank] = Find(process);
    if (group != nullptr) group->TakeBack();
  };
  scene.kill = [this](Process& process) {
    const auto [group, rank] = Find(process);
    if (group != nullptr) group->Kill(rank, /*told=*/scene_.dice.Below(2) == 0);
  };
}

// Nobody for a copy in host memory, or one that has been replaced.
std::pair<Group*, Rank> Cluster::Find(const Process& process) const {
  for (const auto& group : groups_) {
    for (Rank rank = 0; rank < group->world_size(); ++rank) {
      if (group->process(rank) == &process) return {group.get(), rank};
    }
  }
  return {nullptr, 0};
}

void Cluster::AddModel(const std::string& name, uint32_t world_size, uint32_t trainers,
                       uint32_t rollouts) {
  Model& model = models_.emplace_back();
  model.name = name;
  model.world_size = world_size;
  model.layout = DrawLayout();
  if (scene_.plan.cuts) {
    model.cut = std::make_shared<const CutModel>(scene_.dice);
    model.published = model.cut->Draw(scene_.dice, world_size, /*all=*/true);
  }
  for (uint32_t i = 0; i < trainers; ++i) AddGroup(model, absl::StrCat("trainer", i), true);
  for (uint32_t i = 0; i < rollouts; ++i) AddGroup(model, absl::StrCat("rollout", i), false);
}

// A few chunks, the last one perhaps shorter, and now and then none at all.
std::shared_ptr<const Layout> Cluster::DrawLayout() {
  Dice& dice = scene_.dice;
  uint64_t bytes = (1 + dice.Below(dice.Below(3) == 0 ? 30 : 8)) * kChunkBytes;
  if (dice.Below(2) == 0) bytes -= 4096 * dice.Below(31);
  if (dice.Below(40) == 0) bytes = 0;
  TensorSpec tensor;
  tensor.name = "weights";
  tensor.shape = {bytes};
  auto layout = Layout::Make({tensor});
  TH_CHECK(layout.ok());
  return std::make_shared<const Layout>(*std::move(layout));
}

// Publishers agree; others cut it as they like, or as some group before.
std::vector<CutShard> Cluster::DrawShards(Dice& dice, Model& model, bool trains) {
  if (trains || dice.Below(3) == 0) return model.published;
  if (!model.others.empty() && dice.Below(3) == 0) return model.others.back();
  const auto ranks = 1 + static_cast<uint32_t>(dice.Below(CutModel::kRanksMax));
  return model.others.emplace_back(model.cut->Draw(dice, ranks, /*all=*/false));
}

// Equal for those that hold the same shards by rank; 0: as its publishers.
uint32_t Cluster::NumberOf(const Model& model, const std::vector<CutShard>& shards) {
  const auto same = [&](const std::vector<CutShard>& other) {
    return std::equal(shards.begin(), shards.end(), other.begin(), other.end(),
                      [](const CutShard& a, const CutShard& b) {
                        return a.layout->fingerprint() == b.layout->fingerprint();
                      });
  };
  if (shards.empty() || same(model.published)) return 0;
  const auto first = std::find_if(model.others.begin(), model.others.end(), same);
  return 1 + static_cast<uint32_t>(first - model.others.begin());
}

void Cluster::AddGroup(Model& model, const std::string& name, bool trains) {
  Dice& dice = scene_.dice;
  const uint64_t in_rack = dice.Below(hosts_);
  const uint64_t rack = dice.Below(racks_);
  const uint64_t datacenter = dice.Below(datacenters_);
  const std::string host = absl::StrCat("us/dc", datacenter, "/r", rack, "/h", in_rack);
  const auto layout = !trains && dice.Below(25) == 0 ? DrawLayout() : model.layout;
  std::vector<CutShard> shards;
  if (model.cut && layout == model.layout) shards = DrawShards(dice, model, trains);
  const uint32_t world_size =
      shards.empty() ? model.world_size : static_cast<uint32_t>(shards.size());
  const bool offers = scene_.plan.host_copies && dice.Below(3) != 0;
  const uint32_t copies = offers ? 1 + static_cast<uint32_t>(dice.Below(2)) : 0;
  std::vector<const Place*> ranks;
  for (Rank rank = 0; rank < world_size; ++rank) {
    Place& place = places_.emplace_back();
    place.number = places_.size() - 1;
    place.key = {model.name, name, rank};
    place.world_size = world_size;
    place.location = *Location::Parse(absl::StrCat(host, "/", place.number));
    place.host = host;
    place.layout = shards.empty() ? layout : shards[rank].layout;
    place.sharding = NumberOf(model, shards);
    place.cells = shards.empty() ? nullptr : shards[rank].cells;
    place.one_sided = dice.Chance(scene_.plan.one_sided);
    place.spot = dice.Below(3) == 0;
    if (dice.Below(6) == 0) place.slowness = dice.Time(0, 30 * kMillisecond);
    place.frame_bytes = uint64_t{32 << 10} << dice.Below(4);
    place.copies = copies;
    ranks.push_back(&place);
  }
  groups_.push_back(std::make_unique<Group>(scene_, model, ranks, trains));
}

bool Cluster::busy() const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [](const auto& group) { return group->busy(); });
}

bool Cluster::copying() const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [](const auto& group) { return group->copying(); });
}

bool Cluster::complete() const {
  return std::all_of(groups_.begin(), groups_.end(),
                     [](const auto& group) { return group->complete(); });
}

}  // namespace tensorhub::fault
