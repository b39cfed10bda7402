// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <iostream>
#include <map>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/ctl/progress_bar.h"
#include "tools/ctl/table.h"
#include "tools/ctl/units.h"
#include "tools/demo/notes.h"
#include "tools/demo/roles.h"
#include "tools/safetensors/checkpoint.h"

namespace tensorhub::demo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookInterval{30};

class Report {
 public:
  explicit Report(const Setting& setting) : setting_(setting), notes_(setting.directory) {}

  absl::Status Follow(uint64_t model_bytes) {
    ctl::ProgressBar bar(
        ctl::StderrOptions("all fetches", model_bytes * setting_.rollouts * setting_.versions),
        std::cerr, Clock::now());
    const auto deadline = Clock::now() + setting_.timeout;
    while (!Complete()) {
      if (Clock::now() > deadline) {
        return absl::DeadlineExceededError("the demonstration did not finish in time");
      }
      CollectNew(bar);
      const uint64_t version = 1 + fetches_.size() / (setting_.rollouts * setting_.ranks);
      bar.Update(bytes_, absl::StrCat("version ", std::min(version, setting_.versions)),
                 Clock::now());
      std::this_thread::sleep_for(kLookInterval);
    }
    return absl::OkStatus();
  }

  absl::Status SumUp() const {
    ctl::Table table("rollouts",
                     {{"rollout", "ROLLOUT"},
                      {"versions", "VERSIONS", true},
                      {"mean_seconds", "MEAN TIME", true},
                      {"rate", "MEAN RATE", true},
                      {"sources", "READ FROM"},
                      {"digests", "DIGESTS"}},
                     "");
    size_t good = 0;
    for (uint32_t number = 1; number <= setting_.rollouts; ++number) {
      for (uint32_t rank = 0; rank < setting_.ranks; ++rank) good += AddRow(number, rank, table);
    }
    std::cout << '\n';
    table.Print(ctl::OutputFormat::kTable, std::cout);
    if (good != fetches_.size()) {
      return absl::DataLossError(
          absl::StrCat(fetches_.size() - good, " of ", fetches_.size(), " digests differ"));
    }
    std::cout << "\nall " << good << " digests match" << std::endl;
    return absl::OkStatus();
  }

 private:
  using Key = std::tuple<uint64_t, uint32_t, uint32_t>;  // version, rollout, rank

  bool Complete() const {
    return fetches_.size() == setting_.rollouts * setting_.ranks * setting_.versions;
  }

  void CollectNew(ctl::ProgressBar& bar) {
    for (uint64_t version = 1; version <= setting_.versions; ++version) {
      for (uint32_t number = 1; number <= setting_.rollouts; ++number) {
        for (uint32_t rank = 0; rank < setting_.ranks; ++rank) {
          Collect({version, number, rank}, bar);
        }
      }
    }
  }

  void Collect(const Key& key, ctl::ProgressBar& bar) {
    if (fetches_.contains(key)) return;
    const auto& [version, number, rank] = key;
    const auto note = notes_.ReadFetch(RolloutName(number), rank, version);
    if (!note.ok()) return;  // not yet
    bytes_ += note->bytes;
    bar.Clear();
    Print(*note);
    fetches_[key] = *note;
  }

  static void Print(const FetchNote& note) {
    std::cout << absl::StreamFormat(
                     "  version %d  %s/%d  %9s in %7s  %10s  from %-12s digest %s  (%s)",
                     note.version, note.group, note.rank, ctl::HumanBytes(note.bytes),
                     ctl::HumanSeconds(note.seconds), ctl::HumanRate(note.bytes, note.seconds),
                     note.sources, note.digest_ok ? "ok" : "WRONG", note.way)
              << std::endl;
  }

  // How many digests were right.
  size_t AddRow(uint32_t number, uint32_t rank, ctl::Table& table) const {
    size_t good = 0;
    double seconds = 0;
    uint64_t bytes = 0;
    std::set<std::string> sources;
    for (uint64_t version = 1; version <= setting_.versions; ++version) {
      const FetchNote& note = fetches_.at({version, number, rank});
      good += note.digest_ok ? 1 : 0;
      seconds += note.seconds;
      bytes += note.bytes;
      sources.insert(note.sources);
    }
    const double mean = seconds / static_cast<double>(setting_.versions);
    table.AddRow({ctl::TextCell(absl::StrCat(RolloutName(number), "/", rank)),
                  ctl::NumberCell(setting_.versions), ctl::MixedCell(ctl::HumanSeconds(mean), mean),
                  ctl::MixedCell(ctl::HumanRate(bytes, seconds), nullptr),
                  ctl::TextCell(absl::StrJoin(sources, ", ")),
                  ctl::MixedCell(absl::StrCat(good, " of ", setting_.versions, " ok"), good)});
    return good;
  }

  const Setting& setting_;
  const Notes notes_;
  std::map<Key, FetchNote> fetches_;
  uint64_t bytes_ = 0;
};

}  // namespace

absl::Status RunReport(const Setting& setting) {
  const auto checkpoint =
      safetensors::Checkpoint::Open({setting.checkpoint}, {.companions = false});
  if (!checkpoint.ok()) return checkpoint.status();
  const uint64_t bytes = checkpoint->contents().data_bytes();
  std::cout << checkpoint->contents().tensor_count() << " tensors, " << ctl::HumanBytes(bytes)
            << ", over " << setting.ranks << " ranks; " << setting.versions << " versions to "
            << setting.rollouts << " rollout groups\n"
            << std::endl;
  Report report(setting);
  if (absl::Status status = report.Follow(bytes); !status.ok()) return status;
  return report.SumUp();
}

}  // namespace tensorhub::demo
