// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One trainer's shard to N readers over shaped links, by several strategies in turn in the same
// laboratory. The limit is the time of one plain stream of the same bytes over one of the links.

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/lab_runs.h"
#include "bench/relays.h"
#include "bench/scenario.h"

namespace tensorhub::bench {
namespace {

constexpr double kAim = 1.05;
constexpr double kAimOverChain = 1.03;
constexpr double kCpuRateBit = 500e6;  // at which the share of a core was asked for
constexpr double kCpuPercent = 20;
constexpr size_t kReadersMax = 64;

// Rates are so low that two cores are not what is measured.
struct Size {
  size_t readers;  // up to so many
  const char* rate;
  double seconds;
};
constexpr Size kSizes[] = {
    {4, "500mbit", 5}, {8, "200mbit", 10}, {16, "100mbit", 20}, {kReadersMax, "25mbit", 40}};

class BroadcastScenario : public Scenario {
 public:
  std::string name() const override { return "broadcast"; }
  std::string summary() const override {
    return "One shard to N hosts over shaped links (needs root: network namespaces).";
  }
  void AddFlags(cli::Command& command) override;
  absl::Status Run(Report& report) override;

 private:
  absl::Status CheckFlags();
  bool Wants(const std::string& strategy) const { return Contains(strategies_, strategy); }
  absl::Status Start();
  absl::Status RunRound(Report& report, int round);
  absl::Status RunRelays(const std::string& strategy, const std::vector<Relays::Edge>& edges,
                         Report& report);
  absl::Status RunRos(Report& report);
  void ReportAll(Report& report) const;
  double Limit() const { return Median(streams_); }

  size_t readers_ = 4;
  std::string strategy_list_ = "ros,fanout,store,chain";
  int rounds_ = 1;
  LabFlags flags_;

