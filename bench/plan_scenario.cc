// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// `plan`: what it takes to see how a group reads from one that is cut in another way. `check` is
// the server's question, when a group joins, for all its ranks; `plan` is one reader's. Both begin
// with decoded layouts; `take` is a part of them, the time in which the source's become a sharding.
// What other calls wait meanwhile at the server. And what the server keeps of a large group's
// layouts, as they came and as a sharding.

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/clock.h"
#include "bench/model_shardings.h"
#include "bench/planning_server.h"
#include "bench/process_facts.h"
#include "bench/scenario.h"
#include "common/layout.h"
#include "common/read_plan.h"
#include "common/sharding.h"
#include "server/core/hub.h"

namespace tensorhub::bench {
namespace {

constexpr double kBoundSeconds = 1;
constexpr double kOthersWaitSeconds = 0.02;
constexpr double kBytesPerMiB = 1 << 20;
// What the server keeps of layouts, of all groups together.
constexpr double kKeptMiBMax = static_cast<double>(hub::HubLimits().layouts.bytes) / kBytesPerMiB;

// How a model is cut.
struct Group {
  Cut cut = Cut::kFsdp;
  uint64_t ranks = 1;
  std::string name() const { return absl::StrCat(ToString(cut), "-", ranks); }
};

struct Case {
  std::string model;
  ModelSizes sizes;
  Group source, reader;
};

struct TimedSharding {
  Sharding sharding;
  double seconds = 0;
};

// Takes all ranks, or those given. One layout at a time, as they arrive: a large group's together
// would take gigabytes.
absl::StatusOr<TimedSharding> Take(const Model& model, const Group& group,
                                   const std::set<Rank>* ranks = nullptr) {
  ShardingBuilder builder(static_cast<uint32_t>(group.ranks));
  double seconds = 0;
  for (uint64_t rank = 0; rank < group.ranks; ++rank) {
    if (ranks != nullptr && !ranks->contains(static_cast<Rank>(rank))) continue;
    const Layout layout = LayoutOfRank(model, group.cut, group.ranks, rank);
    const Clock::time_point start = Clock::now();
    builder.Add(static_cast<Rank>(rank), layout);
    seconds += SecondsSince(start);
  }
  const Clock::time_point start = Clock::now();
  absl::StatusOr<Sharding> sharding = std::move(builder).Build();
  if (!sharding.ok()) return sharding.status();
  return TimedSharding{*std::move(sharding), seconds + SecondsSince(start)};
}

Layouts LayoutsOf(const Model& model, const Group& group) {
  Layouts layouts;
  for (uint64_t rank = 0; rank < group.ranks; ++rank) {
    layouts.push_back(
        std::make_shared<const Layout>(LayoutOfRank(model, group.cut, group.ranks, rank)));
  }
  return layouts;
}

class PlanScenario : public Scenario {
 public:
  std::string name() const override { return "plan"; }
  std::string summary() const override {
    return "What it takes to see how one sharding is read from another.";
  }
  void AddFlags(cli::Command& command) override {
    command.Flag("rounds", &rounds_, "how often each is timed; the median counts");
    command.Flag("tensors", &tensors_, "of the model with many tensors");
    command.Flag("fsdp-ranks", &fsdp_ranks_, "of the largest group whose layouts are kept");
    command.Flag("quick", &quick_, "small models and groups: does it work at all?");
    command.Example("tensorhub-bench plan");
    command.Example("tensorhub-bench plan --rounds 5 -o json");
  }
  absl::Status Run(Report& report) override;

 private:
  struct Setup {
    std::string name;
    Model model;
    Group source;
    TimedSharding reader;
  };

  absl::Status Measure(const Case& measured, Report& report) const;
  absl::StatusOr<std::set<Rank>> MeasureCheck(const Setup& setup, Report& report) const;
  absl::Status MeasurePlan(const Setup& setup, const std::set<Rank>& needed, Report& report) const;
  absl::Status MeasureOthers(Report& report) const;
  absl::Status MeasureKept(Report& report) const;
  absl::Status MeasureLayouts(Report& report) const;
  std::vector<Case> Cases() const;
  ModelSizes Moe() const;

