// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R8: whose silence it is. A lease says that a worker which is not heard is gone. Where nobody is
// heard at all it is this server that was stopped, or cut off: then silence proves nothing, and as
// after a start everybody has one lease from the moment at which it hears again.

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/state.h"

namespace tensorhub::hub {

// Any word of anybody who wants to be a worker.
void Hub::State::HearSomebody() {
  if (IsCutOff()) {
    ForgiveSilence(
        absl::StrCat("this server was cut off: it heard nobody for ", now_ - heard_, " ms"));
  }
  heard_ = now_;
  cut_off_said_ = false;
}

void Hub::State::Hear(Worker& worker) {
  HearSomebody();
  worker.heard = now_;
  worker.lease_end = now_ + options_.lease_ms;
}

// A process that ends closes its session; its host, or the network, does not.
bool Hub::State::FellSilent(const Worker& worker) const {
  return worker.alive && (worker.session != 0 || worker.fell_silent);
}

void Hub::State::SetFellSilent(Worker& worker, bool silent) {
  fell_silent_ += static_cast<int>(silent) - static_cast<int>(worker.fell_silent);
  worker.fell_silent = silent;
}

// Two that fall silent together are not two that have died, as far as anybody can tell.
bool Hub::State::IsCutOff() const {
  constexpr size_t kTogether = 2;
  const TimeMs silence = now_ - heard_;
  if (silence < options_.lease_ms - options_.heartbeat_ms) return false;
  if (silence > options_.cut_off_ms) return false;
  return sessions_.size() + static_cast<size_t>(fell_silent_) >= kTogether;
}

// Instead of the end of its lease; asked again soon.
bool Hub::State::IsExcused(Worker& worker) {
  if (!FellSilent(worker) || !IsCutOff()) return false;
  if (!std::exchange(cut_off_said_, true)) {
    Say(LogLine::Level::kWarning,
        absl::StrCat(
            "no worker is heard any more, since ", now_ - heard_,
            " ms: this server may be cut off; nobody is taken for dead until one is heard"));
  }
  worker.lease_timer = now_ + options_.heartbeat_ms;
  timers_.insert(Timer{worker.lease_timer, Timer::Kind::kLease, worker.serial, 0});
  return true;
}

// R8: one that stands still lives, and holds what it holds, but serves nobody: so its lease is
// renewed, and it is absent.
void Hub::State::NoteStall(Worker& worker, TimeMs stalled_ms) {
  const bool before = worker.stalled_ms > 0;
  worker.stalled_ms = stalled_ms;
  graph_.SetAbsent(worker, stalled_ms > 0);
  if (before == (stalled_ms > 0)) return;
  Say(LogLine::Level::kWarning,
      before ? absl::StrCat(ToString(worker.id.key), " goes on")
             : absl::StrCat(ToString(worker.id.key), " stands still, since ", stalled_ms,
                            " ms: it lives, and serves nobody meanwhile; its own log says why"));
}

void Hub::State::ForgiveSilence(const std::string& why) {
  Say(LogLine::Level::kWarning,
      absl::StrCat(why, "; every worker has another ", options_.lease_ms, " ms to be heard"));
  heard_ = now_;
  for (auto& [key, worker] : workers_) {
    if (worker.alive) worker.lease_end = now_ + options_.lease_ms;
  }
  if (!recovering_) return;
  BeginRecovery(now_ + options_.lease_ms);
}

// An outage lasts no longer than a switch takes to restart: who is away for longer is dead.
void Hub::State::NoteAway(const WorkerIdentity& worker, const PublicationId& publication,
                          bool withdrawn) {
  changes_.workers.insert(worker.key);
  if (away_.size() >= options_.limits.dead_workers) {  // R9
    if (withdrawn) {
      Say(LogLine::Level::kWarning,
          absl::StrCat("too many workers are away: that ", ToString(worker.key),
                       " is out of service is forgotten; drain it again when it comes back"));
    }
    return;
  }
  away_[worker.key] = {worker.incarnation, publication, now_ + options_.cut_off_ms, withdrawn};
  SetAwayTimer();
}

// The worker was there before the restart, and has not come back. What it held is not known; if
// nobody holds the latest version, it may have been that.
void Hub::State::NoteUnaccounted(const WorkerKey& key, const Expected& expected) {
  const Worker* other = FindWorker(key);
  if (other != nullptr && other->alive) return;
  PublicationId lost;
  const auto model = models_.find(key.model);
  if (model != models_.end() && model->second.latest) {
    const PublicationId& latest = model->second.visible.at(*model->second.latest);
    const Publication* held = FindPublication(key.model, latest);
    if (held == nullptr || !held->listed()) lost = latest;
  }
  if (lost || expected.withdrawn) NoteAway({key, expected.incarnation}, lost, expected.withdrawn);
}

// The worker reports what it holds, or another process has its place.
void Hub::State::ComesBack(const WorkerKey& key) {
  if (away_.erase(key) > 0) changes_.workers.insert(key);
}

void Hub::State::SetAwayTimer() {
  if (away_timer_ || away_.empty()) return;
  const auto first = std::min_element(
      away_.begin(), away_.end(),
      [](const auto& one, const auto& other) { return one.second.until < other.second.until; });
  away_timer_ = first->second.until;
  timers_.insert(Timer{*away_timer_, Timer::Kind::kAway, 0, 0});
}

void Hub::State::EndAway() {
  away_timer_.reset();
  for (auto it = away_.begin(); it != away_.end();) {
    const bool over = it->second.until <= now_;
    if (over) changes_.workers.insert(it->first);
    it = over ? away_.erase(it) : std::next(it);
  }
  SetAwayTimer();
}

// Some worker that may come back with it.
const WorkerKey* Hub::State::MayReturn(const std::string& model,
                                       const PublicationId& publication) const {
  for (auto it = away_.lower_bound({model, "", 0}); it != away_.end(); ++it) {
    if (it->first.model != model) return nullptr;
    if (it->second.publication == publication) return &it->first;
  }
  return nullptr;
}

}  // namespace tensorhub::hub
