// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/group.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/sim/wire.h"

namespace tensorhub::fault {
namespace {

constexpr Nanos kConnectPatience = 10 * kSecond;

}  // namespace

Group::Group(Scene& scene, Model& model, const std::vector<const Place*>& places, bool trains)
    : scene_(scene), model_(model), trains_(trains) {
  for (const Place* place : places) ranks_.push_back({place, nullptr, false});
  outcomes_.resize(ranks_.size());
}

// --- processes -----------------------------------------------------------------------------------

void Group::Begin() {
  for (Rank rank = 0; rank < world_size(); ++rank) Start(rank);
  NextLater();
}

void Group::Start(Rank rank) {
  RankState& state = ranks_[rank];
  state.starting = false;
  state.process = &AddProcess(scene_, *state.place);
  state.process->Begin();
}

void Group::Restart(Rank rank, Nanos delay) {
  if (for_good_ || ranks_[rank].starting) return;
  ranks_[rank].starting = true;
  scene_.agenda.After(delay, nullptr, [this, rank] { Start(rank); });
}

void Group::Kill(Rank rank, bool told) {
  Process& process = *ranks_[rank].process;
  if (process.node().dead()) return;
  process.Kill(told);
  Restart(rank, scene_.dice.Time(20 * kMillisecond, 8 * kSecond));
  RankDone(rank, number_, absl::CancelledError("it died"));
}

bool Group::Supplant(Rank rank) {
  Process& process = *ranks_[rank].process;
  const bool leaves = busy() && (operation_.kind == Kind::kLeave || operation_.leaves_after != 0);
  const bool lives = !process.node().dead() && process.link().connected();
  if (!lives || leaves || ranks_[rank].starting || for_good_) return false;
  scene_.Log(process.name(), " is supplanted");
  outlived_.push_back(&process);
  LiveOn(process);
  Restart(rank, scene_.dice.Time(20 * kMillisecond, 8 * kSecond));
  RankDone(rank, number_, absl::CancelledError("another process has its place"));
  return true;
}

// Its owner does not know, and goes on with what needs no agreement with the others.
void Group::LiveOn(Process& process) {
  const Nanos pause = scene_.dice.Time(100 * kMillisecond, 3 * kSecond);
  scene_.agenda.After(pause, &process.node(), [this, &process] {
    LiveOn(process);
    if (!process.idle() || process.link().ended()) return;
    const auto done = [this, &process](const agent::VerbDone&) { ScribbleIfFree(process); };
    const auto holding = process.Report().holding;
    const uint64_t dice = scene_.dice.Below(4);
    if (dice == 0 && holding && holding->complete && !process.memory().rotten()) {
      process.KeepContent(scene_.contents.Of(holding->publication));
      process.Ask(agent::PublishVerb{.version = holding->version, .timeout_ms = 3000}, done);
    } else if (dice == 1) {
      process.Ask(
          agent::FetchVerb{.selector = DrawFetch().selector, .timeout_ms = 3000, .partial = true},
          done);
    } else if (dice == 2) {
      process.Ask(agent::UnpublishVerb{.drain_ms = 1000}, done);
    }
  });
}

void Group::EndOutlived(Process& process, bool told) {
  if (std::erase(outlived_, &process) != 0 && !process.node().dead()) process.Kill(told);
}

bool Group::IsOutlived(const Process& process) const {
  return std::find(outlived_.begin(), outlived_.end(), &process) != outlived_.end();
}

void Group::EndAllOutlived() {
  for (Process* process : outlived_) {
    scene_.agenda.After(scene_.dice.Time(0, 8 * kSecond), nullptr,
                        [this, process] { EndOutlived(*process, /*told=*/true); });
  }
}

void Group::Supervise() {
  for (Process* process : std::vector<Process*>(outlived_)) {
    const bool refused = process->node().running() && process->link().ended();
    if (refused && process->idle()) EndOutlived(*process, /*told=*/true);
  }
  for (Rank rank = 0; rank < world_size(); ++rank) {
    const Process& process = *ranks_[rank].process;
    const bool refused = process.node().running() && process.link().ended();
    if (refused && process.idle()) Kill(rank, true);
  }
}

bool Group::complete() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const RankState& rank) {
    return !rank.starting && rank.process->node().running() && rank.process->link().up();
  });
}

bool Group::copying() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const RankState& rank) {
    return rank.process != nullptr && rank.process->node().running() &&
           rank.process->copies().making();
  });
}

// --- one operation after another -----------------------------------------------------------------

std::vector<Fingerprint> Group::layouts() const {
  std::vector<Fingerprint> layouts;
  for (const auto& rank : ranks_) layouts.push_back(rank.place->layout->fingerprint());
  return layouts;
}

