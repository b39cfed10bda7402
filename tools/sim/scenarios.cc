// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/scenarios.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/layout.h"
#include "tools/sim/baselines.h"
#include "tools/sim/ros_run.h"
#include "tools/sim/static_plans.h"

namespace tensorhub::sim {
namespace {

constexpr double kAim = 1.15;

// What one strategy made of the workload.
struct Outcome {
  double completion = 0;  // s, the last rollout
  double update = 0;      // s, the mean rollout, from asking to having
  double stall = 0;       // GPU-seconds, trainers included where they wait
};

class ScenarioRun {
 public:
  ScenarioRun(const ScaleOptions& options, const std::vector<std::string>& strategies,
              Workload workload, bench::Report& report)
      : options_(options),
        strategies_(strategies),
        workload_(std::move(workload)),
        report_(report) {}

  absl::Status Run() {
    for (const std::string& strategy : strategies_) {
      if (absl::Status status = RunStrategy(strategy); !status.ok()) return status;
    }
    if (outcomes_.contains("ros")) OwnFigures();
    for (const auto& [name, outcome] : outcomes_) {
      if (name == "ros") continue;
      Beside(absl::StrCat(name, ".completion"), outcome.completion, "s");
      Beside(absl::StrCat(name, ".update"), outcome.update, "s");
      Beside(absl::StrCat(name, ".stall"), outcome.stall, "GPU s");
    }
    PaperFigures();
    Notes();
    if (!report_.figures.empty()) return absl::OkStatus();
    for (const auto& [name, outcome] : outcomes_) Completion(name, outcome);
    return absl::OkStatus();
  }

 private:
  absl::Status RunStrategy(const std::string& name) {
    if (name == "ros") return RunOurs();
    if (name == "nccl") {
      const Collective collective = NcclBroadcast(options_, workload_);
      const auto rollout_gpus =
          static_cast<double>(workload_.rollouts.size()) * options_.group_size;
      const double trainers = collective.completion_seconds * workload_.trainer_gpus;
      outcomes_[name] = {collective.completion_seconds,
                         (collective.stall_seconds - trainers) / rollout_gpus,
                         collective.stall_seconds};
      return absl::OkStatus();
    }
    const Plan plan = name == "chain"       ? Plan::kChain
                      : name == "two-trees" ? Plan::kTwoTrees
                                            : Plan::kFanOut;
    return Keep(name, RunPlan(plan, options_, workload_));
  }

  absl::Status RunOurs() {
    ours_ = RunRos(options_, workload_);
    return Keep("ros", ours_->done);
  }

  absl::Status Keep(const std::string& name, const Completions& done) {
    for (size_t i = 0; i < done.size(); ++i) {
      if (done[i] || workload_.rollouts[i].dies) continue;
      return absl::InternalError(absl::StrCat(
          name, ": rollout ", i, " never got the version",
          ours_ ? absl::StrCat("; the hub's last warning: ", ours_->last_warning) : ""));
    }
    outcomes_[name] = {LastSeconds(done), MeanUpdateSeconds(workload_, done),
                       StallSeconds(workload_, done, options_.group_size)};
    return absl::OkStatus();
  }

  bool crosses() const {
    return options_.scenario == "crossdc" || options_.topology.datacenters > 1;
  }
  double limit() const {
    return crosses() ? std::max(options_.link_seconds(), options_.wide_area_seconds())
                     : options_.link_seconds();
  }

  void Figure(const std::string& name, double value, const std::string& unit, double limit,
              const std::string& limit_name, double aim,
              bench::Better better = bench::Better::kLower) {
    report_.figures.push_back({name, value, unit, limit, limit_name, better, aim});
  }
  void Beside(const std::string& name, double value, const std::string& unit) {
    report_.beside.push_back({name, value, unit});
  }

  void Completion(const std::string& name, const Outcome& outcome) {
    Figure(absl::StrCat(name, ".completion"), outcome.completion, "s", limit(),
           crosses() ? "one copy over the wide area" : "S/B", kAim);
  }

  void OwnFigures() {
    const Outcome& ours = outcomes_.at("ros");
    // Where they are not ready at once, the last one's end says nothing.
    const bool at_once = options_.scenario == "broadcast" || options_.scenario == "crossdc";
    if (at_once) Completion("ros", ours);
    if (!at_once) Figure("ros.update", ours.update, "s", options_.link_seconds(), "S/B", kAim);
    if (at_once) Beside("ros.update", ours.update, "s");
    Beside("ros.stall", ours.stall, "GPU s");
    if (crosses()) WideAreaFigures();
    Beside("ros.redirects", static_cast<double>(ours_->redirects), "");
    Beside("ros.repeated", static_cast<double>(ours_->failures), "fetches");
    Beside("ros.thrown_away", ours_->bytes_thrown_away / options_.shard_bytes, "shards");
    Beside("hub.events", static_cast<double>(ours_->hub_events), "");
    Beside("hub.warnings", static_cast<double>(ours_->hub_warnings), "");
    Beside("hub.cpu_per_event",
           1e6 * ours_->hub_cpu_seconds / static_cast<double>(ours_->hub_events), "us");
  }