  std::vector<std::string> strategies_;
  uint64_t bytes_ = 0;
  std::unique_ptr<Lab> lab_;
  std::unique_ptr<Relays> relays_;
  std::unique_ptr<Fleet> fleet_;
  std::vector<double> streams_;  // seconds of a plain stream
  std::map<std::string, std::vector<double>> seconds_;
  std::vector<BroadcastResult> results_;  // of ros
};

void BroadcastScenario::AddFlags(cli::Command& command) {
  command.Flag("readers", &readers_, "how many readers, each on a host of its own");
  command.Flag(
      "strategies", &strategy_list_,
      "which of ros (TensorHub), fanout (plain streams, all from the trainer), store (to a "
      "store node first), chain (a static chain of plain sockets)",
      {.placeholder = "LIST"});
  command.Flag("rounds", &rounds_, "how often each strategy runs; medians count");
  flags_.Declare(command);
  command.Example("tensorhub-bench broadcast --readers 4");
  command.Example("tensorhub-bench broadcast --readers 16 --strategies ros,chain --plot b.svg");
}

absl::Status BroadcastScenario::CheckFlags() {
  if (readers_ < 1 || readers_ > kReadersMax) {
    return absl::InvalidArgumentError(absl::StrCat("--readers: give 1 to ", kReadersMax));
  }
  if (rounds_ < 1 || rounds_ > 100) return absl::InvalidArgumentError("--rounds: give 1 to 100");
  if (flags_.seconds < 0) return absl::InvalidArgumentError("--seconds: give more than 0");
  absl::StatusOr<std::vector<std::string>> strategies =
      ParseNames("--strategies", strategy_list_, {"ros", "fanout", "store", "chain"});
  if (!strategies.ok()) return strategies.status();
  strategies_ = *std::move(strategies);
  if (strategies_.empty()) return absl::InvalidArgumentError("--strategies: give at least one");
  const Size& size = *std::find_if(std::begin(kSizes), std::end(kSizes),
                                   [this](const Size& entry) { return readers_ <= entry.readers; });
  if (flags_.rate.empty()) flags_.rate = size.rate;
  if (flags_.seconds == 0) flags_.seconds = size.seconds;
  return absl::OkStatus();
}

absl::Status BroadcastScenario::Start() {
  ShowProgress("building the laboratory");
  // The last one is the store's.
  absl::StatusOr<std::unique_ptr<Lab>> lab =
      Lab::Start({"--hosts", absl::StrCat(readers_ + 2), "--rate", flags_.rate});
  if (!lab.ok()) return lab.status();
  lab_ = *std::move(lab);
  if (lab_->built().hosts[0].rate_bit <= 0) {
    return absl::InvalidArgumentError("--rate none: give a rate that is lower than the machine's");
  }
  bytes_ = BytesFor(lab_->built().hosts[0].rate_bit, flags_.seconds);
  if (absl::Status status = CheckMemory(bytes_, 2 * readers_ + 3); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<Relays>> relays = Relays::Start(*lab_, readers_ + 2, bytes_);
  if (!relays.ok()) return relays.status();
  relays_ = *std::move(relays);
  if (!Wants("ros")) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<Fleet>> fleet = StartFleet(*lab_, readers_, bytes_, flags_);
  if (!fleet.ok()) return fleet.status();
  fleet_ = *std::move(fleet);
  return absl::OkStatus();
}

absl::Status BroadcastScenario::RunRelays(const std::string& strategy,
                                          const std::vector<Relays::Edge>& edges, Report& report) {
  const LoadWatch watch(strategy);
  const absl::StatusOr<double> seconds = relays_->Run(edges);
  if (!seconds.ok()) return seconds.status();
  if (seconds_[strategy].empty()) watch.Finish(report);
  seconds_[strategy].push_back(*seconds);
  return absl::OkStatus();
}

absl::Status BroadcastScenario::RunRos(Report& report) {
  const LoadWatch watch("ros");
  const absl::StatusOr<BroadcastResult> result =
      Broadcast(*lab_, *fleet_, fleet_->Readers(), bytes_);
  if (!result.ok()) return result.status();
  if (results_.empty()) watch.Finish(report);
  seconds_["ros"].push_back(result->seconds);
  results_.push_back(*result);
  return PlotIfWanted(flags_,
                      absl::StrFormat("%d MB to %d readers at %s: %.2f s", bytes_ / 1000000,
                                      readers_, flags_.rate, result->seconds),
                      *lab_, *fleet_, fleet_->Readers(), result->start, bytes_);
}

absl::Status BroadcastScenario::RunRound(Report& report, int round) {
  ShowProgress(absl::StrCat("round ", round + 1, ": a plain stream"));
  const absl::StatusOr<double> stream = relays_->Run(StreamEdges(0, 1));
  if (!stream.ok()) return stream.status();
  streams_.push_back(*stream);
  for (const std::string& strategy : strategies_) {
    ShowProgress(absl::StrCat("round ", round + 1, ": ", strategy));
    absl::Status status;
    if (strategy == "ros") status = RunRos(report);
    if (strategy == "chain") status = RunRelays(strategy, ChainEdges(readers_), report);
    if (strategy == "fanout") status = RunRelays(strategy, FanoutEdges(readers_), report);
    if (strategy == "store") status = RunRelays(strategy, StoreEdges(readers_), report);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void BroadcastScenario::ReportAll(Report& report) const {
  const auto copies = static_cast<double>(readers_);
  // What the others need when nothing is lost: so much of the trainer's or the store's uplink.
  const std::map<std::string, double> aims = {
      {"ros", kAim}, {"chain", kAim}, {"fanout", kAim * copies}, {"store", kAim * (copies + 1)}};
  for (const std::string& strategy : strategies_) {
    report.figures.push_back(CompletionFigure(
        strategy + ".completion", Median(seconds_.at(strategy)), Limit(), aims.at(strategy)));
  }
  if (Wants("ros") && Wants("chain")) {
    report.figures.push_back({.name = "ros.over_chain",
                              .value = Median(seconds_.at("ros")),
                              .unit = "s",
                              .limit = Median(seconds_.at("chain")),
                              .limit_name = "static chain",
                              .better = Better::kLower,
                              .aim = kAimOverChain});
  }
  ReportStream(bytes_, Limit(), report);
  if (results_.empty()) return;
  double cpu = 0;
  double sent = 0;
  for (const BroadcastResult& result : results_) {
    cpu = std::max(cpu, result.relay_cpu_percent);
    sent = std::max(sent, result.trainer_copies);
  }
  if (lab_->built().hosts[0].rate_bit == kCpuRateBit && readers_ > 1) {
    report.figures.push_back(BoundFigure("ros.reader_cpu", cpu, "% of a core", kCpuPercent));
  } else {
    report.beside.push_back({"ros.reader_cpu", cpu, "% of a core"});
  }
  report.beside.push_back({"ros.trainer_sent", sent, "copies"});
}

absl::Status BroadcastScenario::Run(Report& report) {
  if (absl::Status status = CheckFlags(); !status.ok()) return status;
  DoubtIfBusy(report);
  if (absl::Status status = Start(); !status.ok()) return status;
  for (int round = 0; round < rounds_; ++round) {
    if (absl::Status status = RunRound(report, round); !status.ok()) return status;
  }
  ReportAll(report);
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Scenario> MakeBroadcastScenario() { return std::make_unique<BroadcastScenario>(); }

}  // namespace tensorhub::bench
