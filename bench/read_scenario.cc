// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One reader and one source on one host. Per way and path three pairs stand connected side by
// side (bare UCX, or bare sockets over TCP; agents with few large tensors, agents with many small
// ones) and take turns, so that a noisy minute hits all of them.

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/digest_cost.h"
#include "bench/pairs.h"
#include "bench/process_facts.h"
#include "bench/scenario.h"
#include "bench/yardsticks.h"
#include "common/layout.h"
#include "worker_agent/ucx/ucx_settings.h"

namespace tensorhub::bench {
namespace {

constexpr int kReadWarmUpRounds = 2;
constexpr double kPublishMs = 5;
constexpr double kMemoryMiB = 64;
constexpr double kIdlePercent = 1;
constexpr double kDigestsShm = 0.90;
constexpr double kDigestsTcp = 0.98;
// A socket's bytes go by one buffer of the agent's, and bare ones straight into place.
constexpr double kOfBareSockets = 0.92;
constexpr double kOfBareUcx = 0.95;

struct Config {
  std::string way;
  std::string path;
  std::string name() const { return absl::StrCat(way, ".", path); }
  bool one_sided() const { return way == "one-sided"; }
  bool tcp() const { return path == "tcp"; }
  const char* bare_role() const {
    if (tcp()) return "@bare-sockets";
    return one_sided() ? "@bare-gets" : "@bare-messages";
  }
  const char* limit_name() const {
    if (tcp()) return "bare sockets";
    return one_sided() ? "bare gets" : "bare active messages";
  }
  // Before UCX is loaded. What the user's environment says of transports would mix the paths up.
  // Bare UCX has no digests to make; what they cost is a figure of its own.
  Environment environment() const {
    return {{"UCX_TLS", tcp() ? "tcp,self" : ""}, {"TENSORHUB_DIGESTS", "off"}};
  }
};

// What the rounds of a kind of pair brought.
struct Samples {
  std::vector<double> seconds;
  std::vector<double> publish_ms;
  std::vector<double> unpublish_ms;
  std::vector<double> publish_bytes;
  void Append(const AgentPair::Sample& sample) {
    seconds.push_back(sample.seconds);
    publish_ms.push_back(sample.publish_ms);
    unpublish_ms.push_back(sample.unpublish_ms);
    publish_bytes.push_back(sample.publish_bytes);
  }
};

class ReadScenario : public Scenario {
 public:
  std::string name() const override { return "read"; }
  std::string summary() const override {
    return "One reader on the same host, against bare UCX or bare sockets with the same settings.";
  }
  void AddFlags(cli::Command& command) override;
  absl::Status Run(Report& report) override;

 private:
  struct Pairs {
    std::unique_ptr<BarePair> bare;
    std::unique_ptr<AgentPair> few;
    std::unique_ptr<AgentPair> many;
  };

  absl::Status CheckFlags();
  std::vector<Config> Configs() const;
  double GBps(double seconds) const { return static_cast<double>(bytes_.value) / 1e9 / seconds; }
  BareSettings Settings(const Config& config) const;
  absl::StatusOr<Pairs> StartPairs(const Config& config, const Hub& hub) const;
  absl::Status RunConfig(const Config& config, const Hub& hub, Report& report);
  absl::Status RunRounds(const Config& config, Pairs& pairs, std::vector<double>& bare,
                         Samples& few, Samples& many);
  absl::Status MeasureRest(Pairs& pairs);
  absl::Status MeasureDigests(const Hub& hub, Report& report) const;
  absl::Status MeasureBest(Report& report);
  void ReportShared(Report& report) const;

  cli::Bytes bytes_{uint64_t{1} << 30};
  uint64_t tensors_ = 300;
  uint64_t small_tensors_ = 20000;
  int rounds_ = 7;
  std::string way_ = "all";
  std::string path_ = "all";
  bool quick_ = false;
  std::chrono::milliseconds idle_{5000};

