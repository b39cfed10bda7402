// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// `server`: what one tensorhub-server bears. Thousands of workers, each with a connection and a
// session of its own, beat and hold one version; callers let them fetch it anew, call by call, and
// no bytes move. Beside them, through the same connections and as many callers, empty calls.

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/light_fleet.h"
#include "bench/process_facts.h"
#include "bench/scenario.h"
#include "common/layout.h"

namespace tensorhub::bench {
namespace {

constexpr int kRounds = 5;

constexpr double kRateAim = 0.7;
constexpr double kTimeAim = 1 / kRateAim;
constexpr double kCpuAim = 2;
constexpr double kMemoryAim = 2;
constexpr double kHalfLoadMs = 5;

// The rounds of one kind of load.
struct Leg {
  std::vector<double> rates;  // calls per second, by round
  LoadResult all;
  double server_cpu = 0;  // seconds
  double cpu_us_per_call() const { return server_cpu * 1e6 / all.calls(); }
  double turns_per_second() const { return static_cast<double>(all.turns) / all.seconds; }
};

absl::StatusOr<Layout> MadeUpLayout() {
  std::vector<TensorSpec> tensors;
  for (int i = 0; i < 300; ++i) {
    tensors.push_back({.name = absl::StrFormat("model.layers.%03d.weight", i),
                       .dtype = DType::kBF16,
                       .shape = {4096, 4096},
                       .slice = {}});
  }
  return Layout::Make(tensors);
}

class ServerScenario : public Scenario {
 public:
  std::string name() const override { return "server"; }
  std::string summary() const override {
    return "How many calls one server answers for many workers, against empty calls to it.";
  }
  void AddFlags(cli::Command& command) override;
  absl::Status Run(Report& report) override;

 private:
  absl::Status CheckFlags();
  absl::Status BringUp();
  absl::Status RunLegs();
  absl::Status RunLeg(const Turn& turn, double turns_per_second, Leg& leg) const;
  void MeasureIdle();
  void ReportFigures(Report& report) const;
  void ReportBeside(Report& report) const;
  double KiBPerWorker(uint64_t resident) const;

  LightFleet fleet_{200};
  double seconds_ = 5;

  Layout layout_;
  Turn fetch_;

