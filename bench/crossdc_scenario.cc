// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One trainer's shard to the hosts of several datacenters, each behind one slow full-duplex
// wide-area link. The limits: the time of one plain stream between two datacenters, and one copy
// over each remote datacenter's link.

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

constexpr double kCrossdcAim = 1.06;
constexpr double kCopiesAim = 1.01;

class CrossDcScenario : public Scenario {
 public:
  std::string name() const override { return "crossdc"; }
  std::string summary() const override {
    return "One shard to several datacenters behind slow links (needs root: network namespaces).";
  }
  void AddFlags(cli::Command& command) override;
  absl::Status Run(Report& report) override;

 private:
  absl::Status CheckFlags();
  absl::Status Start();
  absl::Status RunStrategy(const std::string& strategy, Report& report);
  // Seconds until all had all.
  absl::StatusOr<double> RunOnce(const std::string& strategy);
  size_t readers() const { return dcs_ * hosts_per_dc_ - 1; }
  bool Wants(const std::string& strategy) const { return Contains(strategies_, strategy); }

  size_t dcs_ = 3;
  size_t hosts_per_dc_ = 4;
  std::string wan_ = "200mbit";
  std::string strategy_list_ = "ros,fanout,chain";
  LabFlags flags_;

  std::vector<std::string> strategies_;
  uint64_t bytes_ = 0;
  double stream_ = 0;
  std::unique_ptr<Lab> lab_;
  std::unique_ptr<Relays> relays_;
  std::unique_ptr<Fleet> fleet_;
};

void CrossDcScenario::AddFlags(cli::Command& command) {
  flags_.rate = "500mbit";
  flags_.seconds = 10;
  command.Flag("dcs", &dcs_, "datacenters; the trainer is in the first");
  command.Flag("hosts-per-dc", &hosts_per_dc_, "hosts in each");
  command.Flag("wan", &wan_, "rate of each datacenter's wide-area link, each way",
               {.placeholder = "RATE"});
  command.Flag("strategies", &strategy_list_,
               "which of ros (TensorHub), fanout (one plain stream per reader), chain (a static "
               "chain of plain sockets through all hosts in turn)",
               {.placeholder = "LIST"});
  flags_.Declare(command);
  command.Example("tensorhub-bench crossdc");
  command.Example("tensorhub-bench crossdc --dcs 2 --hosts-per-dc 8 --wan 100mbit");
}

absl::Status CrossDcScenario::CheckFlags() {
  if (dcs_ < 2 || dcs_ > 16) return absl::InvalidArgumentError("--dcs: give 2 to 16");
  if (hosts_per_dc_ < 1 || hosts_per_dc_ > 16) {
    return absl::InvalidArgumentError("--hosts-per-dc: give 1 to 16");
  }
  if (flags_.seconds <= 0) return absl::InvalidArgumentError("--seconds: give more than 0");
  absl::StatusOr<std::vector<std::string>> strategies =
      ParseNames("--strategies", strategy_list_, {"ros", "fanout", "chain"});
  if (!strategies.ok()) return strategies.status();
  strategies_ = *std::move(strategies);
  if (strategies_.empty()) return absl::InvalidArgumentError("--strategies: give at least one");
  return absl::OkStatus();
}

