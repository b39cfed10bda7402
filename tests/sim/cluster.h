// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Who there is in a run: models, groups, and the hosts, racks and datacenters that they are in;
// drawn from the seed, at least eight workers.

#ifndef TENSORHUB_TESTS_SIM_CLUSTER_H_
#define TENSORHUB_TESTS_SIM_CLUSTER_H_

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "tests/sim/group.h"
#include "tests/sim/scene.h"

namespace tensorhub::fault {

class Cluster {
 public:
  explicit Cluster(Scene& scene);

  void Begin() {
    for (const auto& group : groups_) group->Begin();
  }
  void SetResting(bool resting) {
    for (const auto& group : groups_) group->SetResting(resting);
  }
  bool busy() const;
  bool copying() const;
  bool complete() const;
  const std::vector<std::unique_ptr<Group>>& groups() const { return groups_; }
  uint32_t workers() const { return static_cast<uint32_t>(places_.size()); }

 private:
  std::pair<Group*, Rank> Find(const Process& process) const;
  void AddModel(const std::string& name, uint32_t world_size, uint32_t trainers, uint32_t rollouts);
  void AddGroup(Model& model, const std::string& name, bool trains);
  std::shared_ptr<const Layout> DrawLayout();
  static std::vector<CutShard> DrawShards(Dice& dice, Model& model, bool trains);
  static uint32_t NumberOf(const Model& model, const std::vector<CutShard>& shards);

  Scene& scene_;
  std::deque<Model> models_;
  std::deque<Place> places_;
  std::vector<std::unique_ptr<Group>> groups_;
  uint64_t datacenters_ = 1;
  uint64_t racks_ = 1;
  uint64_t hosts_ = 1;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_CLUSTER_H_