  uint64_t resident_empty_ = 0;
  uint64_t resident_connected_ = 0;
  uint64_t resident_full_ = 0;
  double idle_percent_ = 0;
  Leg echoes_;
  Leg fetches_;
  Leg half_;
};

void ServerScenario::AddFlags(cli::Command& command) {
  fleet_.AddFlags(command, "calls under way at once");
  command.Flag("seconds", &seconds_, "how long each of the three kinds of load lasts in all");
  command.Example("tensorhub-bench server");
  command.Example("tensorhub-bench server --workers 10000 --lease 30s --seconds 20 -o json");
}

absl::Status ServerScenario::CheckFlags() {
  if (!(seconds_ >= 0.5 && seconds_ <= 3600)) {
    return absl::InvalidArgumentError("--seconds: give 0.5 to 3600");
  }
  return fleet_.CheckFlags();
}

// Connections first and sessions after them, so that each can be weighed.
absl::Status ServerScenario::BringUp() {
  const pid_t server = fleet_.hub().pid();
  resident_empty_ = ResidentBytesOf(server);
  if (absl::Status status = fleet_.Publish(layout_); !status.ok()) return status;
  ShowProgress("connecting");
  if (absl::Status status = fleet_.EachOnce(EchoTurn).status(); !status.ok()) return status;
  resident_connected_ = ResidentBytesOf(server);
  if (absl::Status status = fleet_.Join(layout_); !status.ok()) return status;
  resident_full_ = ResidentBytesOf(server);
  return absl::OkStatus();
}

// --- the load --------------------------------------------------------------------------------

absl::Status ServerScenario::RunLeg(const Turn& turn, double turns_per_second, Leg& leg) const {
  const LoadPlan plan = {.callers = fleet_.callers(),
                         .seconds = seconds_ / kRounds,
                         .turns_per_second = turns_per_second};
  const double cpu_before = CpuSecondsOf(fleet_.hub().pid());
  absl::StatusOr<LoadResult> result = Drive(fleet_.workers(), plan, turn);
  if (!result.ok()) return result.status();
  leg.server_cpu += CpuSecondsOf(fleet_.hub().pid()) - cpu_before;
  leg.rates.push_back(result->calls() / result->seconds);
  leg.all.Add(*result);
  return absl::OkStatus();
}

absl::Status ServerScenario::RunLegs() {
  for (int round = 1; round <= kRounds; ++round) {
    ShowProgress(absl::StrCat("round ", round, " of ", kRounds));
    if (absl::Status status = RunLeg(EchoTurn, 0, echoes_); !status.ok()) return status;
    if (absl::Status status = RunLeg(fetch_, 0, fetches_); !status.ok()) return status;
    if (absl::Status status = RunLeg(fetch_, fetches_.turns_per_second() / 2, half_); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

// Heartbeats alone.
void ServerScenario::MeasureIdle() {
  ShowProgress("heartbeats alone");
  const double before = CpuSecondsOf(fleet_.hub().pid());
  const std::chrono::duration<double> pause(std::max(1.0, seconds_ / kRounds));
  std::this_thread::sleep_for(pause);
  idle_percent_ = 100 * (CpuSecondsOf(fleet_.hub().pid()) - before) / pause.count();
}

// --- the report ------------------------------------------------------------------------------

double ServerScenario::KiBPerWorker(uint64_t resident) const {
  const auto growth = static_cast<double>(resident) - static_cast<double>(resident_empty_);
  return growth / 1024 / fleet_.count();
}

void ServerScenario::ReportFigures(Report& report) const {
  report.figures.push_back({.name = "calls",
                            .value = Median(fetches_.rates),
                            .unit = "/s",
                            .limit = Median(echoes_.rates),
                            .limit_name = "empty calls",
                            .better = Better::kHigher,
                            .aim = kRateAim});
  const auto lower = [&](const std::string& name, double value, const std::string& unit,
                         double limit, const std::string& limit_name, double aim) {
    report.figures.push_back({.name = name,
                              .value = value,
                              .unit = unit,
                              .limit = limit,
                              .limit_name = limit_name,
                              .better = Better::kLower,
                              .aim = aim});
  };
  lower("call.median", Median(fetches_.all.all_us()), "us", Median(echoes_.all.all_us()),
        "empty calls", kTimeAim);
  lower("call.p99", Percentile(fetches_.all.all_us(), 0.99), "us",
        Percentile(echoes_.all.all_us(), 0.99), "empty calls", kTimeAim);
  report.figures.push_back(BoundFigure(
      "call.p99.half_load", Percentile(half_.all.all_us(), 0.99) / 1000, "ms", kHalfLoadMs));
  lower("server.cpu", fetches_.cpu_us_per_call(), "us/call", echoes_.cpu_us_per_call(),
        "empty calls", kCpuAim);
  lower("server.memory", KiBPerWorker(resident_full_), "KiB/worker",
        KiBPerWorker(resident_connected_), "connections alone", kMemoryAim);
}

void ServerScenario::ReportBeside(Report& report) const {
  report.beside.push_back({"workers", static_cast<double>(fleet_.count()), ""});
  report.beside.push_back({"callers", static_cast<double>(fleet_.callers()), ""});
  report.beside.push_back({"fetches", fetches_.turns_per_second(), "/s"});
  for (const auto& [name, us] : fetches_.all.us) {
    report.beside.push_back({absl::StrCat(name, ".median"), Median(us), "us"});
  }
  report.beside.push_back({"call.median.half_load", Median(half_.all.all_us()) / 1000, "ms"});
  report.beside.push_back(
      {"server.cpu.loaded", 100 * fetches_.server_cpu / fetches_.all.seconds, "% of a core"});
  report.beside.push_back({"server.cpu.heartbeats", idle_percent_, "% of a core"});
  report.notes.emplace_back("the callers, all workers and the server share this machine's cores");
}

absl::Status ServerScenario::Run(Report& report) {
  if (absl::Status status = CheckFlags(); !status.ok()) return status;
  if (const double load = LoadPerCore(); load > kBusyLoad) {
    report.doubts.push_back(absl::StrFormat(
        "the machine was busy with something else (load %.1f per core): ratios are noise", load));
  }
  absl::StatusOr<Layout> layout = MadeUpLayout();
  if (!layout.ok()) return layout.status();
  layout_ = *std::move(layout);
  fetch_ = [this](LightWorker& worker, Echo&, const LightWorker::OnCall& on_call) {
    return worker.Fetch(layout_, on_call);
  };
  if (absl::Status status = fleet_.StartHub("127.0.0.1:0"); !status.ok()) return status;
  absl::Status status = BringUp();
  if (status.ok()) status = RunLegs();
  if (status.ok()) MeasureIdle();
  fleet_.TakeDown();
  if (!status.ok()) return status;
  ReportFigures(report);
  ReportBeside(report);
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Scenario> MakeServerScenario() { return std::make_unique<ServerScenario>(); }

}  // namespace tensorhub::bench