absl::Status CrossDcScenario::Start() {
  ShowProgress("building the laboratory");
  absl::StatusOr<std::unique_ptr<Lab>> lab =
      Lab::Start({"--dcs", absl::StrCat(dcs_), "--hosts-per-dc", absl::StrCat(hosts_per_dc_),
                  "--rate", flags_.rate, "--wan", wan_});
  if (!lab.ok()) return lab.status();
  lab_ = *std::move(lab);
  const double wan_bit = lab_->built().datacenters[0].wan_bit;
  if (wan_bit <= 0) {
    return absl::InvalidArgumentError("--wan none: give a rate that is lower than the machine's");
  }
  bytes_ = BytesFor(wan_bit, flags_.seconds);
  if (absl::Status status = CheckMemory(bytes_, 2 * readers() + 2); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<Relays>> relays = Relays::Start(*lab_, readers() + 1, bytes_);
  if (!relays.ok()) return relays.status();
  relays_ = *std::move(relays);
  if (!Wants("ros")) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<Fleet>> fleet = StartFleet(*lab_, readers(), bytes_, flags_);
  if (!fleet.ok()) return fleet.status();
  fleet_ = *std::move(fleet);
  return absl::OkStatus();
}

absl::StatusOr<double> CrossDcScenario::RunOnce(const std::string& strategy) {
  if (strategy == "fanout") return relays_->Run(FanoutEdges(readers()));
  if (strategy == "chain") return relays_->Run(ChainEdges(readers()));
  const absl::StatusOr<BroadcastResult> result =
      Broadcast(*lab_, *fleet_, fleet_->Readers(), bytes_);
  if (!result.ok()) return result.status();
  const absl::Status status =
      PlotIfWanted(flags_,
                   absl::StrFormat("%d MB to %d hosts in %d datacenters, %s between them: %.2f s",
                                   bytes_ / 1000000, readers(), dcs_, wan_, result->seconds),
                   *lab_, *fleet_, fleet_->Readers(), result->start, bytes_);
  if (!status.ok()) return status;
  return result->seconds;
}

absl::Status CrossDcScenario::RunStrategy(const std::string& strategy, Report& report) {
  ShowProgress(strategy);
  const absl::StatusOr<Lab::Status> before = lab_->Now();
  if (!before.ok()) return before.status();
  const LoadWatch watch(strategy);
  const absl::StatusOr<double> seconds = RunOnce(strategy);
  if (!seconds.ok()) return seconds.status();
  watch.Finish(report);
  const absl::StatusOr<Lab::Status> after = lab_->Now();
  if (!after.ok()) return after.status();
  // In a star every remote reader's copy leaves through the first datacenter's link.
  const auto copies_out = static_cast<double>((dcs_ - 1) * hosts_per_dc_);
  report.figures.push_back(
      CompletionFigure(strategy + ".completion", *seconds, stream_,
                       strategy == "fanout" ? kCrossdcAim * copies_out : kCrossdcAim));
  for (size_t dc = 1; dc < dcs_; ++dc) {
    const double came =
        after->datacenters[dc].received_bytes - before->datacenters[dc].received_bytes;
    const auto copies = static_cast<double>(strategy == "fanout" ? hosts_per_dc_ : 1);
    report.figures.push_back({.name = absl::StrCat(strategy, ".wan.", after->datacenters[dc].name),
                              .value = came / 1e6,
                              .unit = "MB",
                              .limit = static_cast<double>(bytes_) / 1e6,
                              .limit_name = "one copy",
                              .better = Better::kLower,
                              .aim = copies * kCopiesAim});
  }
  const double left = after->datacenters[0].sent_bytes - before->datacenters[0].sent_bytes;
  report.beside.push_back(
      {absl::StrCat(strategy, ".wan_sent.dc1"), left / static_cast<double>(bytes_), "copies"});
  return absl::OkStatus();
}

absl::Status CrossDcScenario::Run(Report& report) {
  if (absl::Status status = CheckFlags(); !status.ok()) return status;
  DoubtIfBusy(report);
  if (absl::Status status = Start(); !status.ok()) return status;
  ShowProgress("a plain stream between two datacenters");
  const absl::StatusOr<double> stream = relays_->Run(StreamEdges(0, hosts_per_dc_));
  if (!stream.ok()) return stream.status();
  stream_ = *stream;
  for (const std::string& strategy : strategies_) {
    if (absl::Status status = RunStrategy(strategy, report); !status.ok()) return status;
  }
  ReportStream(bytes_, stream_, report);
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Scenario> MakeCrossDcScenario() { return std::make_unique<CrossDcScenario>(); }

}  // namespace tensorhub::bench
