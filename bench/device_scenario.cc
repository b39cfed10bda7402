// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tensors in the memory of GPUs. Two pairs of agents (few large tensors, many small ones) and the
// device's own copy of the same bytes take turns, so that a noisy minute hits all of them; then
// copies for retention and digests, beside the bus and the memory.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/device_yardsticks.h"
#include "bench/digest_cost.h"
#include "bench/kept_copy.h"
#include "bench/pairs.h"
#include "bench/scenario.h"

namespace tensorhub::bench {
namespace {

constexpr int kWarmUpRounds = 2;
constexpr double kReadAim = 0.90;
constexpr double kSmallAim = 1.2;
constexpr double kHostCopyAim = 0.90;
constexpr double kDigestAim = 0.80;
constexpr double kDigestedReadAim = 0.95;
constexpr double kStallMs = 1;
// A source and a reader of each of two pairs, and what the limit copies.
constexpr uint64_t kBlocksAtOnce = 6;
constexpr uint64_t kContextBytes = uint64_t{2} << 30;
constexpr uint64_t kMostBytes = uint64_t{20} << 30;

// Where the source is, and where the reader.
struct Path {
  std::string name;
  int source = 0;
  int reader = 0;
};

class DeviceScenario : public Scenario {
 public:
  std::string name() const override { return "device"; }
  std::string summary() const override {
    return "Readers with their tensors on GPUs, against the device's own copies.";
  }
  void AddFlags(cli::Command& command) override;
  absl::Status Run(Report& report) override;

 private:
  struct Pairs {
    std::unique_ptr<AgentPair> few;
    std::unique_ptr<AgentPair> many;
  };
  struct Times {  // seconds
    std::vector<double> copy;
    std::vector<double> few;
    std::vector<double> many;
  };

  absl::Status CheckFlags();
  absl::Status CheckTensors() const;
  // Chooses the version's size, unless it was given; in any case there is room for it.
  absl::Status ChooseSize();
  absl::StatusOr<std::vector<Path>> Paths() const;
  double GBps(double seconds) const { return static_cast<double>(bytes_.value) / 1e9 / seconds; }
  AgentPair::Options PairOptions(const std::string& name, const Hub& hub, const Path& path,
                                 uint64_t tensors) const;
  absl::StatusOr<Pairs> StartPairs(const Hub& hub, const Path& path) const;
  absl::Status MeasureReads(const Hub& hub, const Path& path, Report& report);
  absl::Status RunRounds(const Path& path, Pairs& pairs, DeviceYardsticks& yardsticks,
                         Times& times) const;
  absl::Status MeasureStall(const Hub& hub, const Path& path, Report& report) const;
  absl::Status MeasureHostCopies(DeviceYardsticks& yardsticks, Report& report) const;
  absl::Status MeasureDigests(const Hub& hub, DeviceYardsticks& yardsticks, Report& report) const;
  absl::Status MeasureGathers(DeviceYardsticks& yardsticks, Report& report) const;
  // The median of as many rounds as asked for.
  template <typename Round>
  absl::StatusOr<double> Repeat(Round round) const;