  uint32_t rounds_ = 3;
  uint64_t tensors_ = 20'000;
  uint32_t fsdp_ranks_ = 512;
  bool quick_ = false;
};

ModelSizes PlanScenario::Moe() const {
  ModelSizes sizes = Qwen3Moe235B();
  if (quick_) sizes.layers = 2;
  return sizes;
}

std::vector<Case> PlanScenario::Cases() const {
  return {{"70b", Llama70B(), {Cut::kFsdp, 8}, {Cut::kTensor, 2}},
          {"70b", Llama70B(), {Cut::kTensor, 8}, {Cut::kTensor, 2}},
          {absl::StrCat("tensors-", tensors_),
           ManyTensors(tensors_),
           {Cut::kFsdp, 64},
           {Cut::kTensor, 8}},
          {"moe", Moe(), {Cut::kFsdp, 64}, {Cut::kTensor, 2}},
          {"moe", Moe(), {Cut::kFsdp, 64}, {Cut::kTensorAndExpert, 8}}};
}

// The server's part. Gives the source ranks that reader rank 0 needs.
absl::StatusOr<std::set<Rank>> PlanScenario::MeasureCheck(const Setup& setup,
                                                          Report& report) const {
  const absl::StatusOr<TimedSharding> source = Take(setup.model, setup.source);
  if (!source.ok()) return source.status();
  std::vector<double> seconds;
  std::set<Rank> needed;
  for (uint32_t round = 0; round < rounds_; ++round) {
    const Clock::time_point start = Clock::now();
    const absl::StatusOr<Coverage> coverage = CheckCover(source->sharding, setup.reader.sharding);
    seconds.push_back(SecondsSince(start));
    if (!coverage.ok()) return coverage.status();
    for (const ReadNeed& need : coverage->needs[0]) {
      needed.insert(source->sharding.shards()[need.shard].ranks.front());
    }
  }
  report.figures.push_back(BoundFigure(setup.name + ".check",
                                       Median(seconds) + setup.reader.seconds, "s", kBoundSeconds));
  report.beside.push_back({setup.name + ".publish", source->seconds, "s"});
  return needed;
}

// A reader's part.
absl::Status PlanScenario::MeasurePlan(const Setup& setup, const std::set<Rank>& needed,
                                       Report& report) const {
  const absl::StatusOr<TimedSharding> source = Take(setup.model, setup.source, &needed);
  if (!source.ok()) return source.status();
  std::vector<double> seconds;
  double items = 0;
  for (uint32_t round = 0; round < rounds_; ++round) {
    const Clock::time_point start = Clock::now();
    const absl::StatusOr<ReadPlan> plan = PlanRead(source->sharding, setup.reader.sharding, 0);
    seconds.push_back(SecondsSince(start));
    if (!plan.ok()) return plan.status();
    items = static_cast<double>(plan->items);
  }
  report.figures.push_back(
      BoundFigure(setup.name + ".plan", Median(seconds) + source->seconds, "s", kBoundSeconds));
  report.beside.push_back({setup.name + ".streams", static_cast<double>(needed.size()), ""});
  report.beside.push_back({setup.name + ".items", items, ""});
  return absl::OkStatus();
}

absl::Status PlanScenario::Measure(const Case& measured, Report& report) const {
  Setup setup;
  setup.name =
      absl::StrCat(measured.model, ".", measured.source.name(), ".", measured.reader.name());
  ShowProgress(setup.name);
  setup.model = MakeModel(measured.sizes);
  setup.source = measured.source;
  absl::StatusOr<TimedSharding> reader = Take(setup.model, measured.reader);
  if (!reader.ok()) return reader.status();
  setup.reader = *std::move(reader);
  const absl::StatusOr<std::set<Rank>> needed = MeasureCheck(setup, report);
  if (!needed.ok()) return needed.status();
  return MeasurePlan(setup, *needed, report);
}

// Groups of several sizes ask, so that each of them is planned for.
absl::Status PlanScenario::MeasureOthers(Report& report) const {
  const Group source = {Cut::kFsdp, 64};
  const std::string name = absl::StrCat("tensors-", tensors_, ".", source.name(), ".others");
  ShowProgress(name);
  const Model model = MakeModel(ManyTensors(tensors_));
  PlanningServer server;
  if (absl::Status status = server.Publish(LayoutsOf(model, source)); !status.ok()) return status;
  std::vector<double> waits;
  double seconds = 0;
  for (const uint64_t ranks : {1, 2, 4, 8}) {
    const Group reader = {Cut::kTensor, ranks};
    const auto meanwhile = server.Join(reader.name(), LayoutsOf(model, reader));
    if (!meanwhile.ok()) return meanwhile.status();
    waits.insert(waits.end(), meanwhile->waits.begin(), meanwhile->waits.end());
    seconds += meanwhile->seconds;
  }
  report.figures.push_back(
      BoundFigure(name + ".p99", Percentile(waits, 0.99), "s", kOthersWaitSeconds));
  report.beside.push_back({name + ".calls", static_cast<double>(waits.size()), ""});
  report.beside.push_back({name + ".planning", seconds, "s"});
  return absl::OkStatus();
}

absl::Status PlanScenario::MeasureKept(Report& report) const {
  const Group group = {Cut::kFsdp, fsdp_ranks_};
  ShowProgress(absl::StrCat("moe.", group.name()));
  const absl::StatusOr<TimedSharding> taken = Take(MakeModel(Moe()), group);
  if (!taken.ok()) return taken.status();
  const double kept = static_cast<double>(taken->sharding.BytesKept()) / kBytesPerMiB;
  report.figures.push_back(
      BoundFigure(absl::StrCat("moe.", group.name(), ".kept"), kept, "MiB", kKeptMiBMax));
  report.beside.push_back({absl::StrCat("moe.", group.name(), ".publish"), taken->seconds, "s"});
  return absl::OkStatus();
}

// As the server takes them in: decoded, and then kept with a table that they share. Each table is
// counted once, as there.
absl::Status PlanScenario::MeasureLayouts(Report& report) const {
  const Group group = {Cut::kFsdp, fsdp_ranks_};
  const std::string name = absl::StrCat("moe.", group.name(), ".layouts");
  ShowProgress(name);
  const Model model = MakeModel(Moe());
  std::map<Fingerprint, std::shared_ptr<const TensorTable>> tables;
  std::vector<Layout> layouts;
  uint64_t wire = 0, kept = 0;
  double seconds = 0;
  const uint64_t resident = ResidentBytes();
  for (uint64_t rank = 0; rank < group.ranks; ++rank) {
    const std::string encoded = LayoutOfRank(model, group.cut, group.ranks, rank).Encode();
    const Clock::time_point start = Clock::now();
    absl::StatusOr<Layout> layout = Layout::Decode(encoded);
    if (!layout.ok()) return layout.status();
    const auto [table, is_new] = tables.emplace(layout->table()->fingerprint(), layout->table());
    layout->ShareTable(table->second);
    layouts.push_back(*std::move(layout));
    seconds += SecondsSince(start);
    wire += encoded.size();
    kept += layouts.back().BytesKept() + (is_new ? table->second->BytesKept() : 0);
  }
  const double grown = static_cast<double>(ResidentBytes()) - static_cast<double>(resident);
  report.figures.push_back(
      BoundFigure(name + ".kept", static_cast<double>(kept) / kBytesPerMiB, "MiB", kKeptMiBMax));
  report.beside.push_back({name + ".wire", static_cast<double>(wire) / kBytesPerMiB, "MiB"});
  report.beside.push_back({name + ".resident", grown / kBytesPerMiB, "MiB"});
  report.beside.push_back({name + ".take-in", seconds, "s"});
  return absl::OkStatus();
}

absl::Status PlanScenario::Run(Report& report) {
  if (rounds_ < 1 || tensors_ < 1 || fsdp_ranks_ < 1 || fsdp_ranks_ > kWorldSizeMax) {
    return absl::InvalidArgumentError("at least 1 round, 1 tensor and 1 rank are measured");
  }
  if (quick_) {
    rounds_ = 1;
    tensors_ = std::min<uint64_t>(tensors_, 500);
    fsdp_ranks_ = std::min(fsdp_ranks_, 16u);
  }
  for (const Case& measured : Cases()) {
    if (absl::Status status = Measure(measured, report); !status.ok()) return status;
  }
  if (absl::Status status = MeasureOthers(report); !status.ok()) return status;
  if (absl::Status status = MeasureLayouts(report); !status.ok()) return status;
  return MeasureKept(report);
}

}  // namespace

std::unique_ptr<Scenario> MakePlanScenario() { return std::make_unique<PlanScenario>(); }

}  // namespace tensorhub::bench