  // Over all ways and paths.
  Samples few_;
  Samples many_;
  std::vector<double> growth_mib_;    // source, reader, source, ...
  std::vector<double> idle_percent_;  // likewise
};

void ReadScenario::AddFlags(cli::Command& command) {
  command.Flag("bytes", &bytes_, "size of the version");
  command.Flag("tensors", &tensors_, "how many tensors make the version of large ones");
  command.Flag("small-tensors", &small_tensors_, "how many make the version of small ones");
  command.Flag("rounds", &rounds_, "rounds that count, of each kind");
  command.Choice("way", &way_, {"served", "one-sided", "all"},
                 "by the source's CPU, or without it");
  command.Choice("path", &path_, {"tcp", "shm", "all"},
                 "TensorHub's own TCP, or UCX's shared memory");
  command.Flag("quick", &quick_, "64 MiB, 2000 small tensors, 3 rounds: does it work at all?");
  command.Example("tensorhub-bench read");
  command.Example("tensorhub-bench read --way served --path tcp --rounds 15 -o json");
}

absl::Status ReadScenario::CheckFlags() {
  if (quick_) {
    bytes_.value = std::min<uint64_t>(bytes_.value, 64 << 20);
    small_tensors_ = std::min<uint64_t>(small_tensors_, 2000);
    rounds_ = std::min(rounds_, 3);
    idle_ = std::chrono::milliseconds(1000);
  }
  if (rounds_ < 1 || rounds_ > 1000) return absl::InvalidArgumentError("--rounds: give 1 to 1000");
  for (const uint64_t count : {tensors_, small_tensors_}) {
    if (count == 0 || bytes_.value / count < 256) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%d tensors of %d bytes in all: give each at least 256 bytes", count, bytes_.value));
    }
  }
  if (Configs().empty()) {
    return absl::InvalidArgumentError(
        "--way one-sided --path tcp: a TCP connection has no one-sided reads; give --path shm");
  }
  // Two buffers per pair, three pairs at a time, and a little for the rest.
  const uint64_t needed = 6 * bytes_.value + (uint64_t{512} << 20);
  if (needed > AvailableMemoryBytes()) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("%d MiB of memory are needed, %d MiB are available; give a smaller --bytes",
                        needed >> 20, AvailableMemoryBytes() >> 20));
  }
  return absl::OkStatus();
}

std::vector<Config> ReadScenario::Configs() const {
  std::vector<Config> configs;
  for (const Config& config :
       {Config{"served", "tcp"}, Config{"served", "shm"}, Config{"one-sided", "shm"}}) {
    const bool wanted =
        (way_ == "all" || way_ == config.way) && (path_ == "all" || path_ == config.path);
    if (wanted) configs.push_back(config);
  }
  return configs;
}

BareSettings ReadScenario::Settings(const Config& config) const {
  BareSettings settings;
  settings.bytes = bytes_.value;
  // A one-sided reader gets chunks, not frames.
  if (config.one_sided()) {
    settings.frame_bytes = DefaultChunkBytes(bytes_.value);
  } else if (config.path == "shm") {
    settings.frame_bytes = agent::kSharedMemoryPayloadBytes;
  }
  return settings;
}

absl::StatusOr<ReadScenario::Pairs> ReadScenario::StartPairs(const Config& config,
                                                             const Hub& hub) const {
  Pairs pairs;
  absl::StatusOr<std::unique_ptr<BarePair>> bare =
      BarePair::Start(config.bare_role(), Settings(config), config.environment());
  if (!bare.ok()) return bare.status();
  pairs.bare = *std::move(bare);
  const struct {
    std::unique_ptr<AgentPair>* target;
    const char* size;
    uint64_t tensors;
  } kinds[] = {{&pairs.few, ".large", tensors_}, {&pairs.many, ".small", small_tensors_}};
  for (const auto& kind : kinds) {
    absl::StatusOr<std::unique_ptr<AgentPair>> pair =
        AgentPair::Start({.name = absl::StrCat(config.name(), kind.size),
                          .server = hub.address(),
                          .bytes = bytes_.value,
                          .tensors = kind.tensors,
                          .way = config.way,
                          .environment = config.environment()});
    if (!pair.ok()) return pair.status();
    *kind.target = *std::move(pair);
  }
  return pairs;
}

absl::Status ReadScenario::RunRounds(const Config& config, Pairs& pairs, std::vector<double>& bare,
                                     Samples& few, Samples& many) {
  for (int round = -kReadWarmUpRounds; round < rounds_; ++round) {
    ShowProgress(round < 0 ? absl::StrCat(config.name(), ": warming up")
                           : absl::StrCat(config.name(), ": round ", round + 1, " of ", rounds_));
    // Who follows whom changes from round to round.
    for (int turn = 0; turn < 3; ++turn) {
      const int who = (turn + round + kReadWarmUpRounds) % 3;
      if (who == 0) {
        const absl::StatusOr<double> seconds = pairs.bare->Round();
        if (!seconds.ok()) return seconds.status();
        if (round >= 0) bare.push_back(*seconds);
        continue;
      }
      const absl::StatusOr<AgentPair::Sample> sample = (who == 1 ? pairs.few : pairs.many)->Round();
      if (!sample.ok()) return sample.status();
      if (round >= 0) (who == 1 ? few : many).Append(*sample);
    }
  }
  return absl::OkStatus();
}

