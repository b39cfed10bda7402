// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/static_plans.h"

#include <algorithm>

#include "tools/sim/world.h"

namespace tensorhub::sim {
namespace {

constexpr int kPublisher = -1;

// Sources by reader (from 0): the reader that it reads from, or the publisher.
using Parents = std::vector<int>;

Parents ChainParents(size_t readers) {
  Parents parents(readers);
  for (size_t i = 0; i < readers; ++i) parents[i] = static_cast<int>(i) - 1;
  return parents;
}

// `order`: first those that pass on, then those that do not. The publisher feeds one, the others
// two each.
Parents TreeParents(const std::vector<int>& order) {
  Parents parents(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    parents[static_cast<size_t>(order[i])] = i == 0 ? kPublisher : order[(i - 1) / 2];
  }
  return parents;
}

std::vector<int> Rotated(size_t readers, size_t from) {
  std::vector<int> order(readers);
  for (size_t i = 0; i < readers; ++i) order[i] = static_cast<int>((i + from) % readers);
  return order;
}

// Parents by stripe.
std::vector<Parents> ParentsOf(Plan plan, size_t readers) {
  if (plan == Plan::kChain) return {ChainParents(readers)};
  if (plan == Plan::kFanOut) return {Parents(readers, kPublisher)};
  return {TreeParents(Rotated(readers, 0)), TreeParents(Rotated(readers, readers - readers / 2))};
}

class PlanRun {
 public:
  PlanRun(Plan plan, const ScaleOptions& options, const Workload& workload)
      : plan_(plan),
        options_(options),
        workload_(workload),
        world_(options.ahead_bytes),
        topology_(options.topology, world_.network()),
        done_(workload.rollouts.size()),
        missing_(workload.rollouts.size(), 0) {}

  Completions Run() {
    const size_t publishers = workload_.publishers.size();
    for (size_t i = 0; i < publishers; ++i) {
      const size_t begin = workload_.rollouts.size() * i / publishers;
      AddPart(workload_.publishers[i], begin, workload_.rollouts.size() * (i + 1) / publishers);
    }
    world_.OnWhole([this](FillId fill) {
      const size_t reader = reader_of_[fill];
      if (--missing_[reader] == 0) done_[reader] = world_.now();
    });
    world_.Run(INT64_MAX - 1, [] { return false; });
    return done_;
  }

 private:
  // The rollouts in [begin, end) get the version from that publisher.
  void AddPart(uint32_t publisher, size_t begin, size_t end) {
    const std::vector<Parents> stripes = ParentsOf(plan_, end - begin);
    for (uint32_t rank = 0; rank < options_.group_size; ++rank) {
      for (const Parents& parents : stripes) {
        AddStripe(publisher + rank, rank, begin, parents,
                  options_.shard_bytes / static_cast<double>(stripes.size()));
      }
    }
  }

  void AddStripe(uint32_t publisher_gpu, uint32_t rank, size_t begin, const Parents& parents,
                 double bytes) {
    const FillId publisher = AddFill(bytes, 0, true);
    const FillId first = publisher + 1;
    for (size_t i = 0; i < parents.size(); ++i) {
      AddFill(bytes, begin + i, false);
      ++missing_[begin + i];
    }
    for (size_t i = 0; i < parents.size(); ++i) {
      const bool published = parents[i] == kPublisher;
      const auto parent = static_cast<FillId>(parents[i]);
      const uint32_t from = published ? publisher_gpu : GpuOf(begin + parent, rank);
      Schedule(first + static_cast<FillId>(i), published ? publisher : first + parent,
               topology_.Between(from, GpuOf(begin + i, rank)));
    }
  }

  void Schedule(FillId reader, FillId source, const Path& path) {
    const Rollout& rollout = workload_.rollouts[reader_of_[reader]];
    if (rollout.dies && *rollout.dies <= rollout.ready) return;
    world_.At(rollout.ready, [this, reader, source, path] {
      world_.network().Attach(reader, source, path, world_.now());
    });
    if (!rollout.dies) return;
    world_.At(*rollout.dies, [this, reader] { world_.network().Detach(reader, world_.now()); });
  }

  FillId AddFill(double bytes, size_t reader, bool whole) {
    reader_of_.push_back(reader);
    return world_.network().AddFill(bytes, static_cast<double>(options_.chunk()), whole);
  }

  uint32_t GpuOf(size_t reader, uint32_t rank) const {
    return workload_.rollouts[reader].first_gpu + rank;
  }

  const Plan plan_;
  const ScaleOptions& options_;
  const Workload& workload_;
  World world_;
  Topology topology_;
  Completions done_;
  std::vector<size_t> missing_;    // fills, by reader
  std::vector<size_t> reader_of_;  // by fill
};

}  // namespace

Completions RunPlan(Plan plan, const ScaleOptions& options, const Workload& workload) {
  return PlanRun(plan, options, workload).Run();
}

}  // namespace tensorhub::sim
