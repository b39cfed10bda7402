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
#include "common/layout.h"
#include "tools/bench/load.h"
#include "tools/bench/pairs.h"
#include "tools/bench/process_facts.h"
#include "tools/bench/scenario.h"

namespace tensorhub::bench {
namespace {

constexpr uint32_t kWorkersMax = 10'000;
constexpr uint32_t kCallersMax = 256;
constexpr int kRounds = 5;
constexpr double kBusyLoad = 0.5;
// Of this process and the server together, per worker; an estimate.
constexpr uint64_t kBytesPerWorker = 256 << 10;
constexpr uint64_t kOtherFiles = 256;

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
  return Layout::Make(std::move(tensors));
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
  void MakeWorkers();
  absl::Status BringUp();
  absl::Status RunLegs();
  absl::Status RunLeg(const Turn& turn, double turns_per_second, Leg& leg) const;
  void MeasureIdle();
  void ReportFigures(Report& report) const;
  void ReportBeside(Report& report) const;
  void TakeDown();
  double KiBPerWorker(uint64_t resident) const;

  uint32_t workers_count_ = 200;
  uint32_t callers_ = 16;
  double seconds_ = 5;
  std::chrono::milliseconds lease_{5000};

  Layout layout_;
  Turn fetch_;
  std::unique_ptr<Hub> hub_;
  std::unique_ptr<LightWorker> publisher_;
  LightWorkers workers_;
  std::unique_ptr<Pulse> pulse_;  // ends before the workers do

  uint64_t resident_empty_ = 0;
  uint64_t resident_connected_ = 0;
  uint64_t resident_full_ = 0;
  double idle_percent_ = 0;
  Leg echoes_;
  Leg fetches_;
  Leg half_;
};

void ServerScenario::AddFlags(cli::Command& command) {
  command.Flag("workers", &workers_count_, "workers, each with a connection and a session");
  command.Flag("callers", &callers_, "calls under way at once");
  command.Flag("seconds", &seconds_, "how long each of the three kinds of load lasts in all");
  command.Flag("lease", &lease_, "the server's; workers beat five times in it");
  command.Example("tensorhub-bench server");
  command.Example("tensorhub-bench server --workers 10000 --lease 30s --seconds 20 -o json");
}

absl::Status ServerScenario::CheckFlags() {
  if (workers_count_ < 1 || workers_count_ > kWorkersMax) {
    return absl::InvalidArgumentError(absl::StrFormat("--workers: give 1 to %d", kWorkersMax));
  }
  if (callers_ < 1 || callers_ > kCallersMax) {
    return absl::InvalidArgumentError(absl::StrFormat("--callers: give 1 to %d", kCallersMax));
  }
  if (!(seconds_ >= 0.5 && seconds_ <= 3600)) {
    return absl::InvalidArgumentError("--seconds: give 0.5 to 3600");
  }
  if (lease_ < std::chrono::seconds(1) || lease_ > std::chrono::hours(1)) {
    return absl::InvalidArgumentError("--lease: give a duration between 1s and 1h");
  }
  callers_ = std::min(callers_, workers_count_);
  const uint64_t needed = workers_count_ * kBytesPerWorker;
  if (needed > AvailableMemoryBytes()) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "%d MiB of memory are needed, %d MiB are available; give a smaller --workers", needed >> 20,
        AvailableMemoryBytes() >> 20));
  }
  return AllowOpenFiles(workers_count_ + kOtherFiles);
}

// --- the workers -----------------------------------------------------------------------------

// Nothing connects yet.
void ServerScenario::MakeWorkers() {
  publisher_ = std::make_unique<LightWorker>(hub_->address(), "trainer", 0);
  for (uint32_t i = 1; i <= workers_count_; ++i) {
    workers_.push_back(
        std::make_unique<LightWorker>(hub_->address(), absl::StrFormat("worker%05d", i), i));
  }
}

// Every worker connects, then opens its session and fetches the version, which it holds from then
// on.
absl::Status ServerScenario::BringUp() {
  resident_empty_ = ResidentBytesOf(hub_->pid());
  MakeWorkers();
  if (absl::Status status = publisher_->OpenSession(); !status.ok()) return status;
  std::vector<LightWorker*> all = {publisher_.get()};
  for (const auto& worker : workers_) all.push_back(worker.get());
  pulse_ = std::make_unique<Pulse>(std::move(all), publisher_->heartbeat());
  if (absl::Status status = publisher_->Publish(layout_); !status.ok()) return status;

  const LoadPlan once = {.callers = callers_, .each_once = true};
  ShowProgress("connecting");
  const absl::StatusOr<LoadResult> connected = Drive(workers_, once, EchoTurn);
  if (!connected.ok()) return connected.status();
  resident_connected_ = ResidentBytesOf(hub_->pid());
  ShowProgress("opening sessions");
  const Turn join = [this](LightWorker& worker, Echo& echo, const LightWorker::OnCall& on_call) {
    absl::Status status = worker.OpenSession();
    return status.ok() ? fetch_(worker, echo, on_call) : status;
  };
  const absl::StatusOr<LoadResult> joined = Drive(workers_, once, join);
  if (!joined.ok()) return joined.status();
  resident_full_ = ResidentBytesOf(hub_->pid());
  return absl::OkStatus();
}

void ServerScenario::TakeDown() {
  pulse_.reset();
  for (const auto& worker : workers_) worker->EndSession();
  workers_.clear();
  publisher_.reset();
  hub_.reset();
}

// --- the load --------------------------------------------------------------------------------

absl::Status ServerScenario::RunLeg(const Turn& turn, double turns_per_second, Leg& leg) const {
  const LoadPlan plan = {
      .callers = callers_, .seconds = seconds_ / kRounds, .turns_per_second = turns_per_second};
  const double cpu_before = CpuSecondsOf(hub_->pid());
  absl::StatusOr<LoadResult> result = Drive(workers_, plan, turn);
  if (!result.ok()) return result.status();
  leg.server_cpu += CpuSecondsOf(hub_->pid()) - cpu_before;
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
  const double before = CpuSecondsOf(hub_->pid());
  const std::chrono::duration<double> pause(std::max(1.0, seconds_ / kRounds));
  std::this_thread::sleep_for(pause);
  idle_percent_ = 100 * (CpuSecondsOf(hub_->pid()) - before) / pause.count();
}

// --- the report ------------------------------------------------------------------------------

double ServerScenario::KiBPerWorker(uint64_t resident) const {
  const auto growth = static_cast<double>(resident) - static_cast<double>(resident_empty_);
  return growth / 1024 / workers_count_;
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
  report.beside.push_back({"workers", static_cast<double>(workers_count_), ""});
  report.beside.push_back({"callers", static_cast<double>(callers_), ""});
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
  absl::StatusOr<std::unique_ptr<Hub>> hub =
      Hub::Start([](const Child::Options& process) { return process; }, "127.0.0.1:0",
                 {"--lease", absl::StrCat(lease_.count(), "ms")});
  if (!hub.ok()) return hub.status();
  hub_ = *std::move(hub);
  absl::Status status = BringUp();
  if (status.ok()) status = RunLegs();
  if (status.ok()) MeasureIdle();
  ShowProgress("ending sessions");
  TakeDown();
  if (!status.ok()) return status;
  ReportFigures(report);
  ReportBeside(report);
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Scenario> MakeServerScenario() { return std::make_unique<ServerScenario>(); }

}  // namespace tensorhub::bench
