// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// TensorHub in a laboratory: a tensorhub-server on the host `hub`, a trainer on the first host and
// a reader on each of the next ones, each a process of its own (agent_role.h), over TCP only.

#ifndef TENSORHUB_BENCH_FLEET_H_
#define TENSORHUB_BENCH_FLEET_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/lab.h"
#include "bench/pairs.h"
#include "bench/temp_folder.h"
#include "tools/child/child.h"

namespace tensorhub::bench {

class Fleet {
 public:
  struct Options {
    size_t readers = 0;
    uint64_t bytes = 0;
    uint64_t tensors = 300;
    std::vector<std::string> server_flags = {};
  };
  struct Fetched {
    double seconds = 0;  // of Fetch
    double end = 0;      // on the machine's steady clock
    std::string sources;
  };
  // What a reader had at a moment, and from whom it was reading.
  struct Sample {
    double at = 0;
    double bytes = 0;
    std::string source;  // "-": none
  };

  static absl::StatusOr<std::unique_ptr<Fleet>> Start(const Lab& lab, const Options& options);
  ~Fleet();

  // A new version at the trainer (worker 0); other bytes in the buffers of the readers.
  absl::Status Publish(const std::vector<size_t>& readers);
  absl::Status Begin(size_t reader);
  absl::StatusOr<Fetched> End(size_t reader);
  // Milliseconds.
  absl::StatusOr<double> Unpublish(size_t worker);
  // From the worker to the hub and back, under whatever goes on: the median of empty calls.
  absl::StatusOr<double> RoundTripMs(size_t worker);
  // DATA_LOSS names the first whose bytes are not the trainer's.
  absl::Status Verify(const std::vector<size_t>& readers);
  absl::StatusOr<double> CpuSeconds(size_t worker);
  void Kill(size_t worker);
  void KillHub();
  // Again, at the same address and with what it had kept.
  absl::Status RestartHub();
  // In order: unpublishes and says goodbye.
  void Leave(size_t worker);
  // Another process, after Kill or Leave, in a group of its own.
  absl::Status Restart(size_t worker);

  // What the worker noted of its fetches, oldest first.
  std::vector<Sample> Timeline(size_t worker) const;
  // "GROUP/0", as sources are named.
  std::string SourceName(size_t worker) const;
  std::vector<size_t> Readers() const;

 private:
  Fleet(const Lab& lab, const Options& options) : lab_(lab), options_(options) {}
  absl::Status StartAll();
  absl::Status StartHub(const std::string& listen);
  absl::Status StartWorker(size_t worker);
  absl::Status Ready(size_t worker);
  std::filesystem::path TimelineFile(size_t worker) const;

  const Lab& lab_;
  const Options options_;
  TempFolder folder_;  // outlives those who write to it
  std::unique_ptr<Hub> hub_;
  std::vector<std::unique_ptr<Child>> workers_;
  std::vector<std::string> groups_;
  int started_ = 0;
  uint64_t version_ = 0;
};

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_FLEET_H_
