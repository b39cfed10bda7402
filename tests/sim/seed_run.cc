// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/seed_run.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/sim/checkers/checkers.h"
#include "tests/sim/cluster.h"
#include "tests/sim/effect_trace.h"
#include "tests/sim/gets.h"
#include "tests/sim/hub_node.h"
#include "tests/sim/nemesis.h"
#include "tests/sim/process.h"
#include "tests/sim/wire.h"

namespace tensorhub::fault {
namespace {

// A lease, a grace, and the longest back-off and restart of a worker.
constexpr Nanos kSettle = 16 * kSecond;
// Until a worker finds that its connection is dead, is refused by the hub in its place, and comes
// again as a new process.
constexpr Nanos kReturn = 25 * kSecond;
// A copy that the hub asks for may take 15 s, and each one that fails may be asked of another.
constexpr Nanos kCopiesEnd = 60 * kSecond;
// No verb is asked with a longer time-out.
constexpr Nanos kVerbsEnd = 60 * kSecond;
// Of a fetch when all is well, over the slowest links; and of the answer that nobody holds the
// version, for which those that fell silent with it have to be away for long enough.
constexpr Nanos kFetchEnds = 45 * kSecond;
constexpr Nanos kRefusalEnds = 5 * kSecond + HubNode::kCutOffMs * (kSecond / 1000);
constexpr TimeMs kFetchTimeoutMs = 55'000;

class SeedRun {
 public:
  explicit SeedRun(const SeedOptions& options)
      : options_(options),
        scene_(options.seed),
        hub_(scene_),
        wire_(scene_),
        gets_(scene_),
        checkers_(scene_, options.looks_inside),
        cluster_(scene_),
        nemesis_(scene_, cluster_.groups()) {
    scene_.log = options.log;
    if (options.hashes_effects) scene_.effect_trace = &effect_trace_;
    scene_.states = options.states;
    scene_.hub = &hub_;
    scene_.wire = &wire_;
    scene_.gets = &gets_;
    scene_.checkers = &checkers_;
  }

  SeedResult Run() {
    const Nanos began = scene_.agenda.now();
    const Nanos end = began + static_cast<Nanos>(options_.seconds * 1e9);
    hub_.Start();
    cluster_.Begin();
    EverySecond();
    while (!over(end)) Round(end);
    if (!scene_.violation) Goodbye();
    SeedResult result;
    result.violation = scene_.violation;
    result.counts = scene_.counts;
    result.seconds = sim::Seconds(scene_.agenda.now() - began);
    result.trace = scene_.agenda.trace();
    result.effects = effect_trace_.hash();
    result.workers = cluster_.workers();
    result.faults = scene_.plan.Describe();
    return result;
  }

 private:
  bool over(Nanos end) const { return scene_.violation || scene_.agenda.now() >= end; }

  template <typename Done>
  void RunUntil(Nanos end, Done done) {
    while (!scene_.violation && !done() && scene_.agenda.DoNext(end)) {
    }
  }
  void RunFor(Nanos time) {
    RunUntil(scene_.agenda.now() + time, [] { return false; });
  }

  void EverySecond() {
    scene_.agenda.After(kSecond, nullptr, [this] {
      checkers_.OnSecond();
      for (const auto& group : cluster_.groups()) group->Supervise();
      EverySecond();
    });
  }

  // Safety while things break; then liveness.
  void Round(Nanos end) {
    cluster_.SetResting(false);
    nemesis_.Start();
    const Nanos breaks = scene_.dice.Time(20 * kSecond, 90 * kSecond);
    RunFor(std::min(breaks, std::max<Nanos>(end - scene_.agenda.now(), kSecond)));
    nemesis_.Heal();
    RunFor(scene_.dice.Time(0, 5 * kSecond));
    cluster_.SetResting(true);
    RunUntil(scene_.agenda.now() + kVerbsEnd + kSettle, [this] { return !cluster_.busy(); });
    if (cluster_.busy())
      scene_.Fail("R8", "an operation has not ended after everything was healed");
    ComeBack();
    // Some find only then that their streams have broken, and that the hub is another one.
    if (!cluster_.complete()) ComeBack();
    if (scene_.violation) return;
    CheckSettled();
    FetchAfresh();
  }

  void ComeBack() {
    RunUntil(scene_.agenda.now() + kReturn, [this] { return cluster_.complete(); });
    RunFor(kSettle);
  }

  void CheckSettled() {
    if (!cluster_.complete()) {
      scene_.Fail("R8", "a worker is not connected long after everything was healed");
    }
    if (options_.looks_inside) hub_.core().CheckInvariants();
    CheckNobodyReads();
  }

  // A copy that is being made for a drained worker reads as well.
  void CheckNobodyReads() {
    RunUntil(scene_.agenda.now() + kCopiesEnd, [this] { return !cluster_.copying(); });
    if (!scene_.violation) checkers_.CheckSettled();
  }

