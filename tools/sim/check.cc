// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/check.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tensorhub::sim {
namespace {

// One of this many seeds is run twice, and has to go the same way.
constexpr uint64_t kRepeatEvery = 20;
constexpr double kRateWanted = 1000;

// What an assertion of the code under test ends with: the seed is worth as much as a violation's.
std::string on_abort;

void PrintOnAbort(int) {
  std::fputs(on_abort.c_str(), stderr);
  std::_Exit(1);
}

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// One line on a terminal, drawn over itself.
class Bar {
 public:
  explicit Bar(uint64_t total) : total_(total), drawn_(isatty(STDERR_FILENO) != 0) {}
  ~Bar() {
    if (drawn_) std::fputs("\r\x1b[K", stderr);
  }
  void Update(uint64_t done) const {
    if (!drawn_) return;
    constexpr int kWidth = 40;
    const int filled = static_cast<int>(done * kWidth / total_);
    std::fprintf(stderr, "\r[%-*s] %lu of %lu seeds", kWidth,
                 std::string(static_cast<size_t>(filled), '#').c_str(),
                 static_cast<unsigned long>(done), static_cast<unsigned long>(total_));
    std::fflush(stderr);
  }

 private:
  const uint64_t total_;
  const bool drawn_;
};

}  // namespace

void CheckVerb::AddFlags(cli::Command& command) {
  command.Flag("seed", &seed_, "the first seed");
  command.Flag("seeds", &seeds_, "how many seeds, one after the other");
  command.Flag("seconds", &seconds_, "simulated seconds per seed");
  command.Flag("trace", &trace_, "print everything that happens on standard error");
  command.Example("tensorhub-sim check --seed 17 --seeds 1 --trace   # one seed again, in detail");
}

std::string CheckVerb::CommandFor(uint64_t seed) const {
  return absl::StrFormat("tensorhub-sim check --seed %d --seeds 1 --seconds %g", seed, seconds_);
}

absl::Status CheckVerb::RunSeed(uint64_t seed) {
  fault::SeedOptions options;
  options.seed = seed;
  options.seconds = seconds_;
  if (trace_) options.log = &std::cerr;
  on_abort = absl::StrCat("tensorhub-sim: seed ", seed,
                          " broke an assertion; again: ", CommandFor(seed), "\n");
  const fault::SeedResult result = fault::RunSeed(options);
  if (result.violation) {
    return absl::DataLossError(absl::StrFormat(
        "seed %d broke %s after %.3f s: %s; faults: %s; again: %s", seed, result.violation->rule,
        Seconds(result.violation->at), result.violation->text, result.faults, CommandFor(seed)));
  }
  if (seed % kRepeatEvery == 0) {
    ++repeated_;
    options.log = nullptr;
    if (fault::RunSeed(options).trace != result.trace) {
      return absl::DataLossError(absl::StrCat("seed ", seed, " went another way the second time; ",
                                              "again: ", CommandFor(seed)));
    }
  }
  counts_.operations += result.counts.operations;
  counts_.succeeded += result.counts.succeeded;
  counts_.fetched += result.counts.fetched;
  counts_.copies += result.counts.copies;
  counts_.chunks += result.counts.chunks;
  counts_.hub_events += result.counts.hub_events;
  counts_.faults += result.counts.faults;
  counts_.damaged += result.counts.damaged;
  counts_.rotten += result.counts.rotten;
  const double simulated = result.seconds * (seed % kRepeatEvery == 0 ? 2 : 1);
  simulated_ += simulated;
  worker_seconds_ += simulated * result.workers;
  ++done_;
  return absl::OkStatus();
}

absl::Status CheckVerb::RunSeeds(bench::Report& report) {
  const double began = Now();
  const Bar bar(seeds_);
  for (uint64_t i = 0; i < seeds_; ++i) {
    bar.Update(i);
    if (absl::Status status = RunSeed(seed_ + i); !status.ok()) return status;
  }
  Report(Now() - began, report);
  return absl::OkStatus();
}

absl::Status CheckVerb::Run(bench::Report& report) {
  if (seeds_ == 0) return absl::InvalidArgumentError("--seeds 0: at least one is needed");
  if (!(seconds_ > 0) || seconds_ > 1e6) {
    return absl::InvalidArgumentError("--seconds: between 0 and 1000000");
  }
  void (*const before)(int) = std::signal(SIGABRT, PrintOnAbort);
  const absl::Status status = RunSeeds(report);
  std::signal(SIGABRT, before);
  return status;
}

void CheckVerb::Report(double wall_seconds, bench::Report& report) const {
  report.scenario = "check";
  report.machine =
      absl::StrFormat("simulated: seeds %d to %d, %g s each", seed_, seed_ + seeds_ - 1, seconds_);
  report.figures.push_back({"simulated_rate", simulated_ / wall_seconds, "s/s", kRateWanted,
                            "bound", bench::Better::kHigher, 1});
  const auto beside = [&report](const char* name, double value, const char* unit) {
    report.beside.push_back({name, value, unit});
  };
  beside("violations", 0, "");
  beside("seeds", static_cast<double>(done_), "");
  beside("seeds.repeated", static_cast<double>(repeated_), "");
  beside("operations", static_cast<double>(counts_.operations), "calls");
  beside("operations.succeeded", static_cast<double>(counts_.succeeded), "calls");
  beside("fetches.succeeded", static_cast<double>(counts_.fetched), "calls");
  beside("copies.made", static_cast<double>(counts_.copies), "-");
  beside("chunks.committed", static_cast<double>(counts_.chunks), "");
  beside("faults", static_cast<double>(counts_.faults), "");
  beside("cells.damaged", static_cast<double>(counts_.damaged), "");
  beside("cells.rotten", static_cast<double>(counts_.rotten), "");
  beside("hub.events", static_cast<double>(counts_.hub_events), "");
  beside("workers", worker_seconds_ / simulated_, "mean");
  beside("simulated", simulated_, "s");
  beside("wall", wall_seconds, "s");
}

}  // namespace tensorhub::sim
