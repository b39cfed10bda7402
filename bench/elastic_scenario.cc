// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Broadcasts over shaped links whose members come and go: one joins half-way, one that feeds others
// is killed or cut off half-way, all join at random moments while one dies and one leaves, the
// trainer takes its version back while it is read, the server is away for a while. Every survivor's
// bytes are compared with the trainer's.

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/lab_runs.h"
#include "bench/relays.h"
#include "bench/scenario.h"
#include "common/layout.h"
#include "common/random.h"

namespace tensorhub::bench {
namespace {

constexpr double kElasticAim = 1.05;
constexpr double kJoinAim = 1.08;
constexpr double kDetectionSeconds = 1;
// Headers of the packets and what is in flight when a source dies.
constexpr double kReadOnceAim = 1.02;
const char* const kPhases[] = {"join", "kill", "cut", "churn", "unpublish", "server"};
// The server goes and comes back; readers should not notice.
constexpr double kServerGoes = 1.0 / 3;
constexpr double kServerReturns = 1.0 / 2;
constexpr double kServerSeconds = 1;
constexpr size_t kReadersMin = 3;
constexpr size_t kElasticReadersMax = 32;

void SleepUntil(double steady_seconds) {
  const double left = steady_seconds - SteadySeconds();
  if (left > 0) std::this_thread::sleep_for(std::chrono::duration<double>(left));
}

class ElasticScenario : public Scenario {
 public:
  std::string name() const override { return "elastic"; }
  std::string summary() const override {
    return "Readers join, leave and die during a broadcast (needs root: network namespaces).";
  }
  void AddFlags(cli::Command& command) override;
  absl::Status Run(Report& report) override;

 private:
  absl::Status CheckFlags();
  absl::Status Start();
  absl::Status RunPhase(const std::string& phase, Report& report);
  absl::Status Undisturbed(Report& report);
  absl::Status Join(Report& report);
  // A reader that feeds others goes half-way: its process, or silently its link.
  absl::Status Lose(const std::string& phase, Report& report);
  absl::Status Churn(Report& report);
  absl::Status Unpublish(Report& report);
  absl::Status WithoutServer(Report& report);

  // Begins all of them; the moment.
  absl::StatusOr<double> BeginAll(const std::vector<size_t>& readers);
  // Waits for all of them; the longest time since `start`.
  absl::StatusOr<double> EndAll(const std::vector<size_t>& readers, double start);
  absl::StatusOr<std::vector<double>> Received() const;
  // A reader from which another one reads at present, or the first.
  size_t FeedingReader() const;
  std::vector<size_t> AllBut(size_t left_out) const;
  Figure Completion(const std::string& figure, double seconds, double aim) const {
    return CompletionFigure(figure, seconds, stream_, aim);
  }

  size_t readers_ = 4;
  std::string phase_list_ = "join,kill,cut,churn,unpublish,server";
  uint64_t seed_ = 1;
  LabFlags flags_;