  // The first datacenter has the trainers. The last may have fewer GPUs, or none.
  void WideAreaFigures() {
    double most = 0;
    for (size_t i = 1; i < ours_->wide_area_bytes.size(); ++i) {
      most = std::max(most, ours_->wide_area_bytes[i]);
    }
    const double copy = options_.shard_bytes * options_.group_size;
    Figure("ros.wide_area.most", most / 1e9, "GB", copy / 1e9, "one copy", 1.01);
  }

  void Factor(const std::string& name, const std::string& strategy, double Outcome::*what,
              double paper) {
    if (!outcomes_.contains("ros") || !outcomes_.contains(strategy)) return;
    const double factor = outcomes_.at(strategy).*what / outcomes_.at("ros").*what;
    Figure(name, factor, "x", paper, "paper", 1, bench::Better::kHigher);
  }

  void PaperFigures() {
    if (options_.scenario == "standalone") {
      Factor("stall.nccl_over_ros", "nccl", &Outcome::stall, 6.7);
      Factor("stall.fanout_over_ros", "fanout", &Outcome::stall, 6.7);
    } else if (options_.scenario == "elastic") {
      Factor("update.fanout_over_ros", "fanout", &Outcome::update, 4.8);
    } else if (options_.scenario == "crossdc") {
      Factor("stall.fanout_over_ros", "fanout", &Outcome::stall, 19);
    }
  }

  void Notes() {
    const auto note = [this](std::string text) { report_.notes.push_back(std::move(text)); };
    note(absl::StrFormat("%d trainer GPUs, of which %d groups of %d publish; %d rollout groups",
                         workload_.trainer_gpus, options_.publishers, options_.trainer_ranks(),
                         workload_.rollouts.size()));
    if (options_.scenario == "standalone") {
      note(
          absl::StrFormat("assumed: rollouts become ready evenly within %.1f s; a collective "
                          "begins with the last of them, and trainers wait in it too",
                          Seconds(options_.spread)));
    }
    if (outcomes_.contains("nccl")) {
      note(
          "assumed: nccl runs at line rate in rings with slices of 512 KiB, its communicator "
          "exists, nobody fails");
    }
    if (outcomes_.contains("fanout")) {
      note("assumed: fanout is point-to-point, every rollout from a publisher, evenly, at once");
    }
  }

  const ScaleOptions& options_;
  const std::vector<std::string>& strategies_;
  const Workload workload_;
  bench::Report& report_;
  std::map<std::string, Outcome> outcomes_;
  std::optional<RosResult> ours_;
};

// Replicas of one shard stand for those of all: they share no link.
absl::Status RunDepth(ScaleOptions options, bench::Report& report) {
  options.group_size = options.publishers = options.topology.gpus_per_host = 1;
  options.topology.datacenters = 1;
  std::map<std::string, uint64_t> chunks{{"1MiB", 1 << 20}, {"256KiB", 256 << 10}};
  chunks[options.chunk_bytes == 0 ? "default" : "given"] = options.chunk();
  for (const auto& [chunk_name, chunk] : chunks) {
    for (const uint32_t replicas : {128, 512, 1024, 2048}) {
      options.chunk_bytes = chunk;
      options.topology.gpus = replicas + 1;
      options.scenario = "broadcast";
      const auto workload = MakeWorkload(options);
      if (!workload.ok()) return workload.status();
      for (const auto& [name, plan] :
           {std::pair{"chain", Plan::kChain}, {"two-trees", Plan::kTwoTrees}}) {
        report.figures.push_back({absl::StrCat(name, ".", replicas, ".", chunk_name),
                                  LastSeconds(RunPlan(plan, options, *workload)), "s",
                                  options.link_seconds(), "S/B", bench::Better::kLower, 1.10});
      }
    }
  }
  report.notes.push_back("replicas of one shard behind one publisher; the hub's part is left out");
  return absl::OkStatus();
}

}  // namespace

const std::vector<std::string>& ScenarioNames() {
  static const auto& names =
      *new std::vector<std::string>{"broadcast", "standalone", "elastic", "crossdc", "depth"};
  return names;
}

const std::vector<std::string>& StrategyNames() {
  static const auto& names =
      *new std::vector<std::string>{"ros", "chain", "two-trees", "fanout", "nccl"};
  return names;
}

// Static plans know their members beforehand: they do not fit where members come and die.
std::vector<std::string> DefaultStrategies(const std::string& scenario) {
  if (scenario == "elastic") return {"ros", "fanout"};
  if (scenario == "standalone" || scenario == "crossdc") return {"ros", "fanout", "nccl"};
  return StrategyNames();
}

absl::Status RunScenario(const ScaleOptions& options, const std::vector<std::string>& strategies,
                         bench::Report& report) {
  if (options.scenario == "depth") return RunDepth(options, report);
  auto workload = MakeWorkload(options);
  if (!workload.ok()) return workload.status();
  for (const std::string& strategy : strategies) {
    const bool fits = strategy == "ros" || strategy == "fanout";
    if (options.scenario != "elastic" || fits) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--strategy ", strategy, " needs fixed members; elastic runs ros and fanout"));
  }
  return ScenarioRun(options, strategies, *std::move(workload), report).Run();
}

}  // namespace tensorhub::sim
