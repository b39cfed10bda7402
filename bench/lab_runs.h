// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the scenarios in a laboratory have in common: flags, sizes that fit the rate, one broadcast,
// and whether the machine was fast enough for the laboratory to be what is measured.

#ifndef TENSORHUB_BENCH_LAB_RUNS_H_
#define TENSORHUB_BENCH_LAB_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/figures.h"
#include "bench/fleet.h"
#include "bench/lab.h"
#include "bench/process_facts.h"
#include "common/cli/flags.h"

namespace tensorhub::bench {

// The part of a rate that a TCP stream's payload gets (1448 of 1514 bytes).
inline constexpr double kPayloadShare = 1448.0 / 1514.0;

struct LabFlags {
  std::string rate;    // "500mbit"; empty: chosen by the scenario
  double seconds = 0;  // how long the shard takes at that rate; 0: chosen by the scenario
  uint64_t tensors = 300;
  std::vector<std::string> server_flags;
  std::string plot;

  void Declare(cli::Command& command);
};

// The names in a comma-separated flag, e.g. "--strategies". INVALID_ARGUMENT names the first that
// is not known.
absl::StatusOr<std::vector<std::string>> ParseNames(const std::string& flag,
                                                    const std::string& list,
                                                    const std::vector<std::string>& known);
bool Contains(const std::vector<std::string>& names, const std::string& name);

// What takes `seconds` at `rate_bit`, in whole MiB.
uint64_t BytesFor(double rate_bit, double seconds);
// RESOURCE_EXHAUSTED if that many blocks do not fit into memory.
absl::Status CheckMemory(uint64_t bytes, size_t blocks);

double SteadySeconds();

// The machine's load from its making on; a share that leaves the rates in doubt goes into the
// report.
class LoadWatch {
 public:
  explicit LoadWatch(std::string name) : name_(std::move(name)), before_(MachineCpu()) {}
  // Adds `NAME.machine_cpu` in percent of all cores.
  void Finish(Report& report) const;

 private:
  const std::string name_;
  const CpuTimes before_;
};

// A second of doing nothing: whatever is busy then is none of ours.
void DoubtIfBusy(Report& report);

// TensorHub with that many readers, as the flags want it.
absl::StatusOr<std::unique_ptr<Fleet>> StartFleet(const Lab& lab, size_t readers, uint64_t bytes,
                                                  const LabFlags& flags);

// Against `stream`, the seconds of a plain stream of the same bytes.
Figure CompletionFigure(const std::string& name, double seconds, double stream, double aim);
// The size, and the rate of the plain stream.
void ReportStream(uint64_t bytes, double stream, Report& report);

struct BroadcastResult {
  double start = 0;
  double seconds = 0;            // until the last reader had all
  double trainer_copies = 0;     // what left the trainer, over the size
  double relay_cpu_percent = 0;  // of one core: the busiest reader's process
};

// A new version to these readers at once; every byte is verified.
absl::StatusOr<BroadcastResult> Broadcast(const Lab& lab, Fleet& fleet,
                                          const std::vector<size_t>& readers, uint64_t bytes);

// The progress of these readers since `start` as a picture, if the flags name a file.
absl::Status PlotIfWanted(const LabFlags& flags, const std::string& title, const Lab& lab,
                          const Fleet& fleet, const std::vector<size_t>& readers, double start,
                          uint64_t bytes);

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_LAB_RUNS_H_
