// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/copies.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/sim/process.h"

namespace tensorhub::fault {
namespace {

constexpr Nanos kLook = 20 * kMillisecond;
// What readers of a copy have that nobody wants any more.
constexpr TimeMs kReleaseMs = 10'000;

}  // namespace

void Copies::Make(VersionNumber version, TimeMs within_ms) {
  to_make_[version] = scene_.agenda.now() + within_ms * kMillisecond;
  MakeNext();
}

// One after the other.
void Copies::MakeNext() {
  if (making_ || leaving_ || to_make_.empty()) return;
  const auto [version, deadline] = *to_make_.begin();
  to_make_.erase(to_make_.begin());
  making_ = true;
  Begin(version, deadline);
}

bool Copies::Has(VersionNumber version) const {
  const auto copy = copies_.find(version);
  if (copy == copies_.end() || copy->second.released) return false;
  const auto holding = copy->second.process->Report().holding;
  return holding && holding->complete && !copy->second.process->link().ended();
}

// Copies on their way out make room.
void Copies::Begin(VersionNumber version, Nanos deadline) {
  if (leaving_) return;
  if (Has(version)) return Fetch(version, deadline);
  if (const auto rest = copies_.find(version); rest != copies_.end()) {
    Drop(*rest->second.process, /*told=*/true);
  }
  if (copies_.size() < place_.copies) return Connect(version, deadline);
  const bool room_comes = std::any_of(copies_.begin(), copies_.end(),
                                      [](const auto& copy) { return copy.second.released; });
  if (!room_comes || scene_.agenda.now() >= deadline) {
    return Made(version, absl::ResourceExhaustedError("no memory for another copy"));
  }
  scene_.agenda.After(kLook, &keeper_.node(),
                      [this, version = version, deadline] { Begin(version, deadline); });
}

void Copies::Connect(VersionNumber version, Nanos deadline) {
  Place& place = places_.emplace_back(place_);
  absl::StrAppend(&place.key.group, ".copy.", version);
  place.copy_of = place_.key.group;
  place.copies = 0;
  Process& process = AddProcess(scene_, place);
  copies_[version] = {&process};
  process.SetOnReleased([this, version, &process] { Release(version, process); });
  process.Begin();
  Fetch(version, deadline);
}

void Copies::Fetch(VersionNumber version, Nanos deadline) {
  const auto copy = copies_.find(version);
  if (leaving_) return;
  if (copy == copies_.end()) return Made(version, absl::AbortedError("it was given up"));
  Process& process = *copy->second.process;
  const TimeMs left_ms = (deadline - scene_.agenda.now()) / kMillisecond;
  if (process.link().ended() || left_ms <= 0) {
    if (!Has(version)) Drop(process, /*told=*/true);
    return Made(version, absl::UnavailableError("the copy cannot connect"));
  }
  if (!process.link().connected() || !process.idle()) {
    return scene_.agenda.After(kLook, &keeper_.node(),
                               [this, version, deadline] { Fetch(version, deadline); });
  }
  process.Ask(agent::FetchVerb{.selector = {VersionSelector::Kind::kExact, version},
                               .timeout_ms = left_ms,
                               .waits_out_outages = false,
                               .partial = true},
              [this, version, &process](const agent::VerbDone& done) {
                if (leaving_) return;
                if (done.status.ok() || Has(version)) return Made(version, done.status);
                // Its memory is for the next one.
                if (std::exchange(copies_.at(version).released, true)) {
                  return Made(version, done.status);
                }
                Leave(process, 0, [this, version, status = done.status] { Made(version, status); });
              });
}

void Copies::Made(VersionNumber version, const absl::Status& status) {
  making_ = false;
  if (leaving_) return;
  if (status.ok()) ++scene_.counts.copies;
  const bool told = !status.ok() && !absl::IsCancelled(status) && !to_make_.contains(version);
  if (told) {
    scene_.Log(keeper_.name(), " makes no copy of ", version, ": ", status.ToString());
    scene_.agenda.Do(keeper_.node(), [this, version, status] {
      keeper_.Step(protocol::CopyFailed{version, status});
    });
  }
  MakeNext();
}

void Copies::Release(VersionNumber version, Process& process) {
  const auto copy = copies_.find(version);
  if (leaving_ || copy == copies_.end() || copy->second.process != &process) return;
  copy->second.release_again = copy->second.released;
  if (!std::exchange(copy->second.released, true)) GiveUp(version, process);
}

// It may be wanted again by now.
void Copies::GiveUp(VersionNumber version, Process& process) {
  if (leaving_) return;
  if (!process.idle()) {
    return scene_.agenda.After(kLook, &process.node(),
                               [this, version, &process] { GiveUp(version, process); });
  }
  process.Ask(agent::UnpublishVerb{.drain_ms = kReleaseMs},
              [this, version, &process](const agent::VerbDone& done) {
                if (leaving_) return;
                if (!absl::IsResourceExhausted(done.status)) {
                  return Leave(process, kReleaseMs, [] {});
                }
                Copy& copy = copies_.at(version);
                copy.released = false;
                if (std::exchange(copy.release_again, false)) Release(version, process);
              });
}

void Copies::Leave(Process& process, TimeMs drain_ms, const Action& done) {
  process.AskToLeave(drain_ms);
  LeaveWhenIdle(process, drain_ms, done);
}

void Copies::LeaveWhenIdle(Process& process, TimeMs drain_ms, const Action& done) {
  if (!process.idle()) {
    return scene_.agenda.After(kLook, &process.node(), [this, &process, drain_ms, done] {
      LeaveWhenIdle(process, drain_ms, done);
    });
  }
  process.Ask(agent::LeaveVerb{drain_ms}, [this, &process, done](const agent::VerbDone&) {
    process.Scribble();
    Drop(process, /*told=*/true);
    done();
  });
}

void Copies::Leave(TimeMs drain_ms, const Action& done) {
  leaving_ = true;
  auto left = std::make_shared<size_t>(1);
  const Action one_less = [left, done] {
    if (--*left == 0) done();
  };
  for (const auto& [version, copy] : std::map<VersionNumber, Copy>(copies_)) {
    const bool stays = !copy.released && copy.process->link().connected();
    if (!stays) {
      Drop(*copy.process, /*told=*/true);
      continue;
    }
    ++*left;
    Leave(*copy.process, drain_ms, one_less);
  }
  one_less();
}

void Copies::Drop(Process& process, bool told) {
  std::erase_if(copies_, [&](const auto& copy) { return copy.second.process == &process; });
  process.Kill(told);
}

void Copies::Kill(bool told) {
  leaving_ = true;
  for (Process* process : running()) Drop(*process, told);
}

std::vector<Process*> Copies::running() const {
  std::vector<Process*> all;
  for (const auto& [version, copy] : copies_) all.push_back(copy.process);
  return all;
}

}  // namespace tensorhub::fault
