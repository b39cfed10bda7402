// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/lab_runs.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "bench/plot.h"
#include "bench/scenario.h"

namespace tensorhub::bench {
namespace {

constexpr double kBusyBefore = 0.15;
constexpr double kBusyDuring = 0.85;
constexpr uint64_t kMiB = 1 << 20;

absl::StatusOr<std::vector<double>> CpuOf(Fleet& fleet, const std::vector<size_t>& workers) {
  std::vector<double> seconds;
  for (const size_t worker : workers) {
    const absl::StatusOr<double> cpu = fleet.CpuSeconds(worker);
    if (!cpu.ok()) return cpu.status();
    seconds.push_back(*cpu);
  }
  return seconds;
}

absl::StatusOr<double> SentByTrainer(const Lab& lab) {
  const absl::StatusOr<Lab::Status> status = lab.Now();
  if (!status.ok()) return status.status();
  return status->hosts.front().sent_bytes;
}

}  // namespace

void LabFlags::Declare(cli::Command& command) {
  command.Flag("rate", &rate, "of every host's link, e.g. 500mbit; empty: by the number of hosts",
               {.placeholder = "RATE"});
  command.Flag("seconds", &seconds,
               "how long the shard takes at that rate (crossdc: at the wide area's); 0: by the "
               "number of hosts");
  command.Flag("tensors", &tensors, "how many tensors make the shard");
  command.Flag("server-flag", &server_flags, "one more flag for tensorhub-server, e.g. --lease=1s",
               {.placeholder = "FLAG"});
  command.Flag("plot", &plot, "draw bytes over time and who fed whom", {.placeholder = "FILE.svg"});
}

absl::StatusOr<std::vector<std::string>> ParseNames(const std::string& flag,
                                                    const std::string& list,
                                                    const std::vector<std::string>& known) {
  std::vector<std::string> names = absl::StrSplit(list, ',', absl::SkipEmpty());
  for (const std::string& name : names) {
    if (Contains(known, name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": \"", name, "\" is none; give some of ", absl::StrJoin(known, ",")));
  }
  return names;
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

uint64_t BytesFor(double rate_bit, double seconds) {
  const double bytes = rate_bit * kPayloadShare / 8 * seconds;
  return std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(bytes / kMiB))) * kMiB;
}

absl::Status CheckMemory(uint64_t bytes, size_t blocks) {
  const uint64_t needed = bytes * blocks + 256 * kMiB;
  if (needed <= AvailableMemoryBytes()) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrFormat(
      "%d MiB of memory are needed, %d MiB are available; give fewer --seconds or a lower --rate",
      needed / kMiB, AvailableMemoryBytes() / kMiB));
}

double SteadySeconds() {
  const auto now = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(now.time_since_epoch()).count();
}

void LoadWatch::Finish(Report& report) const {
  const double share = BusyShare(before_, MachineCpu());
  report.beside.push_back({absl::StrCat(name_, ".machine_cpu"), 100 * share, "%"});
  if (share > kBusyDuring) {
    report.doubts.push_back(absl::StrFormat(
        "%s: %.0f %% of the machine were busy: this is the processor's speed, not the network's",
        name_, 100 * share));
  }
}

void DoubtIfBusy(Report& report) {
  ShowProgress("is the machine idle?");
  const CpuTimes before = MachineCpu();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const double share = BusyShare(before, MachineCpu());
  if (share <= kBusyBefore) return;
  report.doubts.push_back(absl::StrFormat(
      "%.0f %% of the machine were busy with something else before the start", 100 * share));
}

absl::StatusOr<std::unique_ptr<Fleet>> StartFleet(const Lab& lab, size_t readers, uint64_t bytes,
                                                  const LabFlags& flags) {
  return Fleet::Start(lab, {.readers = readers,
                            .bytes = bytes,
                            .tensors = flags.tensors,
                            .server_flags = flags.server_flags});
}

Figure CompletionFigure(const std::string& name, double seconds, double stream, double aim) {
  return {.name = name,
          .value = seconds,
          .unit = "s",
          .limit = stream,
          .limit_name = "S/B (plain stream)",
          .better = Better::kLower,
          .aim = aim};
}

void ReportStream(uint64_t bytes, double stream, Report& report) {
  report.beside.push_back({"size", static_cast<double>(bytes) / 1e6, "MB"});
  report.beside.push_back({"stream", static_cast<double>(bytes) * 8e-6 / stream, "Mbit/s"});
}

absl::StatusOr<BroadcastResult> Broadcast(const Lab& lab, Fleet& fleet,
                                          const std::vector<size_t>& readers, uint64_t bytes) {
  if (absl::Status status = fleet.Publish(readers); !status.ok()) return status;
  const absl::StatusOr<double> sent_before = SentByTrainer(lab);
  const absl::StatusOr<std::vector<double>> cpu_before = CpuOf(fleet, readers);
  if (!sent_before.ok()) return sent_before.status();
  if (!cpu_before.ok()) return cpu_before.status();
  BroadcastResult result;
  result.start = SteadySeconds();
  for (const size_t reader : readers) {
    if (absl::Status status = fleet.Begin(reader); !status.ok()) return status;
  }
  for (const size_t reader : readers) {
    const absl::StatusOr<Fleet::Fetched> fetched = fleet.End(reader);
    if (!fetched.ok()) return fetched.status();
    result.seconds = std::max(result.seconds, fetched->end - result.start);
  }
  const absl::StatusOr<std::vector<double>> cpu_after = CpuOf(fleet, readers);
  const absl::StatusOr<double> sent_after = SentByTrainer(lab);
  if (!cpu_after.ok()) return cpu_after.status();
  if (!sent_after.ok()) return sent_after.status();
  for (size_t i = 0; i < readers.size(); ++i) {
    const double percent = 100 * ((*cpu_after)[i] - (*cpu_before)[i]) / result.seconds;
    result.relay_cpu_percent = std::max(result.relay_cpu_percent, percent);
  }
  result.trainer_copies = (*sent_after - *sent_before) / static_cast<double>(bytes);
  if (absl::Status status = fleet.Verify(readers); !status.ok()) return status;
  return result;
}

absl::Status PlotIfWanted(const LabFlags& flags, const std::string& title, const Lab& lab,
                          const Fleet& fleet, const std::vector<size_t>& readers, double start,
                          uint64_t bytes) {
  if (flags.plot.empty()) return absl::OkStatus();
  Plot plot{.title = title, .bytes = static_cast<double>(bytes)};
  plot.sources[fleet.SourceName(0)] = "trainer";
  for (const size_t reader : readers) {
    const std::string& name = lab.built().hosts[reader].name;
    plot.sources[fleet.SourceName(reader)] = name;
    Plot::Line line{.name = name};
    for (const Fleet::Sample& sample : fleet.Timeline(reader)) {
      if (sample.at >= start) {
        line.points.push_back({sample.at - start, sample.bytes, sample.source});
      }
    }
    plot.lines.push_back(std::move(line));
  }
  return WritePlot(plot, flags.plot);
}

}  // namespace tensorhub::bench
