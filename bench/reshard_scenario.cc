// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Two ranks of tensor parallelism read what a group with another cut holds, on one host. Beside it
// stands what they would take from a group that is cut like themselves, in rounds that take turns:
// the limit.

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/lab_runs.h"
#include "bench/pairs.h"
#include "bench/process_facts.h"
#include "bench/scenario.h"
#include "bench/shard_group.h"
#include "bench/tensors.h"

namespace tensorhub::bench {
namespace {

constexpr size_t kReshardRanks = 2;
constexpr int kReshardWarmUps = 1;
constexpr double kReshardAim = 0.8;
constexpr double kShortRunsAim = 0.7;

// One case: whose shards are read, of what, and by which path.
struct ReshardCase {
  std::string name;
  std::string shape;
  Cut cut;
  size_t ranks;
  std::string path;  // one-sided: shared memory that the sources share; shm, tcp: sent
  double aim;
};

std::vector<ReshardCase> Cases() {
  std::vector<ReshardCase> cases;
  for (const char* path : {"one-sided", "shm", "tcp"}) {
    cases.push_back({"fsdp8-tp2", "dense", Cut::kFsdp, 8, path, kReshardAim});
    cases.push_back({"tp4-tp2", "dense", Cut::kTensor, 4, path, kReshardAim});
    cases.push_back({"row-parallel", "row-parallel", Cut::kFsdp, 4, path, kShortRunsAim});
  }
  return cases;
}

// What one core copies of runs that lie twice as far apart at their source: GB/s.
double CopyRate(std::byte* to, const std::byte* from, size_t bytes, size_t run) {
  std::vector<double> rates;
  for (int round = 0; round < 5; ++round) {
    const double start = SteadySeconds();
    for (size_t i = 0; i < bytes / run; ++i) std::memcpy(to + i * run, from + 2 * i * run, run);
    rates.push_back(static_cast<double>(bytes) / 1e9 / (SteadySeconds() - start));
  }
  return Median(rates);
}

absl::Status ReportCopies(Report& report) {
  constexpr size_t kCopied = 128 << 20;
  const auto from = MemoryBlock::Make(2 * kCopied);
  const auto to = MemoryBlock::Make(kCopied);
  if (!from.ok()) return from.status();
  if (!to.ok()) return to.status();
  for (const size_t run : {size_t{2} << 10, size_t{8} << 10, kCopied / 2}) {
    const double rate = CopyRate((*to)->data(), (*from)->data(), kCopied, run);
    report.beside.push_back({absl::StrCat("copy.runs.", run >> 10, "k"), rate, "GB/s, one core"});
  }
  return absl::OkStatus();
}

class ReshardScenario : public Scenario {
 public:
  std::string name() const override { return "reshard"; }
  std::string summary() const override {
    return "Two ranks read shards that are cut otherwise, on one host.";
  }
  void AddFlags(cli::Command& command) override;
  absl::Status Run(Report& report) override;

 private:
  // Publishers, and readers of theirs.
  struct Side {
    std::unique_ptr<ShardGroup> publishers;
    std::unique_ptr<ShardGroup> readers;
    std::vector<double> seconds;
    std::string way;
    size_t sources = 0;
  };

  absl::Status CheckFlags();
  absl::Status RunCase(const ReshardCase& what, Report& report);
  absl::StatusOr<Side> StartSide(const ReshardCase& what, Cut cut, size_t ranks,
                                 const std::string& model) const;
  absl::Status Round(Side& side, uint64_t version, bool counts) const;