absl::Status ReadScenario::MeasureRest(Pairs& pairs) {
  if (absl::Status status = pairs.bare->Verify(); !status.ok()) return status;
  AgentPair* agents[] = {pairs.few.get(), pairs.many.get()};
  for (AgentPair* pair : agents) {
    if (absl::Status status = pair->Verify(); !status.ok()) return status;
  }
  ShowProgress("idle agents");
  std::vector<AgentPair::Usage> before;
  for (AgentPair* pair : agents) {
    const absl::StatusOr<std::vector<AgentPair::Usage>> usages = pair->Usages();
    if (!usages.ok()) return usages.status();
    before.insert(before.end(), usages->begin(), usages->end());
  }
  std::this_thread::sleep_for(idle_);
  for (size_t i = 0; i < 2; ++i) {
    const absl::StatusOr<std::vector<AgentPair::Usage>> after = agents[i]->Usages();
    if (!after.ok()) return after.status();
    for (size_t side = 0; side < 2; ++side) {
      const AgentPair::Usage& usage = (*after)[side];
      const double cpu = usage.cpu_seconds - before[2 * i + side].cpu_seconds;
      growth_mib_.push_back(usage.growth_bytes / (1 << 20));
      idle_percent_.push_back(100 * cpu / std::chrono::duration<double>(idle_).count());
    }
  }
  return absl::OkStatus();
}

absl::Status ReadScenario::RunConfig(const Config& config, const Hub& hub, Report& report) {
  ShowProgress(absl::StrCat(config.name(), ": starting"));
  absl::StatusOr<Pairs> pairs = StartPairs(config, hub);
  if (!pairs.ok()) return pairs.status();
  std::vector<double> bare;
  Samples few;
  Samples many;
  if (absl::Status status = RunRounds(config, *pairs, bare, few, many); !status.ok()) return status;
  if (absl::Status status = MeasureRest(*pairs); !status.ok()) return status;

  report.figures.push_back({.name = absl::StrCat(config.name(), ".", tensors_),
                            .value = GBps(Median(few.seconds)),
                            .unit = "GB/s",
                            .limit = GBps(Median(bare)),
                            .limit_name = config.limit_name(),
                            .better = Better::kHigher,
                            .aim = config.tcp() ? kOfBareSockets : kOfBareUcx});
  report.figures.push_back({.name = absl::StrCat(config.name(), ".", small_tensors_, ".time"),
                            .value = Median(many.seconds),
                            .unit = "s",
                            .limit = Median(few.seconds),
                            .limit_name = absl::StrCat(tensors_, " tensors"),
                            .better = Better::kLower,
                            .aim = 1.2});
  const auto fastest = [this](const std::vector<double>& seconds) {
    return GBps(*std::min_element(seconds.begin(), seconds.end()));
  };
  report.beside.push_back({absl::StrCat(config.name(), ".best"), fastest(few.seconds), "GB/s"});
  report.beside.push_back({absl::StrCat(config.name(), ".bare.best"), fastest(bare), "GB/s"});
  report.notes.push_back(absl::StrCat(config.name(), " went ", pairs->few->way()));
  for (const auto& [from, to] : {std::pair{&few, &few_}, std::pair{&many, &many_}}) {
    to->publish_ms.insert(to->publish_ms.end(), from->publish_ms.begin(), from->publish_ms.end());
    to->unpublish_ms.insert(to->unpublish_ms.end(), from->unpublish_ms.begin(),
                            from->unpublish_ms.end());
    to->publish_bytes.insert(to->publish_bytes.end(), from->publish_bytes.begin(),
                             from->publish_bytes.end());
  }
  return absl::OkStatus();
}

// The fastest way on one host, and TCP in place of a network.
absl::Status ReadScenario::MeasureDigests(const Hub& hub, Report& report) const {
  for (const Config& config : Configs()) {
    if (config.path == "shm" && !config.one_sided()) continue;
    ShowProgress(absl::StrCat(config.name(), ": with and without digests"));
    const absl::StatusOr<DigestCost> cost = MeasureDigestCost({.name = config.name(),
                                                               .server = hub.address(),
                                                               .bytes = bytes_.value,
                                                               .tensors = tensors_,
                                                               .way = config.way,
                                                               .environment = config.environment()},
                                                              kReadWarmUpRounds, rounds_);
    if (!cost.ok()) return cost.status();
    report.figures.push_back({.name = absl::StrCat("digests.", config.path),
                              .value = GBps(cost->checked_seconds),
                              .unit = "GB/s",
                              .limit = GBps(cost->plain_seconds),
                              .limit_name = "without digests",
                              .better = Better::kHigher,
                              .aim = config.path == "tcp" ? kDigestsTcp : kDigestsShm});
  }
  return absl::OkStatus();
}