  // R8: whoever asks for the latest version gets it if it is held, and hears at once if not.
  // A holder that has rotted finds it out when it is read from. It gives itself up, and its group's
  // fetch with it, and may have been the last one: all is well only when everybody has asked again.
  void FetchAfresh() {
    std::set<uint32_t> rotten = RottenHolders();
    for (bool settled = false; !settled && !scene_.violation;) {
      FetchOnce();
      if (!rotten.empty()) RunFor(kSettle);  // who was read from is looking at what it holds
      const std::set<uint32_t> before = std::exchange(rotten, RottenHolders());
      settled = rotten == before;
      for (const auto& group : cluster_.groups()) {
        if (!group->trains() && !scene_.violation) CheckFetched(*group, settled);
      }
    }
    if (!scene_.violation) CheckNobodyReads();
  }

  // Numbers of processes.
  std::set<uint32_t> RottenHolders() const {
    std::set<uint32_t> holders;
    for (const auto& process : scene_.processes) {
      const bool rotten = process->node().running() && process->memory().rotten();
      if (rotten) holders.insert(process->number());
    }
    return holders;
  }

  void FetchOnce() {
    const Nanos began = scene_.agenda.now();
    for (const auto& group : cluster_.groups()) {
      if (!group->trains()) group->FetchLatest(kFetchTimeoutMs);
    }
    RunUntil(began + kRefusalEnds, [this] { return !cluster_.busy(); });
    for (const auto& group : cluster_.groups()) {
      if (!group->busy() || LatestHeld(group->model().name)) continue;
      scene_.Fail("R8", "nobody holds the latest version, and a fetch does not say so");
    }
    RunUntil(began + kFetchEnds, [this] { return !cluster_.busy(); });
    if (scene_.violation) return;
    if (cluster_.busy()) scene_.Fail("R8", "a fetch hangs, and nothing is wrong");
  }

  // `settled`: nobody has found meanwhile that it holds nothing any more.
  void CheckFetched(const Group& group, bool settled) {
    const std::optional<Layouts> held = LatestHeld(group.model().name);
    const bool fits = held == group.layouts() || (held && group.cuts() && HaveAll(*held));
    for (const absl::Status& status : group.outcomes()) {
      const bool right = held ? status.ok() || (!fits && absl::IsFailedPrecondition(status))
                              : absl::IsNotFound(status);
      const bool full = scene_.plan.small_limits && absl::IsResourceExhausted(status);
      const bool lost = !settled && IsOfLoss(status);
      if (right || full || lost) continue;
      scene_.Fail("R8", absl::StrCat("everything is healed, the latest version of ",
                                     group.model().name, held ? " is held" : " is not held",
                                     ", and a fetch says ", status.ToString()));
    }
  }

  // What a fetch may say of a version that is being lost, or of a rank that loses it. UNAVAILABLE:
  // its last source gave itself up while it was read from. One that does not fit may have been
  // refused before (FAILED_PRECONDITION).
  static bool IsOfLoss(const absl::Status& status) {
    return status.ok() || absl::IsNotFound(status) || absl::IsDataLoss(status) ||
           absl::IsAborted(status) || absl::IsUnavailable(status) ||
           absl::IsFailedPrecondition(status);
  }

  using Layouts = std::vector<Fingerprint>;  // by rank

  // A group that reads some tensors only may have published those.
  bool HaveAll(const Layouts& layouts) const {
    std::set<std::string> names;
    for (const Fingerprint& layout : layouts) {
      const auto found = scene_.hub->core().FindLayout(layout);
      if (found == nullptr) return false;
      for (const auto& entry : found->entries()) names.emplace(entry.name);
    }
    return names.size() == CutModel::kTensors;
  }

  // Its layouts, if it is held.
  std::optional<Layouts> LatestHeld(const std::string& name) const {
    const auto models = scene_.hub->core().Models();
    const auto model = std::find_if(models.begin(), models.end(),
                                    [&name](const auto& view) { return view.model == name; });
    if (model == models.end() || !model->has_latest) return std::nullopt;
    for (const hub::VersionView& view : scene_.hub->core().Versions(name)) {
      if (view.version != model->latest || view.state != hub::VersionState::kVisible) continue;
      return view.layouts;
    }
    return std::nullopt;
  }

  // R9: after everybody there is nothing.
  void Goodbye() {
    for (const auto& group : cluster_.groups()) group->LeaveForGood();
    RunUntil(scene_.agenda.now() + kVerbsEnd, [this] { return !cluster_.busy(); });
    if (cluster_.busy()) scene_.Fail("R8", "leaving does not end");
    RunFor(kSettle + HubNode::kCutOffMs * (kSecond / 1000));
    if (scene_.violation) return;
    if (options_.looks_inside) hub_.core().CheckInvariants();
    checkers_.CheckEmpty();
  }

  const SeedOptions options_;
  EffectTrace effect_trace_;
  Scene scene_;
  HubNode hub_;
  Wire wire_;
  Gets gets_;
  Checkers checkers_;
  Cluster cluster_;
  Nemesis nemesis_;
};

}  // namespace

SeedResult RunSeed(const SeedOptions& options) { return SeedRun(options).Run(); }

}  // namespace tensorhub::fault
