// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tensor parallelism of two ranks reads what FSDP of four ranks holds, over shaped links: two
// groups that ask at the same time, so that of each rank one reads from the publishers, and the
// other one from it. The limit: a plain stream of one rank's bytes over one of the links. Then once
// more, one group, while one of the publishers, of which there are two groups, is killed half-way.

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/lab_runs.h"
#include "bench/relays.h"
#include "bench/scenario.h"
#include "bench/shard_group.h"

namespace tensorhub::bench {
namespace {

constexpr double kRootAim = 1.05;
constexpr double kChainAim = 1.08;
constexpr double kReadOnceAim = 1.06;  // headers of the packets, and what the server says
constexpr double kKilledAimSeconds = 1;
constexpr size_t kTrainerRanks = 4;
constexpr size_t kRolloutRanks = 2;

class ReshardNetScenario : public Scenario {
 public:
  std::string name() const override { return "reshard-net"; }
  std::string summary() const override {
    return "Ranks read shards that are cut otherwise, over links (needs root: network namespaces).";
  }
  void AddFlags(cli::Command& command) override;
  absl::Status Run(Report& report) override;

 private:
  struct Readers {
    std::string name;
    size_t first_host;
    std::unique_ptr<ShardGroup> group;
    std::vector<double> seconds = {};  // by rank
    double all() const { return *std::max_element(seconds.begin(), seconds.end()); }
  };

  absl::Status Start();
  absl::StatusOr<std::unique_ptr<ShardGroup>> StartGroup(const std::string& name, Cut cut,
                                                         size_t ranks, size_t first_host);
  absl::Status MeasureStream(Report& report);
  absl::Status Publish();
  absl::Status Fetch(const std::vector<Readers*>& readers, bool kill);
  absl::Status MeasureGroups(Report& report);
  absl::Status MeasureKilled(Report& report);
  absl::StatusOr<double> Received() const;

