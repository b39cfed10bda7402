// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// `publish`: what the trainer waits for. Publish and Unpublish at the caller, without readers, each
// beside an empty call to the same server in the same process; then many workers at once.

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/pairs.h"
#include "bench/process_facts.h"
#include "bench/scenario.h"

namespace tensorhub::bench {
namespace {

constexpr uint64_t kTensorsMax = 500'000;
constexpr uint32_t kPublishWorkersMax = 64;
constexpr char kEmptyCall[] = "empty call";
// The call itself, and a hand-over to the progress thread and back.
constexpr double kCallsAim = 3;
constexpr double kPublishRateAim = 0.5;
constexpr double kPublishJoinAim = 0.8;

// What the rounds brought, by the names of the answers' fields.
using NamedSamples = std::map<std::string, std::vector<double>>;

absl::Status Take(const Fields& answer, const std::vector<std::string>& names,
                  NamedSamples& samples) {
  for (const std::string& name : names) {
    const absl::StatusOr<double> value = answer.Number(name);
    if (!value.ok()) return value.status();
    samples[name].push_back(*value);
  }
  return absl::OkStatus();
}

class PublishScenario : public Scenario {
 public:
  std::string name() const override { return "publish"; }
  std::string summary() const override {
    return "What Publish and Unpublish take at the caller, against an empty call to the server.";
  }
  void AddFlags(cli::Command& command) override;
  absl::Status Run(Report& report) override;

 private:
  struct Kind {
    uint64_t tensors = 0;
    std::unique_ptr<Child> publisher = nullptr;
    NamedSamples samples = {};
    double median(const std::string& field) const { return Median(samples.at(field)); }
  };

  absl::Status CheckFlags();
  absl::StatusOr<std::unique_ptr<Child>> StartPublisher(const Hub& hub, const std::string& name,
                                                        uint64_t tensors) const;
  absl::Status RunRound(Kind& kind, bool counts) const;
  absl::Status RunCalls(const Hub& hub, Report& report) const;
  void ReportKind(const Kind& kind, Report& report) const;
  absl::StatusOr<double> RateOfAll(const std::vector<std::unique_ptr<Child>>& publishers,
                                   const std::string& kind) const;
  absl::Status RunRates(const Hub& hub, Report& report) const;
  absl::Status RunJoin(const Hub& hub, Report& report) const;

