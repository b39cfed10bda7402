// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One reader that several sources feed at a time, over links that are each a part of its own: what
// --sources-per-reader is for. The limit: one plain stream over a link as fast as the reader's.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/lab_runs.h"
#include "bench/relays.h"
#include "bench/scenario.h"

namespace tensorhub::bench {
namespace {

// 0.95 of the reader's link.
constexpr double kSpreadAim = 1 / 0.95;
// Headers of the packets, and what the server says.
constexpr double kReceivedOnceAim = 1.06;
constexpr size_t kSpreadSourcesMax = 8;

class SpreadScenario : public Scenario {
 public:
  std::string name() const override { return "spread"; }
  std::string summary() const override {
    return "One reader, several sources with slower links (needs root: network namespaces).";
  }
  void AddFlags(cli::Command& command) override;
  absl::Status Run(Report& report) override;

 private:
  absl::Status CheckFlags() const;
  absl::Status Start();
  absl::Status FillSources();
  // Sets the sources' links, and measures.
  absl::Status Measure(const std::string& what, double source_bit, Report& report);
  size_t reader() const { return sources_; }
  double rate_bit() const { return lab_->built().hosts[0].rate_bit; }

  size_t sources_ = 2;
  LabFlags flags_;
  uint64_t bytes_ = 0;
  double stream_ = 0;
  std::unique_ptr<Lab> lab_;
  std::unique_ptr<Relays> relays_;
  std::unique_ptr<Fleet> fleet_;
};

void SpreadScenario::AddFlags(cli::Command& command) {
  flags_.rate = "500mbit";
  flags_.seconds = 10;
  command.Flag("sources", &sources_, "sources; each one's link is such a part of the reader's");
  flags_.Declare(command);
  command.Example("tensorhub-bench spread");
  command.Example("tensorhub-bench spread --sources 4 --rate 1gbit");
}

absl::Status SpreadScenario::CheckFlags() const {
  if (sources_ < 2 || sources_ > kSpreadSourcesMax) {
    return absl::InvalidArgumentError(absl::StrCat("--sources: give 2 to ", kSpreadSourcesMax));
  }
  if (flags_.seconds <= 0) return absl::InvalidArgumentError("--seconds: give more than 0");
  return absl::OkStatus();
}

absl::Status SpreadScenario::Start() {
  ShowProgress("building the laboratory");
  absl::StatusOr<std::unique_ptr<Lab>> lab =
      Lab::Start({"--hosts", absl::StrCat(sources_ + 1), "--rate", flags_.rate});
  if (!lab.ok()) return lab.status();
  lab_ = *std::move(lab);
  if (rate_bit() <= 0) {
    return absl::InvalidArgumentError("--rate none: give a rate that is lower than the machine's");
  }
  bytes_ = BytesFor(rate_bit(), flags_.seconds);
  if (absl::Status status = CheckMemory(bytes_, 2 * sources_ + 4); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<Relays>> relays = Relays::Start(*lab_, sources_ + 1, bytes_);
  if (!relays.ok()) return relays.status();
  relays_ = *std::move(relays);
  flags_.server_flags.push_back(absl::StrCat("--sources-per-reader=", sources_));
  absl::StatusOr<std::unique_ptr<Fleet>> fleet = StartFleet(*lab_, sources_, bytes_, flags_);
  if (!fleet.ok()) return fleet.status();
  fleet_ = *std::move(fleet);
  return absl::OkStatus();
}

// One after the other until all but the reader have it, which is not looked at; then the reader.
absl::Status SpreadScenario::FillSources() {
  const std::vector<size_t> readers = fleet_->Readers();
  if (absl::Status status = fleet_->Publish(readers); !status.ok()) return status;
  for (const size_t holder : readers) {
    if (holder == reader()) continue;
    if (absl::Status status = fleet_->Begin(holder); !status.ok()) return status;
    if (auto fetched = fleet_->End(holder); !fetched.ok()) return fetched.status();
  }
  return absl::OkStatus();
}

absl::Status SpreadScenario::Measure(const std::string& what, double source_bit, Report& report) {
  if (absl::Status status = FillSources(); !status.ok()) return status;
  for (size_t source = 0; source < sources_; ++source) {
    const absl::Status status = lab_->SetRate(lab_->built().hosts[source], source_bit);
    if (!status.ok()) return status;
  }
  ShowProgress(what);
  const absl::StatusOr<Lab::Status> before = lab_->Now();
  if (!before.ok()) return before.status();
  const double start = SteadySeconds();
  if (absl::Status status = fleet_->Begin(reader()); !status.ok()) return status;
  const absl::StatusOr<Fleet::Fetched> fetched = fleet_->End(reader());
  if (!fetched.ok()) return fetched.status();
  const absl::StatusOr<Lab::Status> after = lab_->Now();
  if (!after.ok()) return after.status();
  if (absl::Status status = fleet_->Verify({reader()}); !status.ok()) return status;
  report.figures.push_back(
      CompletionFigure(what + ".completion", fetched->end - start, stream_, kSpreadAim));
  const auto size = static_cast<double>(bytes_);
  const double came =
      after->hosts[reader()].received_bytes - before->hosts[reader()].received_bytes;
  report.figures.push_back({.name = what + ".received",
                            .value = came / 1e6,
                            .unit = "MB",
                            .limit = size / 1e6,
                            .limit_name = "one copy",
                            .better = Better::kLower,
                            .aim = kReceivedOnceAim});
  for (size_t source = 0; source < sources_; ++source) {
    const double sent = after->hosts[source].sent_bytes - before->hosts[source].sent_bytes;
    report.beside.push_back(
        {absl::StrCat(what, ".sent.", after->hosts[source].name), sent / size, "copies"});
  }
  return absl::OkStatus();
}

absl::Status SpreadScenario::Run(Report& report) {
  if (absl::Status status = CheckFlags(); !status.ok()) return status;
  DoubtIfBusy(report);
  if (absl::Status status = Start(); !status.ok()) return status;
  ShowProgress("a plain stream over one link as fast as the reader's");
  const absl::StatusOr<double> stream = relays_->Run(StreamEdges(0, reader()));
  if (!stream.ok()) return stream.status();
  stream_ = *stream;
  const double part = rate_bit() / static_cast<double>(sources_);
  if (absl::Status status = Measure("spread", part, report); !status.ok()) return status;
  ReportStream(bytes_, stream_, report);
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Scenario> MakeSpreadScenario() { return std::make_unique<SpreadScenario>(); }

}  // namespace tensorhub::bench
