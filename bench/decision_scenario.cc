// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// `decision`: what one decision of the hub costs, without gRPC. Several models, each with as many
// readers in one version, all of them reading at once; every worker holds one reference. One model
// is one chain through all its readers, the others lie in racks. Measured are whole events: a
// reader that begins, one in the middle that complains, one in the middle that leaves. And looks:
// how long the hub's thread is held by one request of the server's page (server/http).

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/decision_world.h"
#include "bench/scenario.h"

namespace tensorhub::bench {
namespace {

constexpr double kBoundUs = 20;
constexpr size_t kSamples = 1000;
constexpr size_t kLooks = 21;
constexpr TimeMs kLookAt = 2000;

void Add(Report& report, const std::string& name, const std::vector<double>& us) {
  report.figures.push_back(BoundFigure(absl::StrCat(name, ".median"), Median(us), "us", kBoundUs));
  report.figures.push_back(
      BoundFigure(absl::StrCat(name, ".p99"), Percentile(us, 0.99), "us", kBoundUs));
  report.beside.push_back({absl::StrCat(name, ".max"), Percentile(us, 1), "us"});
}

// The median of a few, in milliseconds.
template <typename View>
void AddLook(Report& report, const std::string& name, View view) {
  std::vector<double> ms;
  for (size_t i = 0; i < kLooks; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    view();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    ms.push_back(took.count());
  }
  report.beside.push_back({absl::StrCat("look.", name), Median(ms), "ms"});
}

// With the limits that the page has.
void AddLooks(const hub::Hub& hub, Report& report) {
  using Which = hub::WorkerQuery::Which;
  AddLook(report, "status", [&] { return std::make_pair(hub.Fleet(kLookAt), hub.Status()); });
  AddLook(report, "models", [&] { return hub.Models("", 13); });
  AddLook(report, "versions", [&] { return hub.Versions("chain"); });
  AddLook(report, "replication", [&] { return hub.Replication("chain", 1, 60, kLookAt); });
  AddLook(report, "replication of 1000",
          [&] { return hub.Replication("chain", 1, 1000, kLookAt); });
  AddLook(report, "workers", [&] { return hub.Workers({Which::kAll, "", {}, 51}, kLookAt); });
  AddLook(report, "workers that stand still", [&] {
    return hub.Workers({Which::kStalled, "", {}, 51}, kLookAt);
  });
  AddLook(report, "all workers", [&] { return hub.Workers(kLookAt); });
}

class DecisionScenario : public Scenario {
 public:
  std::string name() const override { return "decision"; }
  std::string summary() const override {
    return "What a choice of a source costs the server, without the network.";
  }
  void AddFlags(cli::Command& command) override {
    command.Flag("readers", &readers_, "readers of each model");
    command.Flag("models", &models_, "models, each with so many readers");
    command.Example("tensorhub-bench decision");
  }
  absl::Status Run(Report& report) override;

 private:
  void Measure(DecisionWorld& world, const std::string& model, const std::string& name,
               Report& report) const;

  uint32_t readers_ = 10'000;
  uint32_t models_ = 5;
};

void DecisionScenario::Measure(DecisionWorld& world, const std::string& model,
                               const std::string& name, Report& report) const {
  world.SpreadProgress(model);
  std::vector<double> complain_us, leave_us;
  for (size_t i = 0; i < kSamples; ++i) complain_us.push_back(world.ComplainUs(model));
  for (size_t i = 0; i < std::min<size_t>(kSamples, readers_ / 4); ++i) {
    leave_us.push_back(world.LeaveUs(model));
  }
  Add(report, name + ".complain", complain_us);
  Add(report, name + ".leave", leave_us);
}

absl::Status DecisionScenario::Run(Report& report) {
  if (readers_ < 100 || models_ < 2) {
    return absl::InvalidArgumentError("at least 100 readers and 2 models are measured");
  }
  DecisionWorld world;
  std::vector<double> chain_us, racks_us;
  for (uint32_t i = 1; i < models_; ++i) {
    ShowProgress(absl::StrCat("model ", i, " of ", models_));
    racks_us.clear();  // the last one has all the others beside it
    world.AddModel(absl::StrCat("model", i), readers_, Lie::kRacks, racks_us);
  }
  world.AddModel("chain", readers_, Lie::kFlat, chain_us);
  report.beside.push_back({"references", static_cast<double>(world.references()), ""});
  report.beside.push_back({"readers of a version", static_cast<double>(readers_), ""});
  Add(report, "chain.begin", chain_us);
  Add(report, "racks.begin", racks_us);
  AddLooks(world.hub(), report);
  Measure(world, "chain", "chain", report);
  Measure(world, absl::StrCat("model", models_ - 1), "racks", report);
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Scenario> MakeDecisionScenario() { return std::make_unique<DecisionScenario>(); }

}  // namespace tensorhub::bench