  std::vector<std::string> phases_;
  uint64_t bytes_ = 0;
  double stream_ = 0;       // seconds of a plain stream
  double undisturbed_ = 0;  // of a broadcast to all
  std::unique_ptr<Lab> lab_;
  std::unique_ptr<Fleet> fleet_;
};

void ElasticScenario::AddFlags(cli::Command& command) {
  command.Flag("readers", &readers_, "how many readers, each on a host of its own");
  command.Flag(
      "phases", &phase_list_,
      "which of join, kill (a process), cut (its link, silently), churn, unpublish, server "
      "(killed after a third of the time, back after half of it)",
      {.placeholder = "LIST"});
  command.Flag("seed", &seed_, "of the random moments of churn");
  flags_.Declare(command);
  command.Example("tensorhub-bench elastic");
  command.Example("tensorhub-bench elastic --readers 8 --phases kill --plot kill.svg");
  command.Example("tensorhub-bench elastic --phases server --rate 200mbit --seconds 60");
}

absl::Status ElasticScenario::CheckFlags() {
  if (readers_ < kReadersMin || readers_ > kElasticReadersMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("--readers: give ", kReadersMin, " to ", kElasticReadersMax));
  }
  if (flags_.seconds < 0) return absl::InvalidArgumentError("--seconds: give more than 0");
  absl::StatusOr<std::vector<std::string>> phases =
      ParseNames("--phases", phase_list_, {std::begin(kPhases), std::end(kPhases)});
  if (!phases.ok()) return phases.status();
  phases_ = *std::move(phases);
  if (flags_.rate.empty()) flags_.rate = readers_ <= 4 ? "500mbit" : "200mbit";
  if (flags_.seconds == 0) flags_.seconds = readers_ <= 4 ? 5 : 10;
  return absl::OkStatus();
}

absl::Status ElasticScenario::Start() {
  ShowProgress("building the laboratory");
  absl::StatusOr<std::unique_ptr<Lab>> lab =
      Lab::Start({"--hosts", absl::StrCat(readers_ + 1), "--rate", flags_.rate});
  if (!lab.ok()) return lab.status();
  lab_ = *std::move(lab);
  if (lab_->built().hosts[0].rate_bit <= 0) {
    return absl::InvalidArgumentError("--rate none: give a rate that is lower than the machine's");
  }
  bytes_ = BytesFor(lab_->built().hosts[0].rate_bit, flags_.seconds);
  if (absl::Status status = CheckMemory(bytes_, readers_ + 3); !status.ok()) return status;
  ShowProgress("a plain stream");
  const absl::StatusOr<double> stream = PlainStream(*lab_, 0, 1, bytes_);
  if (!stream.ok()) return stream.status();
  stream_ = *stream;
  absl::StatusOr<std::unique_ptr<Fleet>> fleet = StartFleet(*lab_, readers_, bytes_, flags_);
  if (!fleet.ok()) return fleet.status();
  fleet_ = *std::move(fleet);
  return absl::OkStatus();
}

absl::StatusOr<double> ElasticScenario::BeginAll(const std::vector<size_t>& readers) {
  const double start = SteadySeconds();
  for (const size_t reader : readers) {
    if (absl::Status status = fleet_->Begin(reader); !status.ok()) return status;
  }
  return start;
}

absl::StatusOr<double> ElasticScenario::EndAll(const std::vector<size_t>& readers, double start) {
  double seconds = 0;
  for (const size_t reader : readers) {
    const absl::StatusOr<Fleet::Fetched> fetched = fleet_->End(reader);
    if (!fetched.ok()) return fetched.status();
    seconds = std::max(seconds, fetched->end - start);
  }
  return seconds;
}

absl::StatusOr<std::vector<double>> ElasticScenario::Received() const {
  const absl::StatusOr<Lab::Status> status = lab_->Now();
  if (!status.ok()) return status.status();
  std::vector<double> received;
  for (const Lab::Host& host : status->hosts) received.push_back(host.received_bytes);
  return received;
}

size_t ElasticScenario::FeedingReader() const {
  for (const size_t reader : fleet_->Readers()) {
    const std::vector<Fleet::Sample> timeline = fleet_->Timeline(reader);
    if (timeline.empty()) continue;
    for (const size_t source : fleet_->Readers()) {
      if (timeline.back().source == fleet_->SourceName(source)) return source;
    }
  }
  return 1;
}

std::vector<size_t> ElasticScenario::AllBut(size_t left_out) const {
  std::vector<size_t> readers = fleet_->Readers();
  std::erase(readers, left_out);
  return readers;
}

absl::Status ElasticScenario::Undisturbed(Report& report) {
  ShowProgress("undisturbed");
  const LoadWatch watch("undisturbed");
  const absl::StatusOr<BroadcastResult> result =
      Broadcast(*lab_, *fleet_, fleet_->Readers(), bytes_);
  if (!result.ok()) return result.status();
  watch.Finish(report);
  undisturbed_ = result->seconds;
  report.figures.push_back(Completion("undisturbed.completion", undisturbed_, kElasticAim));
  return absl::OkStatus();
}

absl::Status ElasticScenario::Join(Report& report) {
  if (absl::Status status = fleet_->Publish(fleet_->Readers()); !status.ok()) return status;
  const std::vector<size_t> early = AllBut(readers_);
  const absl::StatusOr<double> start = BeginAll(early);
  if (!start.ok()) return start.status();
  SleepUntil(*start + stream_ / 2);
  if (absl::Status status = fleet_->Begin(readers_); !status.ok()) return status;
  const absl::StatusOr<double> others = EndAll(early, *start);
  if (!others.ok()) return others.status();
  const absl::StatusOr<Fleet::Fetched> joiner = fleet_->End(readers_);
  if (!joiner.ok()) return joiner.status();
  report.figures.push_back(Completion("join.completion", joiner->seconds, kJoinAim));
  report.figures.push_back(Completion("join.others", *others, kElasticAim));
  report.notes.push_back(absl::StrCat("the joiner read from ", joiner->sources));
  return fleet_->Verify(fleet_->Readers());
}

absl::Status ElasticScenario::Lose(const std::string& phase, Report& report) {
  if (absl::Status status = fleet_->Publish(fleet_->Readers()); !status.ok()) return status;
  const absl::StatusOr<std::vector<double>> before = Received();
  if (!before.ok()) return before.status();
  const absl::StatusOr<double> start = BeginAll(fleet_->Readers());
  if (!start.ok()) return start.status();
  SleepUntil(*start + stream_ / 2);
  const size_t victim = FeedingReader();
  const Lab::Host& host = lab_->built().hosts[victim];
  if (phase == "kill") fleet_->Kill(victim);
  if (phase == "cut") {
    if (absl::Status status = lab_->Cut(host); !status.ok()) return status;
  }
  const std::vector<size_t> survivors = AllBut(victim);
  const absl::StatusOr<double> seconds = EndAll(survivors, *start);
  if (!seconds.ok()) return seconds.status();
  const absl::StatusOr<std::vector<double>> after = Received();
  if (!after.ok()) return after.status();
  double received = 0;
  for (const size_t survivor : survivors) {
    received = std::max(received, (*after)[survivor] - (*before)[survivor]);
  }
  report.figures.push_back(BoundFigure(phase + ".completion", *seconds, "s",
                                       kElasticAim * undisturbed_ + kDetectionSeconds));
  report.figures.push_back({.name = phase + ".received",
                            .value = received / 1e6,
                            .unit = "MB",
                            .limit = static_cast<double>(bytes_) / 1e6,
                            .limit_name = "one copy",
                            .better = Better::kLower,
                            .aim = kReadOnceAim});
  report.notes.push_back(absl::StrCat(phase, " half-way: ", host.name));
  absl::Status status = fleet_->Verify(survivors);
  if (!status.ok()) return status;
  status = PlotIfWanted(flags_, absl::StrCat(phase, " of ", host.name, " half-way"), *lab_, *fleet_,
                        fleet_->Readers(), *start, bytes_);
  if (!status.ok()) return status;
  if (phase == "cut") {
    fleet_->Kill(victim);
    status = lab_->Heal(host);
  }
  return status.ok() ? fleet_->Restart(victim) : status;
}

// The first one starts at once and leaves when it has all; the last one dies; who joins when is
// left to chance.
absl::Status ElasticScenario::Churn(Report& report) {
  if (absl::Status status = fleet_->Publish(fleet_->Readers()); !status.ok()) return status;
  Random random(seed_);
  const auto moment = [&] { return stream_ * static_cast<double>(random.Below(900)) / 1000; };
  const size_t leaver = 1;
  const size_t victim = readers_;
  std::vector<std::pair<double, size_t>> joins = {{0, leaver}};
  for (size_t reader = 2; reader <= readers_; ++reader) joins.push_back({moment(), reader});
  std::sort(joins.begin(), joins.end());
  const double start = SteadySeconds();
  for (const auto& [at, reader] : joins) {
    SleepUntil(start + at);
    if (absl::Status status = fleet_->Begin(reader); !status.ok()) return status;
  }
  SleepUntil(start + stream_ * 0.95);
  fleet_->Kill(victim);
  const absl::StatusOr<Fleet::Fetched> left = fleet_->End(leaver);
  if (!left.ok()) return left.status();
  fleet_->Leave(leaver);
  double slowest = left->seconds;
  std::vector<size_t> stayed;
  for (size_t reader = 2; reader < readers_; ++reader) {
    const absl::StatusOr<Fleet::Fetched> fetched = fleet_->End(reader);
    if (!fetched.ok()) return fetched.status();
    slowest = std::max(slowest, fetched->seconds);
    stayed.push_back(reader);
  }
  report.figures.push_back(Completion("churn.slowest", slowest, kJoinAim));
  if (absl::Status status = fleet_->Verify(stayed); !status.ok()) return status;
  for (const size_t gone : {leaver, victim}) {
    if (absl::Status status = fleet_->Restart(gone); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ElasticScenario::Unpublish(Report& report) {
  if (absl::Status status = fleet_->Publish(fleet_->Readers()); !status.ok()) return status;
  const std::vector<size_t> active = AllBut(1);
  if (absl::Status status = fleet_->Begin(1); !status.ok()) return status;
  if (absl::Status status = fleet_->End(1).status(); !status.ok()) return status;
  const absl::StatusOr<double> start = BeginAll(active);
  if (!start.ok()) return start.status();
  SleepUntil(*start + stream_ / 4);
  const absl::StatusOr<double> round_trip_ms = fleet_->RoundTripMs(0);
  if (!round_trip_ms.ok()) return round_trip_ms.status();
  const absl::StatusOr<double> unpublished_ms = fleet_->Unpublish(0);
  if (!unpublished_ms.ok()) return unpublished_ms.status();
  const absl::StatusOr<double> seconds = EndAll(active, *start);
  if (!seconds.ok()) return seconds.status();
  const double chunk_ms =
      1e3 * stream_ * static_cast<double>(DefaultChunkBytes(bytes_)) / static_cast<double>(bytes_);
  report.figures.push_back(
      BoundFigure("unpublish.active", *unpublished_ms, "ms", 2 * chunk_ms + *round_trip_ms));
  report.beside.push_back({"unpublish.chunk", chunk_ms, "ms"});
  report.beside.push_back({"unpublish.round_trip", *round_trip_ms, "ms"});
  report.beside.push_back({"unpublish.readers", *seconds, "s"});
  return fleet_->Verify(fleet_->Readers());
}

absl::Status ElasticScenario::WithoutServer(Report& report) {
  if (absl::Status status = fleet_->Publish(fleet_->Readers()); !status.ok()) return status;
  const absl::StatusOr<double> start = BeginAll(fleet_->Readers());
  if (!start.ok()) return start.status();
  SleepUntil(*start + stream_ * kServerGoes);
  fleet_->KillHub();
  SleepUntil(*start + stream_ * kServerReturns);
  if (absl::Status status = fleet_->RestartHub(); !status.ok()) return status;
  const absl::StatusOr<double> seconds = EndAll(fleet_->Readers(), *start);
  if (!seconds.ok()) return seconds.status();
  report.figures.push_back(
      BoundFigure("server.completion", *seconds, "s", undisturbed_ + kServerSeconds));
  report.beside.push_back({"server.away", stream_ * (kServerReturns - kServerGoes), "s"});
  if (absl::Status status = fleet_->Verify(fleet_->Readers()); !status.ok()) return status;
  return PlotIfWanted(flags_, "a while without the server", *lab_, *fleet_, fleet_->Readers(),
                      *start, bytes_);
}

absl::Status ElasticScenario::RunPhase(const std::string& phase, Report& report) {
  ShowProgress(phase);
  const LoadWatch watch(phase);
  absl::Status status;
  if (phase == "join") status = Join(report);
  if (phase == "kill" || phase == "cut") status = Lose(phase, report);
  if (phase == "churn") status = Churn(report);
  if (phase == "unpublish") status = Unpublish(report);
  if (phase == "server") status = WithoutServer(report);
  watch.Finish(report);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(phase, ": ", std::string(status.message())));
}

absl::Status ElasticScenario::Run(Report& report) {
  if (absl::Status status = CheckFlags(); !status.ok()) return status;
  DoubtIfBusy(report);
  if (absl::Status status = Start(); !status.ok()) return status;
  if (absl::Status status = Undisturbed(report); !status.ok()) return status;
  for (const std::string& phase : phases_) {
    if (absl::Status status = RunPhase(phase, report); !status.ok()) return status;
  }
  ReportStream(bytes_, stream_, report);
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Scenario> MakeElasticScenario() { return std::make_unique<ElasticScenario>(); }

}  // namespace tensorhub::bench