  LabFlags flags_;
  std::string shape_ = "dense";
  uint64_t layers_ = 2;
  std::unique_ptr<Lab> lab_;
  std::unique_ptr<Hub> hub_;
  std::vector<std::unique_ptr<ShardGroup>> trainers_;
  Readers some_ = {"rollout0", 2 * kTrainerRanks, {}};
  Readers others_ = {"rollout1", 2 * kTrainerRanks + kRolloutRanks, {}};
  double shard_bytes_ = 0;  // of one reader
  double stream_ = 0;       // seconds
  uint64_t version_ = 0;
};

void ReshardNetScenario::AddFlags(cli::Command& command) {
  flags_.rate = "500mbit";
  command.Flag("rate", &flags_.rate, "of every host's link, e.g. 500mbit", {.placeholder = "RATE"});
  command.Choice(
      "shape", &shape_, {"dense", "row-parallel"},
      "the model's tensors: a transformer's, or only those that are cut along the columns");
  command.Flag("layers", &layers_, "of the model: 126 MB each, and 262 MB of vocabulary, or 84 MB");
  command.Flag("server-flag", &flags_.server_flags,
               "one more flag for tensorhub-server, e.g. --lease=1s", {.placeholder = "FLAG"});
  command.Example("tensorhub-bench reshard-net");
}

absl::StatusOr<std::unique_ptr<ShardGroup>> ReshardNetScenario::StartGroup(const std::string& name,
                                                                           Cut cut, size_t ranks,
                                                                           size_t first_host) {
  ShardGroup::Options options = {
      .server = hub_->address(),
      .model = "model",
      .name = name,
      .cut = cut,
      .ranks = ranks,
      .shape = shape_,
      .layers = layers_,
      // Namespaces share one machine's memory, which hosts do not.
      .environment = {{"UCX_TLS", "tcp,self"}, {"UCX_NET_DEVICES", "eth0"}}};
  for (size_t rank = 0; rank < ranks; ++rank) {
    options.locations.push_back(lab_->built().hosts[first_host + rank].location);
  }
  options.place = [this, first_host](size_t rank, const Child::Options& process) {
    return lab_->On(lab_->built().hosts[first_host + rank], process);
  };
  return ShardGroup::Start(options);
}

absl::Status ReshardNetScenario::Start() {
  ShowProgress("building the laboratory");
  const size_t hosts = 2 * kTrainerRanks + 2 * kRolloutRanks;
  absl::StatusOr<std::unique_ptr<Lab>> lab =
      Lab::Start({"--hosts", absl::StrCat(hosts), "--rate", flags_.rate});
  if (!lab.ok()) return lab.status();
  lab_ = *std::move(lab);
  if (lab_->built().hosts[0].rate_bit <= 0) {
    return absl::InvalidArgumentError("--rate none: give a rate that is lower than the machine's");
  }
  absl::StatusOr<std::unique_ptr<Hub>> hub =
      Hub::Start([this](const Child::Options& process) { return lab_->On(lab_->hub(), process); },
                 absl::StrCat(lab_->hub().address, ":0"), flags_.server_flags);
  if (!hub.ok()) return hub.status();
  hub_ = *std::move(hub);
  for (size_t group = 0; group < 2; ++group) {
    auto trainers = StartGroup(absl::StrCat("trainer", group), Cut::kFsdp, kTrainerRanks,
                               group * kTrainerRanks);
    if (!trainers.ok()) return trainers.status();
    trainers_.push_back(*std::move(trainers));
  }
  for (Readers* readers : {&some_, &others_}) {
    auto group = StartGroup(readers->name, Cut::kTensor, kRolloutRanks, readers->first_host);
    if (!group.ok()) return group.status();
    readers->group = *std::move(group);
  }
  shard_bytes_ = some_.group->bytes() / kRolloutRanks;
  return absl::OkStatus();
}

absl::Status ReshardNetScenario::MeasureStream(Report& report) {
  ShowProgress("a plain stream of one rank's bytes");
  const auto bytes = static_cast<uint64_t>(shard_bytes_);
  const absl::StatusOr<double> stream = PlainStream(*lab_, 0, 1, bytes);
  if (!stream.ok()) return stream.status();
  stream_ = *stream;
  ReportStream(bytes, stream_, report);
  return absl::OkStatus();
}

absl::Status ReshardNetScenario::Publish() {
  ++version_;
  for (Readers* readers : {&some_, &others_}) {
    if (absl::Status status = readers->group->Scrub(); !status.ok()) return status;
  }
  for (const auto& trainers : trainers_) {
    absl::Status status = trainers->Unpublish();
    if (!status.ok()) return status;
  }
  for (const auto& trainers : trainers_) {
    absl::Status status = trainers->Publish(version_);
    if (status.ok()) status = trainers->Settle();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ReshardNetScenario::Fetch(const std::vector<Readers*>& readers, bool kill) {
  const double start = SteadySeconds();
  for (Readers* some : readers) {
    if (absl::Status status = some->group->BeginFetch(version_); !status.ok()) return status;
  }
  if (kill) {
    std::this_thread::sleep_for(std::chrono::duration<double>(stream_ / 2));
    trainers_[0]->Kill(1);
  }
  for (Readers* some : readers) {
    const absl::StatusOr<ShardGroup::Fetched> fetched = some->group->EndFetch();
    if (!fetched.ok()) return fetched.status();
    some->seconds.clear();
    for (const double end : fetched->ends) some->seconds.push_back(end - start);
    if (absl::Status status = some->group->Verify(version_); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Bytes received by all readers.
absl::StatusOr<double> ReshardNetScenario::Received() const {
  const absl::StatusOr<Lab::Status> now = lab_->Now();
  if (!now.ok()) return now.status();
  double bytes = 0;
  for (size_t rank = 0; rank < 2 * kRolloutRanks; ++rank) {
    bytes += now->hosts[some_.first_host + rank].received_bytes;
  }
  return bytes;
}

absl::Status ReshardNetScenario::MeasureGroups(Report& report) {
  if (absl::Status status = Publish(); !status.ok()) return status;
  ShowProgress("two groups at once");
  const LoadWatch load("groups");
  const absl::StatusOr<double> before = Received();
  if (!before.ok()) return before.status();
  if (absl::Status status = Fetch({&some_, &others_}, /*kill=*/false); !status.ok()) return status;
  const absl::StatusOr<double> after = Received();
  if (!after.ok()) return after.status();
  load.Finish(report);
  double root = 0;
  double chain = 0;
  for (size_t rank = 0; rank < kRolloutRanks; ++rank) {
    const auto [first, last] = std::minmax(some_.seconds[rank], others_.seconds[rank]);
    root = std::max(root, first);
    chain = std::max(chain, last);
  }
  report.figures.push_back(CompletionFigure("root.completion", root, stream_, kRootAim));
  report.figures.push_back(CompletionFigure("chain.completion", chain, stream_, kChainAim));
  report.figures.push_back({.name = "received",
                            .value = (*after - *before) / 1e6,
                            .unit = "MB",
                            .limit = 2 * kRolloutRanks * shard_bytes_ / 1e6,
                            .limit_name = "one copy each",
                            .better = Better::kLower,
                            .aim = kReadOnceAim});
  return absl::OkStatus();
}

absl::Status ReshardNetScenario::MeasureKilled(Report& report) {
  if (absl::Status status = Publish(); !status.ok()) return status;
  ShowProgress("one group, all sources live");
  if (absl::Status status = Fetch({&some_}, /*kill=*/false); !status.ok()) return status;
  const double undisturbed = some_.all();
  if (absl::Status status = Publish(); !status.ok()) return status;
  ShowProgress("one group, a source is killed half-way");
  const absl::StatusOr<double> before = Received();
  if (!before.ok()) return before.status();
  if (absl::Status status = Fetch({&some_}, /*kill=*/true); !status.ok()) return status;
  const absl::StatusOr<double> after = Received();
  if (!after.ok()) return after.status();
  report.figures.push_back(
      BoundFigure("killed.extra", some_.all() - undisturbed, "s", kKilledAimSeconds));
  report.beside.push_back({"undisturbed", undisturbed, "s"});
  report.beside.push_back(
      {"killed.received", (*after - *before) / (kRolloutRanks * shard_bytes_), "copies"});
  return absl::OkStatus();
}

absl::Status ReshardNetScenario::Run(Report& report) {
  if (layers_ < 1 || layers_ > 16) return absl::InvalidArgumentError("--layers: give 1 to 16");
  DoubtIfBusy(report);
  // Two groups of publishers and two of readers, and the stream's two ends.
  absl::Status status = CheckMemory((layers_ + 3) * 130'000'000, 5);
  if (status.ok()) status = Start();
  if (status.ok()) status = MeasureStream(report);
  if (status.ok()) status = MeasureGroups(report);
  if (status.ok()) status = MeasureKilled(report);
  return status;
}

}  // namespace

std::unique_ptr<Scenario> MakeReshardNetScenario() {
  return std::make_unique<ReshardNetScenario>();
}

}  // namespace tensorhub::bench
