// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/scale.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tools/sim/scenarios.h"

namespace tensorhub::sim {
namespace {

double GbitToBytes(double gbit) { return gbit * 1e9 / 8; }
Nanos FromMicros(double us) { return static_cast<Nanos>(us * 1000); }
Nanos FromMillis(std::chrono::milliseconds ms) { return ms.count() * kMillisecond; }

std::string ParameterLine(const ScaleOptions& options) {
  return absl::StrFormat(
      "simulated: %d GPUs in groups of %d, shards of %.3f GB in chunks of %.2f MiB, NICs of %.1f "
      "Gbit/s, hops of %.0f us, seed %d",
      options.topology.gpus, options.group_size, options.shard_bytes / 1e9,
      static_cast<double>(options.chunk()) / (1 << 20),
      options.topology.nic_bytes_per_second * 8 / 1e9,
      static_cast<double>(options.topology.hop_latency) / 1000, options.seed);
}

}  // namespace

void ScaleVerb::AddFlags(cli::Command& command) {
  command.Choice("scenario", &scenario_, ScenarioNames(), "what happens");
  command.Flag("strategy", &strategies_,
               absl::StrCat("strategies to run, comma separated: ",
                            absl::StrJoin(StrategyNames(), ", "), "; the scenario's if empty"),
               {.placeholder = "NAMES"});
  command.Choice("agents", &agents_, {"flow", "core"},
                 "ros: prefixes as flows, or the agents' own code, frame by frame");
  command.Flag("gpus", &gpus_, "GPUs in all, trainers included");
  command.Flag("group-size", &group_size_, "GPUs that hold one copy together");
  command.Flag(
      "trainer-size", &trainer_size_,
      "ranks of a trainer group, which cuts the model in as many parts; 0: as rollouts do");
  command.Flag(
      "publishers", &publishers_,
      "trainer groups that publish the same version; standalone and elastic: 8 unless given");
  command.Flag("shard-bytes", &shard_bytes_, "bytes per GPU");
  command.Flag("chunk-bytes", &chunk_bytes_, "0: what an agent proposes");
  command.Flag("nic-gbit", &nic_gbit_, "each GPU's NIC, each way");
  command.Flag("host-gbit", &host_gbit_, "each GPU's port to the others of its host");
  command.Flag("rack-gbit", &rack_gbit_, "each rack's uplink; 0: limits nobody");
  command.Flag("wan-gbit", &wide_area_gbit_, "each datacenter's wide-area link, each way");
  command.Flag("gpus-per-host", &gpus_per_host_, "GPUs in a host");
  command.Flag("hosts-per-rack", &hosts_per_rack_, "hosts in a rack");
  command.Flag("datacenters", &datacenters_,
               "datacenters, as large as each other; crossdc: 4 unless given");
  command.Flag("hop-us", &hop_us_,
               "microseconds from a commit to the first byte that leaves for the next reader");
  command.Flag("wan-latency", &wide_area_latency_, "one way across the wide area");
  command.Flag("control-us", &control_us_, "microseconds between a worker and the hub");
  command.Flag("hub-us", &hub_us_, "microseconds that the hub takes for an operation");
  command.Flag("hub-message-us", &hub_message_us_, "and for a message that needs no answer");
  command.Flag("spread", &spread_,
               "rollouts are ready for the version within this time; standalone: 5s unless given");
  command.Flag("window", &window_, "late joiners come, and rollouts die, within this time");
  command.Flag("late", &late_, "elastic: part of the rollouts that come late");
  command.Flag("deaths", &deaths_, "elastic: part of the rollouts that die");
  command.Flag("silence", &silence_, "after which a reader notices that its source died");
  command.Flag("seed", &seed_, "of everything random");
  command.Example("tensorhub-sim scale --gpus 16384");
  command.Example("tensorhub-sim scale --scenario crossdc -o json");
  command.Example("tensorhub-sim scale --group-size 2 --trainer-size 8");
}

// What the paper's workloads are modelled with; a flag that was given keeps its value.
absl::Status ScaleVerb::ApplyDefaults(const cli::Command& command) {
  const auto unless_set = [&command](const char* flag, auto& target, auto value) {
    if (!command.IsSet(flag)) target = value;
  };
  if (scenario_ == "standalone" || scenario_ == "elastic")
    unless_set("publishers", publishers_, 8u);
  if (scenario_ == "standalone") unless_set("spread", spread_, std::chrono::milliseconds(5000));
  if (scenario_ == "crossdc") unless_set("datacenters", datacenters_, 4u);
  for (const double share : {late_, deaths_}) {
    if (share < 0 || share > 1) return absl::InvalidArgumentError("--late and --deaths are 0..1");
  }
  for (const double us : {hop_us_, control_us_, hub_us_, hub_message_us_}) {
    if (us < 0 || us > 1e9)
      return absl::InvalidArgumentError("a time in microseconds is not in 0..1e9");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ScaleVerb::Strategies() const {
  std::vector<std::string> wanted;
  for (const std::string& part : strategies_) {
    const std::vector<std::string> names = absl::StrSplit(part, ',', absl::SkipEmpty());
    wanted.insert(wanted.end(), names.begin(), names.end());
  }
  if (wanted.empty() && trainer_size_ != 0) return std::vector<std::string>{"ros"};
  if (wanted.empty()) return DefaultStrategies(scenario_);
  for (const std::string& name : wanted) {
    const auto& known = StrategyNames();
    if (trainer_size_ != 0 && name != "ros") {
      return absl::InvalidArgumentError(
          absl::StrCat("--strategy ", name, " copies shards as they are: without --trainer-size"));
    }
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--strategy: \"", name, "\" is none of ", absl::StrJoin(known, ", ")));
  }
  return wanted;
}

absl::StatusOr<ScaleOptions> ScaleVerb::Options() const {
  ScaleOptions options;
  options.scenario = scenario_;
  options.agent_cores = agents_ == "core";
  TopologyOptions& topology = options.topology;
  topology.gpus = gpus_;
  topology.gpus_per_host = gpus_per_host_;
  topology.hosts_per_rack = hosts_per_rack_;
  topology.datacenters = datacenters_;
  topology.nic_bytes_per_second = GbitToBytes(nic_gbit_);
  topology.host_bytes_per_second = GbitToBytes(host_gbit_);
  topology.rack_bytes_per_second = GbitToBytes(rack_gbit_);
  topology.wide_area_bytes_per_second = GbitToBytes(wide_area_gbit_);
  topology.hop_latency = FromMicros(hop_us_);
  topology.host_latency = std::min(topology.host_latency, topology.hop_latency);
  topology.wide_area_latency = FromMillis(wide_area_latency_);
  options.group_size = group_size_;
  options.trainer_size = trainer_size_;
  options.publishers = publishers_;
  options.shard_bytes = static_cast<double>(shard_bytes_.value);
  options.chunk_bytes = chunk_bytes_.value;
  options.spread = FromMillis(spread_);
  options.window = FromMillis(window_);
  if (scenario_ == "elastic") {
    options.late_share = late_;
    options.death_share = deaths_;
  }
  options.seed = seed_;
  options.hub.latency = FromMicros(control_us_);
  options.hub.operation_time = FromMicros(hub_us_);
  options.hub.message_time = FromMicros(hub_message_us_);
  options.times.silence = FromMillis(silence_);
  return options;
}

absl::Status ScaleVerb::Run(const cli::Command& command, bench::Report& report) {
  if (absl::Status status = ApplyDefaults(command); !status.ok()) return status;
  auto strategies = Strategies();
  if (!strategies.ok()) return strategies.status();
  auto options = Options();
  if (!options.ok()) return options.status();
  report.scenario = scenario_;
  report.machine = ParameterLine(*options);
  const auto begin = std::chrono::steady_clock::now();
  const absl::Status status = RunScenario(*options, *strategies, report);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  report.beside.push_back({"simulator.time", took.count(), "s"});
  return status;
}

}  // namespace tensorhub::sim