void Group::SetResting(bool resting) {
  const bool wakes = resting_ && !resting;
  resting_ = resting;
  if (wakes) NextLater();
}

void Group::TakeBack() {
  if (busy() || resting_ || for_good_) return;
  Operation operation;
  operation.kind = Kind::kUnpublish;
  operation.at_once = true;
  Run(operation);
}

void Group::NextLater() {
  const Nanos pause = trains_ ? scene_.dice.Time(300 * kMillisecond, 4 * kSecond)
                              : scene_.dice.Time(100 * kMillisecond, 3 * kSecond);
  scene_.agenda.After(pause, nullptr, [this, number = number_] {
    if (number == number_ && !busy() && !resting_) Next();
  });
}

void Group::Next() { Run(Draw()); }

Group::Operation Group::Draw() {
  Operation operation;
  operation.drain_ms = TimeMs(scene_.dice.Below(3) == 0 ? 0 : scene_.dice.Below(4000));
  operation.timeout_ms = TimeMs(200 + scene_.dice.Below(scene_.dice.Below(2) == 0 ? 3000 : 30000));
  if (scene_.faults_on && scene_.dice.Below(40) == 0) {
    operation.leaves_after = scene_.dice.Time(kMillisecond, 500 * kMillisecond);
  } else if (scene_.faults_on && scene_.dice.Below(40) == 0) {
    operation.taken_back = scene_.dice.Time(kMillisecond, 3 * kSecond);
  }
  const uint64_t dice = scene_.dice.Below(100);
  const TimeMs timeout_ms = operation.timeout_ms;
  if (dice < (trains_ ? 75u : 3u)) {
    const Operation training = DrawTraining();
    operation.kind = training.kind;
    operation.version = training.version;
    operation.content = training.content;
    operation.supersede = training.supersede;
    operation.number = training.number;
    operation.wait_for_group = training.wait_for_group;
  } else if (dice < 78) {
    operation.kind = Kind::kFetch;
    operation.selector = DrawFetch().selector;
  } else if (dice < 85) {
    operation.kind = Kind::kUnpublish;
  } else if (dice < 90) {
    operation.kind = Kind::kPublishAgain;
  } else if (dice < 97) {
    operation.kind = Kind::kWait;
    operation.timeout_ms = timeout_ms / 4;
  } else {
    operation.kind = Kind::kLeave;
  }
  return operation;
}

// A new version, one that another group has published, or an old one in a new term.
Group::Operation Group::DrawTraining() {
  Operation operation;
  operation.kind = Kind::kTrain;
  const uint64_t dice = scene_.dice.Below(100);
  operation.supersede = dice >= 94 || (fenced_ && scene_.dice.Below(2) == 0);
  if (operation.supersede && model_.newest > 0) {
    const VersionNumber back = scene_.dice.Below(4) == 0 ? model_.newest : 3;
    operation.version = model_.newest + 1 - std::min(scene_.dice.Below(back), model_.newest);
    model_.newest = std::max(model_.newest, operation.version);
  } else if (model_.newest == 0 || (trains_ && dice < 65)) {
    operation.version = model_.newest += 1 + scene_.dice.Below(2);
  } else {
    operation.version = model_.newest;
  }
  operation.wait_for_group = scene_.dice.Below(3) == 0;
  // A group that goes back has its own bytes; its ranks agree on them while one of them has them.
  const VersionNumber version = operation.version;
  const std::string own_name = absl::StrCat(model_.name, "/", ranks_[0].place->key.group);
  operation.number = {operation.supersede ? own_name : model_.name, version};
  const bool used = operation.supersede ? IsUsedHere(version) : IsUsed(version);
  operation.content = scene_.contents.ForPublish(operation.number, used, scene_.agenda.now());
  // Of several ranks, all would have to begin anew with it at once.
  const bool own = world_size() == 1 && scene_.Happens(scene_.plan.other_bytes);
  if (own) operation.content = scene_.contents.OfItsOwn();
  return operation;
}

Group::Operation Group::DrawFetch() {
  Operation operation;
  operation.partial = scene_.dice.Below(4) > 0;
  const uint64_t dice = scene_.dice.Below(100);
  if (dice < 60 || model_.newest == 0) {
    operation.selector = {VersionSelector::Kind::kLatest, 0};
  } else if (dice < 80) {
    const VersionNumber back = scene_.dice.Below(3);
    operation.selector = {VersionSelector::Kind::kExact,
                          model_.newest - std::min(back, model_.newest)};
  } else if (const auto held = ranks_[0].process->Report().holding; held && dice < 90) {
    operation.selector = {VersionSelector::Kind::kNewerThan, held->version};
  } else {
    const VersionNumber back = scene_.dice.Below(2);
    operation.selector = {VersionSelector::Kind::kNewerThan,
                          model_.newest - std::min(back, model_.newest)};
  }
  return operation;
}