// What bare UCX reaches when nobody asks for small frames, short queues or safe puts.
absl::Status ReadScenario::MeasureBest(Report& report) {
  if (path_ == "tcp") return absl::OkStatus();
  ShowProgress("bare UCX at its own best");
  const Config config{"served", "shm"};
  BareSettings settings = Settings(config);
  settings.frame_bytes = std::min<uint64_t>(settings.bytes, 16 << 20);
  settings.window_bytes = settings.send_ahead_bytes = 4 * settings.frame_bytes;
  Environment environment = config.environment();
  environment.insert(
      {{"TENSORHUB_UCX_RNDV_THRESH", "64k"}, {"TENSORHUB_UCX_ZCOPY_THRESH", "auto"}});
  const absl::StatusOr<std::unique_ptr<BarePair>> pair =
      BarePair::Start("@bare-messages", settings, environment);
  if (!pair.ok()) return pair.status();
  std::vector<double> seconds;
  for (int round = -kReadWarmUpRounds; round < rounds_; ++round) {
    const absl::StatusOr<double> sample = (*pair)->Round();
    if (!sample.ok()) return sample.status();
    if (round >= 0) seconds.push_back(*sample);
  }
  report.beside.push_back({"bare.shm.rendezvous", GBps(Median(seconds)), "GB/s"});
  return absl::OkStatus();
}

void ReadScenario::ReportShared(Report& report) const {
  report.figures.push_back(BoundFigure(absl::StrCat("publish.unchanged.", tensors_),
                                       Median(few_.publish_ms), "ms", kPublishMs));
  report.figures.push_back(BoundFigure(absl::StrCat("publish.unchanged.", small_tensors_),
                                       Median(many_.publish_ms), "ms", kPublishMs));
  // The largest: with some of the calls gRPC sends two window updates (26 bytes), with some none,
  // whatever the tensors; the smallest or the middle one is a matter of luck.
  const auto most = [](const std::vector<double>& values) {
    return *std::max_element(values.begin(), values.end());
  };
  report.figures.push_back({.name = "publish.message",
                            .value = most(many_.publish_bytes),
                            .unit = "B",
                            .limit = most(few_.publish_bytes),
                            .limit_name = absl::StrCat(tensors_, " tensors"),
                            .better = Better::kLower,
                            .aim = kMessageSlack});
  report.figures.push_back(BoundFigure("agent.memory", most(growth_mib_), "MiB", kMemoryMiB));
  report.figures.push_back(BoundFigure("agent.idle", most(idle_percent_), "% CPU", kIdlePercent));
  const auto every_second = [](const std::vector<double>& values, size_t first) {
    double found = values[first];
    for (size_t i = first; i < values.size(); i += 2) found = std::max(found, values[i]);
    return found;
  };
  report.beside.push_back({"agent.memory.source", every_second(growth_mib_, 0), "MiB"});
  report.beside.push_back({"agent.memory.reader", every_second(growth_mib_, 1), "MiB"});
  report.beside.push_back({"unpublish", Median(few_.unpublish_ms), "ms"});
}

absl::Status ReadScenario::Run(Report& report) {
  if (absl::Status status = CheckFlags(); !status.ok()) return status;
  if (const double load = LoadPerCore(); load > kBusyLoad) {
    report.doubts.push_back(absl::StrFormat(
        "the machine was busy with something else (load %.1f per core): ratios are noise", load));
  }
  const absl::StatusOr<std::unique_ptr<Hub>> hub = Hub::Start();
  if (!hub.ok()) return hub.status();
  for (const Config& config : Configs()) {
    if (absl::Status status = RunConfig(config, **hub, report); !status.ok()) return status;
  }
  ReportShared(report);
  if (absl::Status status = MeasureDigests(**hub, report); !status.ok()) return status;
  if (absl::Status status = MeasureBest(report); !status.ok()) return status;
  ShowProgress("memcpy and iperf3");
  const absl::StatusOr<double> memcpy_rate = MemcpyGBps(bytes_.value);
  if (!memcpy_rate.ok()) return memcpy_rate.status();
  report.beside.push_back({"memcpy", *memcpy_rate, "GB/s"});
  const absl::StatusOr<double> iperf = IperfGBps();
  if (iperf.ok()) {
    report.beside.push_back({"iperf3", *iperf, "GB/s"});
  } else {
    report.notes.emplace_back(iperf.status().message());
  }
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Scenario> MakeReadScenario() { return std::make_unique<ReadScenario>(); }

}  // namespace tensorhub::bench
