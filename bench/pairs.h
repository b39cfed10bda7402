// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A source and a reader, each in a process of its own: bare, or two agents and a hub. A pair
// stays connected between its rounds, so that rounds of several pairs can be interleaved.

#ifndef TENSORHUB_BENCH_PAIRS_H_
#define TENSORHUB_BENCH_PAIRS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/bare_settings.h"
#include "tools/child/child.h"

namespace tensorhub::bench {

using Environment = std::map<std::string, std::string>;

// Messages against the empty call's: some calls carry two of gRPC's window updates (26 bytes), some
// none, whatever the tensors.
constexpr double kMessageSlack = 1.2;

// Our own server, on a port of its own choice.
class Hub {
 public:
  static absl::StatusOr<std::unique_ptr<Hub>> Start();
  // Starts the hub's process as `place` makes it, with further flags.
  static absl::StatusOr<std::unique_ptr<Hub>> Start(
      const std::function<Child::Options(const Child::Options&)>& place, const std::string& listen,
      const std::vector<std::string>& flags);
  const std::string& address() const { return address_; }
  pid_t pid() const { return process_->pid(); }
  // At once, as a machine dies.
  void Kill() { process_->Kill(); }

 private:
  std::unique_ptr<Child> process_;
  std::string address_;
};

class BarePair {
 public:
  // `role`: "@bare-messages", "@bare-gets" or "@bare-sockets".
  static absl::StatusOr<std::unique_ptr<BarePair>> Start(const std::string& role,
                                                         const BareSettings& settings,
                                                         const Environment& environment);
  // The reader's seconds.
  absl::StatusOr<double> Round();
  // DATA_LOSS if the reader's bytes are not the source's.
  absl::Status Verify();

 private:
  std::unique_ptr<Child> source_;
  std::unique_ptr<Child> reader_;
};

class AgentPair {
 public:
  struct Options {
    std::string name;  // unique in the hub: the model
    std::string server;
    uint64_t bytes = 0;
    uint64_t tensors = 0;
    std::string way = "served";  // what the fetches must turn out to be
    Environment environment = {};
    bool settle = false;  // fetch when the source has come to rest after its publish
    // GPUs whose memory the tensors are in; -1: the host's.
    int source_device = -1;
    int reader_device = -1;
  };
  struct Sample {
    double seconds = 0;  // of Fetch
    double publish_ms = 0;
    double unpublish_ms = 0;
    double publish_bytes = 0;  // that went to the hub during Publish
  };
  struct Usage {
    double growth_bytes = 0;
    double cpu_seconds = 0;
  };

  static absl::StatusOr<std::unique_ptr<AgentPair>> Start(const Options& options);
  // The source publishes the next version, the reader fetches it.
  absl::StatusOr<Sample> Round();
  // Milliseconds by which a publish held up other work of the source's device.
  absl::StatusOr<double> Stall();
  // One more round, into buffers that held something else. DATA_LOSS if bytes differ.
  absl::Status Verify();
  // Usages of the source and the reader.
  absl::StatusOr<std::vector<Usage>> Usages();
  // The way and the transport of the last fetch.
  const std::string& way() const { return way_; }

 private:
  explicit AgentPair(const Options& options) : options_(options) {}
  absl::StatusOr<std::unique_ptr<Child>> StartAgent(bool is_source) const;
  absl::Status Settle();

  const Options options_;
  uint64_t version_ = 0;
  std::string way_;
  std::unique_ptr<Child> source_;
  std::unique_ptr<Child> reader_;
};

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_PAIRS_H_