bool Group::IsUsedHere(VersionNumber version) const {
  return std::any_of(ranks_.begin(), ranks_.end(), [version](const RankState& rank) {
    const auto holding = rank.process->Report().holding;
    return !rank.process->node().dead() && holding && holding->version == version;
  });
}

// Somebody has it, or the hub believes so: then the number means what it meant.
bool Group::IsUsed(VersionNumber version) const {
  const bool held =
      std::any_of(scene_.processes.begin(), scene_.processes.end(), [&](const auto& process) {
        if (process->node().dead() || process->identity().key.model != model_.name) return false;
        const auto holding = process->Report().holding;
        return holding && holding->version == version;
      });
  if (held) return true;
  if (!scene_.hub->up()) return false;
  const auto views = scene_.hub->core().Versions(model_.name);
  return std::any_of(views.begin(), views.end(),
                     [version](const auto& view) { return view.version == version; });
}

void Group::Run(const Operation& operation) {
  operation_ = operation;
  ++number_;
  began_ = scene_.agenda.now();
  outcomes_.assign(ranks_.size(), absl::UnknownError("under way"));
  if (operation.kind == Kind::kTrain) scene_.contents.Use(operation.number);
  for (Rank rank = 0; rank < world_size(); ++rank) unfinished_.insert(rank);
  for (Rank rank = 0; rank < world_size(); ++rank) {
    const Nanos skew =
        operation.at_once
            ? 0
            : scene_.dice.Time(0, scene_.dice.Below(4) == 0 ? kSecond : 5 * kMillisecond);
    scene_.agenda.After(skew, nullptr, [this, rank, number = number_] { RunRank(rank, number); });
  }
}

void Group::RunRank(Rank rank, uint64_t number) {
  if (number != number_ || !unfinished_.contains(rank)) return;
  Process* process = ranks_[rank].process;
  if (process->link().ended()) {
    Kill(rank, true);  // refused for good: its owner starts another one
    return RankDone(rank, number, absl::AbortedError("refused"));
  }
  if (process->node().dead() || ranks_[rank].starting || !process->link().connected()) {
    if (for_good_) return RankDone(rank, number, absl::OkStatus());
    if (scene_.agenda.now() - began_ > kConnectPatience) {
      return RankDone(rank, number, absl::UnavailableError("not connected"));
    }
    scene_.agenda.After(200 * kMillisecond, nullptr,
                        [this, rank, number] { RunRank(rank, number); });
    return;
  }
  // Whoever is stopped does this later.
  scene_.agenda.Do(process->node(), [this, rank, number, process] {
    if (ranks_[rank].process != process) return;
    const auto done = [this, rank, number](const absl::Status& status) {
      RankDone(rank, number, status);
    };
    switch (operation_.kind) {
      case Kind::kTrain:
        return Train(rank, number);
      case Kind::kPublishAgain: {
        const auto holding = process->Report().holding;
        if (!holding || !holding->complete) return done(absl::OkStatus());
        // A publisher's digests are of the bytes that are there: they would vouch for the rot.
        if (process->memory().rotten()) return done(absl::OkStatus());
        process->KeepContent(scene_.contents.Of(holding->publication));
        const agent::PublishVerb verb{.version = holding->version, .timeout_ms = 5000};
        return Ask(rank, number, verb, done);
      }
      case Kind::kFetch:
        return Ask(rank, number,
                   agent::FetchVerb{.selector = operation_.selector,
                                    .timeout_ms = operation_.timeout_ms,
                                    .partial = operation_.partial},
                   done);
      case Kind::kUnpublish:
        return Unpublish(rank, number, done);
      case Kind::kWait:
        return Wait(rank, number);
      case Kind::kLeave:
        return Leave(rank, number);
    }
  });
}

void Group::RankDone(Rank rank, uint64_t number, const absl::Status& status) {
  if (number != number_ || unfinished_.erase(rank) == 0) return;
  if (operation_.kind == Kind::kTrain) fenced_ = absl::IsFailedPrecondition(status);
  outcomes_[rank] = status;
  if (unfinished_.empty()) End();
}

void Group::End() {
  if (operation_.kind == Kind::kTrain) {
    scene_.contents.Unuse(operation_.number, scene_.agenda.now());
  }
  if (!resting_) NextLater();
}

// --- what a rank does ----------------------------------------------------------------------------