  agent::CudaDriver* driver_ = nullptr;
  cli::Bytes bytes_{0};
  uint64_t tensors_ = 300;
  uint64_t small_tensors_ = 20000;
  int rounds_ = 7;
  std::string gather_ = "gets";
  std::string by_ = "copies";
  std::string what_ = "all";
  bool quick_ = false;
};

void DeviceScenario::AddFlags(cli::Command& command) {
  command.Flag("bytes", &bytes_,
               "size of the version; 0: what there is room for, 20 GiB at most, since the calls to "
               "the hub have to be short beside it");
  command.Flag("tensors", &tensors_, "how many tensors make the version of large ones");
  command.Flag("small-tensors", &small_tensors_, "how many make the version of small ones");
  command.Flag("rounds", &rounds_, "rounds that count, of each kind");
  command.Choice("gather", &gather_, {"gets", "kernel", "all"},
                 "how small tensors are moved within the device, beside: a get each, or by one "
                 "kernel");
  command.Choice("by", &by_, {"copies", "ucx"}, "what reads another process's memory");
  command.Choice("what", &what_, {"reads", "host-copies", "digests", "all"}, "what is measured");
  command.Flag("quick", &quick_, "64 MiB, 2000 small tensors, 3 rounds: does it work at all?");
  command.Example("tensorhub-bench device");
  command.Example("tensorhub-bench device --bytes 16GiB --gather all -o json");
}

absl::Status DeviceScenario::CheckFlags() {
  if (quick_) {
    constexpr uint64_t kQuickBytes = 64 << 20;
    bytes_.value = bytes_.value == 0 ? kQuickBytes : std::min(bytes_.value, kQuickBytes);
    small_tensors_ = std::min<uint64_t>(small_tensors_, 2000);
    rounds_ = std::min(rounds_, 3);
  }
  if (rounds_ < 1 || rounds_ > 1000) return absl::InvalidArgumentError("--rounds: give 1 to 1000");
  const bool size_known = bytes_.value > 0 || tensors_ == 0 || small_tensors_ == 0;
  return size_known ? CheckTensors() : absl::OkStatus();
}

absl::Status DeviceScenario::CheckTensors() const {
  for (const uint64_t count : {tensors_, small_tensors_}) {
    if (count == 0 || bytes_.value / count < 256) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%d tensors of %d bytes in all: give each at least 256 bytes", count, bytes_.value));
    }
  }
  return absl::OkStatus();
}

absl::Status DeviceScenario::ChooseSize() {
  const absl::StatusOr<agent::CudaPrimary> primary = agent::CudaPrimary::Retain(driver_, 0);
  if (!primary.ok()) return primary.status();
  const agent::CudaCurrent current(*primary);
  const absl::StatusOr<uint64_t> free = driver_->FreeBytes();
  if (!free.ok()) return free.status();
  const uint64_t room = *free - std::min(*free, kContextBytes);
  if (bytes_.value == 0) bytes_.value = std::min(kMostBytes, room / kBlocksAtOnce >> 28 << 28);
  const uint64_t needed = kBlocksAtOnce * std::max(bytes_.value, uint64_t{1});
  if (needed <= room && bytes_.value > 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrFormat("%d MiB of memory are needed on GPU 0, %d MiB are free; give a smaller "
                      "--bytes",
                      (needed + kContextBytes) >> 20, *free >> 20));
}

// The second device's bytes are another path only if the first can address them.
absl::StatusOr<std::vector<Path>> DeviceScenario::Paths() const {
  std::vector<Path> paths = {{"same-gpu", 0, 0}};
  const absl::StatusOr<int> count = driver_->DeviceCount();
  if (!count.ok()) return count.status();
  if (*count < 2) return paths;
  const absl::StatusOr<bool> reaches = driver_->CanAccessPeer(0, 1);
  if (!reaches.ok()) return reaches.status();
  if (*reaches) paths.push_back({"peer", 1, 0});
  return paths;
}

AgentPair::Options DeviceScenario::PairOptions(const std::string& name, const Hub& hub,
                                               const Path& path, uint64_t tensors) const {
  AgentPair::Options options;
  options.name = name;
  options.server = hub.address();
  options.bytes = bytes_.value;
  options.tensors = tensors;
  options.way = by_ == "copies" ? "one-sided_over_copies" : "one-sided";
  // The plain copy has no digests to make; what they cost is a figure of its own.
  options.environment = {{"TENSORHUB_DIGESTS", "off"}, {"TENSORHUB_DEVICE_READS", by_}};
  options.source_device = path.source;
  options.reader_device = path.reader;
  return options;
}

absl::StatusOr<DeviceScenario::Pairs> DeviceScenario::StartPairs(const Hub& hub,
                                                                 const Path& path) const {
  Pairs pairs;
  absl::StatusOr<std::unique_ptr<AgentPair>> few =
      AgentPair::Start(PairOptions(absl::StrCat(path.name, ".large"), hub, path, tensors_));
  if (!few.ok()) return few.status();
  pairs.few = *std::move(few);
  absl::StatusOr<std::unique_ptr<AgentPair>> many =
      AgentPair::Start(PairOptions(absl::StrCat(path.name, ".small"), hub, path, small_tensors_));
  if (!many.ok()) return many.status();
  pairs.many = *std::move(many);
  return pairs;
}

absl::Status DeviceScenario::RunRounds(const Path& path, Pairs& pairs, DeviceYardsticks& yardsticks,
                                       Times& times) const {
  for (int round = -kWarmUpRounds; round < rounds_; ++round) {
    ShowProgress(absl::StrCat(path.name, ": round ", round + 1, " of ", rounds_));
    // Who follows whom changes from round to round.
    for (int turn = 0; turn < 3; ++turn) {
      const int who = (turn + round + kWarmUpRounds) % 3;
      absl::StatusOr<double> seconds = 0.0;
      if (who == 0) {
        seconds = yardsticks.Copy();
      } else {
        const auto sample = (who == 1 ? pairs.few : pairs.many)->Round();
        seconds = sample.ok() ? absl::StatusOr<double>(sample->seconds) : sample.status();
      }
      if (!seconds.ok()) return seconds.status();
      std::vector<double>* const of[] = {&times.copy, &times.few, &times.many};
      if (round >= 0) of[who]->push_back(*seconds);
    }
  }
  return absl::OkStatus();
}

absl::Status DeviceScenario::MeasureReads(const Hub& hub, const Path& path, Report& report) {
  ShowProgress(absl::StrCat(path.name, ": starting"));
  const auto yardsticks = DeviceYardsticks::Make({.driver = driver_,
                                                  .device = path.reader,
                                                  .from_device = path.source,
                                                  .bytes = bytes_.value});
  if (!yardsticks.ok()) return yardsticks.status();
  absl::StatusOr<Pairs> pairs = StartPairs(hub, path);
  if (!pairs.ok()) return pairs.status();
  Times times;
  absl::Status status = RunRounds(path, *pairs, **yardsticks, times);
  if (status.ok()) status = pairs->few->Verify();
  if (status.ok()) status = pairs->many->Verify();
  if (!status.ok()) return status;
  report.figures.push_back({.name = absl::StrCat("read.", path.name, ".", tensors_),
                            .value = GBps(Median(times.few)),
                            .unit = "GB/s",
                            .limit = GBps(Median(times.copy)),
                            .limit_name = "copy by the device",
                            .better = Better::kHigher,
                            .aim = kReadAim});
  report.figures.push_back({.name = absl::StrCat("read.", path.name, ".", small_tensors_, ".time"),
                            .value = Median(times.many),
                            .unit = "s",
                            .limit = Median(times.few),
                            .limit_name = absl::StrCat(tensors_, " tensors"),
                            .better = Better::kLower,
                            .aim = kSmallAim});
  report.notes.push_back(absl::StrCat(path.name, " went ", pairs->few->way()));
  const absl::StatusOr<double> stall_ms = Repeat([&] { return pairs->few->Stall(); });
  if (!stall_ms.ok()) return stall_ms.status();
  report.beside.push_back(
      {absl::StrCat("publish.stall.", path.name, ".no-digests"), std::max(*stall_ms, 0.0), "ms"});
  pairs->few = nullptr;
  pairs->many = nullptr;
  return MeasureStall(hub, path, report);
}

template <typename Round>
absl::StatusOr<double> DeviceScenario::Repeat(Round round) const {
  std::vector<double> values;
  for (int i = -1; i < rounds_; ++i) {
    const absl::StatusOr<double> value = round();
    if (!value.ok()) return value.status();
    if (i >= 0) values.push_back(*value);
  }
  return Median(values);
}

// As programs publish that say nothing of digests: the device makes them, too.
absl::Status DeviceScenario::MeasureStall(const Hub& hub, const Path& path, Report& report) const {
  ShowProgress(absl::StrCat(path.name, ": publishing beside other work"));
  AgentPair::Options options = PairOptions(absl::StrCat(path.name, ".stall"), hub, path, tensors_);
  options.environment["TENSORHUB_DIGESTS"] = "auto";
  const absl::StatusOr<std::unique_ptr<AgentPair>> pair = AgentPair::Start(options);
  if (!pair.ok()) return pair.status();
  const absl::StatusOr<double> ms = Repeat([&] { return (*pair)->Stall(); });
  if (!ms.ok()) return ms.status();
  report.figures.push_back(
      BoundFigure(absl::StrCat("publish.stall.", path.name), std::max(*ms, 0.0), "ms", kStallMs));
  return absl::OkStatus();
}

// The whole way: the last holder of a version that is kept gives it up, and fetches it again.
absl::Status DeviceScenario::MeasureHostCopies(DeviceYardsticks& yardsticks, Report& report) const {
  ShowProgress("copies in host memory");
  const auto hub = Hub::Start([](const Child::Options& options) { return options; }, "127.0.0.1:0",
                              {"--keep-latest=1"});
  if (!hub.ok()) return hub.status();
  const absl::StatusOr<std::unique_ptr<KeptCopy>> kept =
      KeptCopy::Start(PairOptions("kept", **hub, {"", 0, 0}, tensors_));
  if (!kept.ok()) return kept.status();
  std::vector<double> out, in;
  for (int round = -kWarmUpRounds; round < rounds_; ++round) {
    const absl::StatusOr<KeptCopy::Sample> sample = (*kept)->Round();
    if (!sample.ok()) return sample.status();
    if (round < 0) continue;
    out.push_back(sample->out_seconds);
    in.push_back(sample->in_seconds);
  }
  const absl::StatusOr<double> bus_out = Repeat([&] { return yardsticks.CopyOut(); });
  if (!bus_out.ok()) return bus_out.status();
  const absl::StatusOr<double> bus_in = Repeat([&] { return yardsticks.CopyIn(); });
  if (!bus_in.ok()) return bus_in.status();
  const auto add = [&](const char* name, const std::vector<double>& seconds, double limit) {
    report.figures.push_back({.name = name,
                              .value = GBps(Median(seconds)),
                              .unit = "GB/s",
                              .limit = GBps(limit),
                              .limit_name = "page-locked copy",
                              .better = Better::kHigher,
                              .aim = kHostCopyAim});
  };
  add("host-copy.out", out, *bus_out);
  add("host-copy.in", in, *bus_in);
  return absl::OkStatus();
}

// The memory's bandwidth is that of a copy, which reads and writes.
absl::Status DeviceScenario::MeasureDigests(const Hub& hub, DeviceYardsticks& yardsticks,
                                            Report& report) const {
  ShowProgress("digests");
  const absl::StatusOr<double> digest = Repeat([&] { return yardsticks.Digest(); });
  if (!digest.ok()) return digest.status();
  const absl::StatusOr<double> copy = Repeat([&] { return yardsticks.Copy(); });
  if (!copy.ok()) return copy.status();
  report.figures.push_back({.name = "digests.rate",
                            .value = GBps(*digest),
                            .unit = "GB/s",
                            .limit = 2 * GBps(*copy),
                            .limit_name = "memory, by a copy",
                            .better = Better::kHigher,
                            .aim = kDigestAim});
  if (const std::string why = yardsticks.WhyNoKernels(); !why.empty()) {
    report.notes.push_back(absl::StrCat("digests were made by the CPU: ", why));
  }
  const absl::StatusOr<DigestCost> cost =
      MeasureDigestCost(PairOptions("digested", hub, {"", 0, 0}, tensors_), kWarmUpRounds, rounds_);
  if (!cost.ok()) return cost.status();
  report.figures.push_back({.name = "digests.read",
                            .value = GBps(cost->checked_seconds),
                            .unit = "GB/s",
                            .limit = GBps(cost->plain_seconds),
                            .limit_name = "without digests",
                            .better = Better::kHigher,
                            .aim = kDigestedReadAim});
  return absl::OkStatus();
}

absl::Status DeviceScenario::MeasureGathers(DeviceYardsticks& yardsticks, Report& report) const {
  ShowProgress("small tensors within the device");
  if (gather_ != "kernel") {
    const absl::StatusOr<double> seconds =
        Repeat([&] { return yardsticks.CopySmall(small_tensors_); });
    if (!seconds.ok()) return seconds.status();
    report.beside.push_back({absl::StrCat("gather.gets.", small_tensors_), GBps(*seconds), "GB/s"});
  }
  if (gather_ == "gets") return absl::OkStatus();
  const absl::StatusOr<double> seconds =
      Repeat([&] { return yardsticks.GatherSmall(small_tensors_); });
  if (!seconds.ok()) return seconds.status();
  report.beside.push_back({absl::StrCat("gather.kernel.", small_tensors_), GBps(*seconds), "GB/s"});
  return absl::OkStatus();
}

absl::Status DeviceScenario::Run(Report& report) {
  if (absl::Status status = CheckFlags(); !status.ok()) return status;
  const absl::StatusOr<agent::CudaDriver*> driver = agent::OpenCudaDriver();
  if (!driver.ok()) {
    report.skipped = std::string(driver.status().message());
    return absl::OkStatus();
  }
  driver_ = *driver;
  const absl::StatusOr<std::vector<Path>> paths = Paths();
  if (!paths.ok()) return paths.status();
  if (absl::Status status = ChooseSize(); !status.ok()) return status;
  if (absl::Status status = CheckTensors(); !status.ok()) return status;
  const absl::StatusOr<std::unique_ptr<Hub>> hub = Hub::Start();
  if (!hub.ok()) return hub.status();
  const auto wanted = [this](const char* what) { return what_ == "all" || what_ == what; };
  for (const Path& path : *paths) {
    if (!wanted("reads")) break;
    if (absl::Status status = MeasureReads(**hub, path, report); !status.ok()) return status;
  }
  const auto yardsticks = DeviceYardsticks::Make({.driver = driver_, .bytes = bytes_.value});
  if (!yardsticks.ok()) return yardsticks.status();
  absl::Status status;
  if (wanted("host-copies")) status = MeasureHostCopies(**yardsticks, report);
  if (status.ok() && wanted("digests")) status = MeasureDigests(**hub, **yardsticks, report);
  if (status.ok() && wanted("reads")) status = MeasureGathers(**yardsticks, report);
  return status;
}

}  // namespace

std::unique_ptr<Scenario> MakeDeviceScenario() { return std::make_unique<DeviceScenario>(); }

}  // namespace tensorhub::bench
