// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A scenario: one file that declares its flags and fills a report. main.cc lists them.

#ifndef TENSORHUB_BENCH_SCENARIO_H_
#define TENSORHUB_BENCH_SCENARIO_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "bench/figures.h"
#include "common/cli/flags.h"

namespace tensorhub::bench {

class Scenario {
 public:
  virtual ~Scenario() = default;
  virtual std::string name() const = 0;
  virtual std::string summary() const = 0;
  // Called once, before parsing; the targets are members.
  virtual void AddFlags(cli::Command& command) = 0;
  // INVALID_ARGUMENT: the flags; any other error: something could not be measured.
  virtual absl::Status Run(Report& report) = 0;
};

// One reader and one source on this host, against bare UCX.
std::unique_ptr<Scenario> MakeReadScenario();
// Readers with their tensors on GPUs, against the device's own copies.
std::unique_ptr<Scenario> MakeDeviceScenario();
// One server under the calls of many workers, against empty calls.
std::unique_ptr<Scenario> MakeServerScenario();
// The server is killed and comes back; its workers report what they hold.
std::unique_ptr<Scenario> MakeRecoveryScenario();
// Publish and Unpublish at the caller, against an empty call.
std::unique_ptr<Scenario> MakePublishScenario();
// The hub's choice of a source, without the network, against 20 us.
std::unique_ptr<Scenario> MakeDecisionScenario();
// How one sharding is read from another: the server's check and a reader's plan, against 1 s.
std::unique_ptr<Scenario> MakePlanScenario();
// Shards that are cut otherwise, against those that are cut like the reader's.
std::unique_ptr<Scenario> MakeReshardScenario();

// In a laboratory of shaped links: one trainer to many readers.
std::unique_ptr<Scenario> MakeBroadcastScenario();
// The same with members that come and go.
std::unique_ptr<Scenario> MakeElasticScenario();
// The same over several datacenters.
std::unique_ptr<Scenario> MakeCrossDcScenario();
std::unique_ptr<Scenario> MakeSpreadScenario();
// As reshard, over links.
std::unique_ptr<Scenario> MakeReshardNetScenario();

// For whoever waits at a terminal; nothing if standard error is none.
void ShowProgress(const std::string& text);

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_SCENARIO_H_