void Group::Ask(Rank rank, uint64_t number, const agent::Verb& verb, const Done& done) {
  Process& process = *ranks_[rank].process;
  if (operation_.leaves_after != 0 && rank == 0) {
    scene_.agenda.After(
        operation_.leaves_after, &process.node(),
        [&process, drain_ms = operation_.drain_ms] { process.AskToLeave(drain_ms); });
  }
  if (operation_.taken_back != 0) {
    scene_.agenda.After(operation_.taken_back, &process.node(), [this, number, &process] {
      if (number == number_) process.AskToCancel();
    });
  }
  process.Ask(verb, [this, rank, number, done, &process](const agent::VerbDone& result) {
    if (std::holds_alternative<agent::FetchVerb>(process.verb()) && result.status.ok()) {
      ++scene_.counts.fetched;
      fetched_ = result.fetch.version;
    }
    ScribbleIfFree(process);
    if (IsOutlived(process)) return;
    if (operation_.leaves_after != 0 && rank == 0 && number == number_) {
      return Leave(rank, number);
    }
    done(result.status);
  });
}

// The owner finds out what its buffers hold; if that is nothing, they are its own.
void Group::ScribbleIfFree(Process& process) {
  const auto holding = process.Report().holding;
  if (!holding || !holding->complete) process.Scribble();
}

void Group::Unpublish(Rank rank, uint64_t number, const Done& done) {
  const TimeMs drain_ms = operation_.drain_ms;
  const agent::UnpublishVerb verb{.drain_ms = drain_ms, .force = operation_.at_once};
  Ask(rank, number, verb, [=, this](const auto& status) {
    // R7: the last copy stays, or its owner insists.
    const bool insists = absl::IsResourceExhausted(status) && scene_.dice.Below(2) == 0;
    if (!insists || number != number_) return done(status);
    Ask(rank, number, agent::UnpublishVerb{.drain_ms = drain_ms, .force = true}, done);
  });
}

void Group::Train(Rank rank, uint64_t number) {
  Unpublish(rank, number, [this, rank, number](const absl::Status& status) {
    if (!status.ok()) return RankDone(rank, number, status);
    Process* process = ranks_[rank].process;
    scene_.agenda.After(scene_.dice.Time(0, 300 * kMillisecond), &process->node(),
                        [this, rank, number] { Publish(rank, number); });
  });
}

void Group::Publish(Rank rank, uint64_t number) {
  if (number != number_ || !unfinished_.contains(rank)) return;
  ranks_[rank].process->WriteContent(operation_.content);
  const bool alike = !cuts() || world_size() == 1 || !scene_.Happens(scene_.plan.unlike);
  if (!alike) ranks_[rank].process->BeUnlike();
  agent::PublishVerb verb;
  verb.version = operation_.version;
  verb.wait_for_group = operation_.wait_for_group;
  verb.supersede = operation_.supersede;
  verb.timeout_ms = operation_.timeout_ms;
  Ask(rank, number, verb,
      [this, rank, number](const absl::Status& status) { RankDone(rank, number, status); });
}

void Group::Wait(Rank rank, uint64_t number) {
  ++scene_.counts.operations;
  WaitRequest request;
  request.newer_than = model_.newest == 0 ? 0 : model_.newest - scene_.dice.Below(2);
  request.any = scene_.dice.Below(3) == 0;
  const auto held = ranks_[rank].process->Report().holding;
  if (held && !request.any && scene_.dice.Below(2) == 0) {
    request.newer_than = held->version;
    request.held_in = held->term->number;  // an agent always knows it
  }
  request.max_lag = scene_.dice.Below(2);
  request.timeout_ms = operation_.timeout_ms;
  ranks_[rank].process->link().Wait(request, [this, rank, number](const absl::Status& status) {
    if (status.ok()) ++scene_.counts.succeeded;
    RankDone(rank, number, status);
  });
}

void Group::Leave(Rank rank, uint64_t number) {
  Process& process = *ranks_[rank].process;
  // Together, so that they have the same time.
  auto left = std::make_shared<int>(2);
  const Action one_less = [this, rank, number, &process, left] {
    if (--*left > 0 || process.node().dead()) return;
    Kill(rank, true);
    RankDone(rank, number, absl::OkStatus());
  };
  process.copies().Leave(operation_.drain_ms, one_less);
  process.AskToLeave(operation_.drain_ms);
  process.Ask(agent::LeaveVerb{operation_.drain_ms}, [&process, one_less](const agent::VerbDone&) {
    process.Scribble();
    one_less();
  });
}

void Group::FetchLatest(TimeMs timeout_ms) {
  Operation operation;
  operation.kind = Kind::kFetch;
  operation.timeout_ms = timeout_ms;
  Run(operation);
}

void Group::LeaveForGood() {
  for_good_ = true;
  if (scene_.dice.Below(3) == 0) Kill(0, /*told=*/false);
  Operation operation;
  operation.kind = Kind::kLeave;
  Run(operation);
}

}  // namespace tensorhub::fault