  uint64_t tensors_ = 300;
  uint64_t small_tensors_ = 20'000;
  uint32_t workers_ = 8;
  int rounds_ = 5;
  int cycles_ = 100;
  double seconds_ = 1;
  uint64_t join_mib_ = 512;
  bool quick_ = false;
};

void PublishScenario::AddFlags(cli::Command& command) {
  command.Flag("tensors", &tensors_, "how many tensors the usual registration has");
  command.Flag("small-tensors", &small_tensors_, "how many the large registration has");
  command.Flag("workers", &workers_, "processes that publish at once, where the rate is measured");
  command.Flag("rounds", &rounds_, "rounds that count, of each kind");
  command.Flag("seconds", &seconds_, "how long the rate is measured in each round");
  command.Flag("quick", &quick_, "2 rounds of 0.2 s: does it work at all?");
  command.Example("tensorhub-bench publish");
  command.Example("tensorhub-bench publish --workers 32 -o json");
}

absl::Status PublishScenario::CheckFlags() {
  if (quick_) {
    rounds_ = std::min(rounds_, 2);
    cycles_ = 10;
    seconds_ = std::min(seconds_, 0.2);
    join_mib_ = 32;
  }
  if (rounds_ < 1 || rounds_ > 1000) return absl::InvalidArgumentError("--rounds: give 1 to 1000");
  if (workers_ < 1 || workers_ > kPublishWorkersMax) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--workers: give 1 to %d", kPublishWorkersMax));
  }
  if (!(seconds_ > 0 && seconds_ <= 60)) {
    return absl::InvalidArgumentError("--seconds: give more than 0 and at most 60");
  }
  if (tensors_ == small_tensors_) {
    return absl::InvalidArgumentError("--tensors and --small-tensors are compared: give two sizes");
  }
  for (const uint64_t count : {tensors_, small_tensors_}) {
    if (count >= 1 && count <= kTensorsMax) continue;
    return absl::InvalidArgumentError(
        absl::StrFormat("a registration of %d tensors: give 1 to %d", count, kTensorsMax));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Child>> PublishScenario::StartPublisher(const Hub& hub,
                                                                       const std::string& name,
                                                                       uint64_t tensors) const {
  absl::StatusOr<std::unique_ptr<Child>> child =
      Child::Start({.name = name,
                    .binary = OwnBinary(),
                    .args = {"@publisher", absl::StrCat("server=", hub.address(), " name=", name,
                                                        " tensors=", tensors)}});
  if (!child.ok()) return child.status();
  const absl::StatusOr<Fields> ready = (*child)->Answer();
  if (!ready.ok()) return ready.status();
  return child;
}

// --- one worker ------------------------------------------------------------------------------

absl::Status PublishScenario::RunRound(Kind& kind, bool counts) const {
  const absl::StatusOr<Fields> first = kind.publisher->Ask("first");
  if (!first.ok()) return first.status();
  const absl::StatusOr<Fields> cycles = kind.publisher->Ask(absl::StrCat("cycles count=", cycles_));
  if (!cycles.ok()) return cycles.status();
  if (!counts) return absl::OkStatus();
  absl::Status status =
      Take(*first, {"first_us", "register_us", "put_us", "layout_bytes"}, kind.samples);
  status.Update(
      Take(*cycles, {"echo_us", "publish_us", "unpublish_us", "message_bytes"}, kind.samples));
  return status;
}

void PublishScenario::ReportKind(const Kind& kind, Report& report) const {
  const double echo_us = kind.median("echo_us");
  const auto add = [&](const std::string& name, const std::string& field, double limit,
                       const std::string& limit_name) {
    report.figures.push_back({.name = absl::StrCat(name, ".", kind.tensors),
                              .value = kind.median(field),
                              .unit = "us",
                              .limit = limit,
                              .limit_name = limit_name,
                              .better = Better::kLower,
                              .aim = kCallsAim});
  };
  add("publish.unchanged", "publish_us", echo_us, kEmptyCall);
  add("unpublish", "unpublish_us", echo_us, kEmptyCall);
  add("publish.first", "first_us", kind.median("put_us") + echo_us, "PutLayout + empty call");
  report.beside.push_back(
      {absl::StrCat("register.", kind.tensors), kind.median("register_us"), "us"});
  report.beside.push_back(
      {absl::StrCat("layout.message.", kind.tensors), kind.median("layout_bytes"), "B"});
}

absl::Status PublishScenario::RunCalls(const Hub& hub, Report& report) const {
  std::vector<Kind> kinds;
  kinds.push_back({.tensors = tensors_});
  kinds.push_back({.tensors = small_tensors_});
  for (Kind& kind : kinds) {
    auto publisher = StartPublisher(hub, absl::StrCat("tensors-", kind.tensors), kind.tensors);
    if (!publisher.ok()) return publisher.status();
    kind.publisher = *std::move(publisher);
  }
  for (int round = -1; round < rounds_; ++round) {
    ShowProgress(round < 0 ? "warming up" : absl::StrCat("round ", round + 1, " of ", rounds_));
    for (size_t turn = 0; turn < kinds.size(); ++turn) {
      Kind& kind = kinds[(turn + static_cast<size_t>(round + 1)) % kinds.size()];
      if (absl::Status status = RunRound(kind, round >= 0); !status.ok()) return status;
    }
  }
  for (const Kind& kind : kinds) ReportKind(kind, report);
  report.figures.push_back({.name = "publish.message",
                            .value = kinds[1].median("message_bytes"),
                            .unit = "B",
                            .limit = kinds[0].median("message_bytes"),
                            .limit_name = absl::StrCat(tensors_, " tensors"),
                            .better = Better::kLower,
                            .aim = kMessageSlack});
  return absl::OkStatus();
}

// --- many at once ----------------------------------------------------------------------------

absl::StatusOr<double> PublishScenario::RateOfAll(
    const std::vector<std::unique_ptr<Child>>& publishers, const std::string& kind) const {
  for (const auto& publisher : publishers) {
    const absl::Status status =
        publisher->Send(absl::StrCat("rate kind=", kind, " seconds=", seconds_));
    if (!status.ok()) return status;
  }
  double rate = 0;
  for (const auto& publisher : publishers) {
    const absl::StatusOr<Fields> answer = publisher->Answer();
    if (!answer.ok()) return answer.status();
    const absl::StatusOr<double> own = answer->Number("rate");
    if (!own.ok()) return own.status();
    rate += *own;
  }
  return rate;
}

absl::Status PublishScenario::RunRates(const Hub& hub, Report& report) const {
  std::vector<std::unique_ptr<Child>> publishers;
  for (uint32_t i = 0; i < workers_; ++i) {
    ShowProgress(absl::StrCat("starting worker ", i + 1, " of ", workers_));
    auto publisher = StartPublisher(hub, absl::StrCat("worker-", i), tensors_);
    if (!publisher.ok()) return publisher.status();
    publishers.push_back(*std::move(publisher));
  }
  NamedSamples rates;
  for (int round = -1; round < rounds_; ++round) {
    ShowProgress(absl::StrCat(workers_, " workers at once, round ", round + 1, " of ", rounds_));
    for (const std::string kind : {"echo", "publish"}) {
      const absl::StatusOr<double> rate = RateOfAll(publishers, kind);
      if (!rate.ok()) return rate.status();
      if (round >= 0) rates[kind].push_back(*rate);
    }
  }
  // A publish that repeats needs its unpublish: two calls.
  report.figures.push_back({.name = absl::StrCat("publishes.", workers_),
                            .value = Median(rates.at("publish")),
                            .unit = "/s",
                            .limit = Median(rates.at("echo")) / 2,
                            .limit_name = "half of the empty calls",
                            .better = Better::kHigher,
                            .aim = kPublishRateAim});
  return absl::OkStatus();
}

// --- what somebody else holds --------------------------------------------------------------------

absl::Status PublishScenario::RunJoin(const Hub& hub, Report& report) const {
  ShowProgress("publishing what another group holds");
  const auto publisher = StartPublisher(hub, "joiner", 1);
  if (!publisher.ok()) return publisher.status();
  const absl::StatusOr<Fields> answer =
      (*publisher)->Ask(absl::StrCat("join mib=", join_mib_, " rounds=", rounds_));
  if (!answer.ok()) return answer.status();
  NamedSamples samples;
  absl::Status status = Take(*answer, {"join_us", "hash_us"}, samples);
  if (!status.ok()) return status;
  const double bytes = static_cast<double>(join_mib_ << 20);
  const auto rate = [&](const std::string& field) { return bytes / samples.at(field)[0] / 1e3; };
  report.figures.push_back({.name = "publish.join",
                            .value = rate("join_us"),
                            .unit = "GB/s",
                            .limit = rate("hash_us"),
                            .limit_name = "one thread's hash",
                            .better = Better::kHigher,
                            .aim = kPublishJoinAim});
  return absl::OkStatus();
}

absl::Status PublishScenario::Run(Report& report) {
  if (absl::Status status = CheckFlags(); !status.ok()) return status;
  if (const double load = LoadPerCore(); load > kBusyLoad) {
    report.doubts.push_back(absl::StrFormat(
        "the machine was busy with something else (load %.1f per core): ratios are noise", load));
  }
  const absl::StatusOr<std::unique_ptr<Hub>> hub = Hub::Start();
  if (!hub.ok()) return hub.status();
  if (absl::Status status = RunCalls(**hub, report); !status.ok()) return status;
  if (absl::Status status = RunRates(**hub, report); !status.ok()) return status;
  return RunJoin(**hub, report);
}

}  // namespace

std::unique_ptr<Scenario> MakePublishScenario() { return std::make_unique<PublishScenario>(); }

}  // namespace tensorhub::bench