  std::string cases_ = "fsdp8-tp2,tp4-tp2,row-parallel";
  std::string paths_ = "one-sided,shm,tcp";
  uint64_t layers_ = 4;
  int rounds_ = 5;
  bool digests_ = false;
  std::unique_ptr<Hub> hub_;
};

void ReshardScenario::AddFlags(cli::Command& command) {
  command.Flag("cases", &cases_, "which, of fsdp8-tp2, tp4-tp2, row-parallel");
  command.Flag("paths", &paths_,
               "by which, of one-sided (the sources share their memory), shm, tcp");
  command.Flag("layers", &layers_, "of the model");
  command.Flag("rounds", &rounds_, "rounds that count, of each kind");
  command.Flag("digests", &digests_,
               "make digests: those of another cut the readers have to make, on the same cores");
  command.Example("tensorhub-bench reshard");
  command.Example("tensorhub-bench reshard --cases row-parallel --paths tcp --rounds 9");
}

absl::Status ReshardScenario::CheckFlags() {
  if (rounds_ < 1) return absl::InvalidArgumentError("--rounds: give 1 or more");
  if (layers_ < 1 || layers_ > 64) return absl::InvalidArgumentError("--layers: give 1 to 64");
  // Publishers and readers, of each side; a layer takes 126 MB, the vocabulary two of them.
  return CheckMemory((layers_ + 3) * 130'000'000, 4);
}

absl::StatusOr<ReshardScenario::Side> ReshardScenario::StartSide(const ReshardCase& what, Cut cut,
                                                                 size_t ranks,
                                                                 const std::string& model) const {
  ShardGroup::Options options = {.server = hub_->address(),
                                 .model = model,
                                 .name = model + "-trainer",
                                 .cut = cut,
                                 .ranks = ranks,
                                 .shape = what.shape,
                                 .layers = layers_,
                                 .allocate = what.path == "one-sided",
                                 .environment = {{"UCX_TLS", what.path == "tcp" ? "tcp,self" : ""},
                                                 {"TENSORHUB_DIGESTS", digests_ ? "" : "off"}}};
  Side side;
  absl::StatusOr<std::unique_ptr<ShardGroup>> publishers = ShardGroup::Start(options);
  if (!publishers.ok()) return publishers.status();
  side.publishers = *std::move(publishers);
  options.name = model + "-rollout";
  options.cut = Cut::kTensor;
  options.ranks = kReshardRanks;
  absl::StatusOr<std::unique_ptr<ShardGroup>> readers = ShardGroup::Start(options);
  if (!readers.ok()) return readers.status();
  side.readers = *std::move(readers);
  return side;
}

absl::Status ReshardScenario::Round(Side& side, uint64_t version, bool counts) const {
  absl::Status status = side.readers->Scrub();
  if (status.ok()) status = side.publishers->Unpublish();
  if (status.ok()) status = side.publishers->Publish(version);
  if (status.ok()) status = side.publishers->Settle();
  if (!status.ok()) return status;
  const double start = SteadySeconds();
  if (status = side.readers->BeginFetch(version); !status.ok()) return status;
  const absl::StatusOr<ShardGroup::Fetched> fetched = side.readers->EndFetch();
  if (!fetched.ok()) return fetched.status();
  if (fetched->bytes_read != side.readers->bytes()) {
    return absl::InternalError("the fetches did not read each byte once");
  }
  side.way = fetched->way;
  side.sources = fetched->sources;
  if (counts) side.seconds.push_back(fetched->end() - start);
  return side.readers->Verify(version);
}

absl::Status ReshardScenario::RunCase(const ReshardCase& what, Report& report) {
  const std::string name = absl::StrCat(what.name, ".", what.path);
  absl::StatusOr<Side> other = StartSide(what, what.cut, what.ranks, name + "-other");
  if (!other.ok()) return other.status();
  absl::StatusOr<Side> same = StartSide(what, Cut::kTensor, kReshardRanks, name + "-same");
  if (!same.ok()) return same.status();
  for (int round = 0; round < kReshardWarmUps + rounds_; ++round) {
    ShowProgress(absl::StrCat(name, ": round ", round + 1, " of ", kReshardWarmUps + rounds_));
    const auto version = static_cast<uint64_t>(round) + 1;
    for (Side* side : {&*other, &*same}) {
      absl::Status status = Round(*side, version, round >= kReshardWarmUps);
      if (!status.ok()) return status;
    }
  }
  // A ratio of each round, since what disturbs one side of it disturbs the other.
  std::vector<double> ratios;
  for (size_t i = 0; i < other->seconds.size(); ++i) {
    ratios.push_back(same->seconds[i] / other->seconds[i]);
  }
  const double limit = other->readers->bytes() / 1e9 / Median(same->seconds);
  report.figures.push_back({.name = name + ".rate",
                            .value = limit * Median(ratios),
                            .unit = "GB/s",
                            .limit = limit,
                            .limit_name = "same layout",
                            .better = Better::kHigher,
                            .aim = what.aim});
  report.beside.push_back(
      {name + ".sources", static_cast<double>(other->sources), "of rank 0, by " + other->way});
  report.beside.push_back({name + ".same", Median(same->seconds), "s by " + same->way});
  return absl::OkStatus();
}

absl::Status ReshardScenario::Run(Report& report) {
  if (absl::Status status = CheckFlags(); !status.ok()) return status;
  const auto cases = ParseNames("--cases", cases_, {"fsdp8-tp2", "tp4-tp2", "row-parallel"});
  const auto paths = ParseNames("--paths", paths_, {"one-sided", "shm", "tcp"});
  if (!cases.ok()) return cases.status();
  if (!paths.ok()) return paths.status();
  DoubtIfBusy(report);
  if (absl::Status status = ReportCopies(report); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<Hub>> hub = Hub::Start();
  if (!hub.ok()) return hub.status();
  hub_ = *std::move(hub);
  for (const ReshardCase& what : Cases()) {
    if (!Contains(*cases, what.name) || !Contains(*paths, what.path)) continue;
    if (absl::Status status = RunCase(what, report); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Scenario> MakeReshardScenario() { return std::make_unique<ReshardScenario>(); }

}  // namespace tensorhub::bench
