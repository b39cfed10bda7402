// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/silence.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace tensorhub::hub {

void Silence::HearSomebody() {
  if (IsCutOff()) {
    Forgive(
        absl::StrCat("this server was cut off: it heard nobody for ", turn_.now() - heard_, " ms"));
  }
  heard_ = turn_.now();
  cut_off_said_ = false;
}

void Silence::Hear(Worker& worker) {
  HearSomebody();
  worker.heard = turn_.now();
  worker.lease_end = turn_.now() + options_.lease_ms;
}

bool Silence::FellSilent(const Worker& worker) {
  return worker.alive && (worker.session != 0 || worker.fell_silent);
}

void Silence::SetFellSilent(Worker& worker, bool silent) {
  if (worker.fell_silent) --fell_silent_;
  if (silent) ++fell_silent_;
  worker.fell_silent = silent;
}

// Two that fall silent together are not two that have died, as far as anybody can tell.
bool Silence::IsCutOff() const {
  constexpr size_t kTogether = 2;
  const TimeMs silence = turn_.now() - heard_;
  if (silence < options_.lease_ms - options_.heartbeat_ms) return false;
  if (silence > options_.cut_off_ms) return false;
  return roster_.connected() + fell_silent_ >= kTogether;
}

bool Silence::Excuses(Worker& worker) {
  if (!FellSilent(worker) || !IsCutOff()) return false;
  if (!std::exchange(cut_off_said_, true)) {
    turn_.Say(LogLine::Level::kWarning,
              absl::StrCat(
                  "no worker is heard any more, since ", turn_.now() - heard_,
                  " ms: this server may be cut off; nobody is taken for dead until one is heard"));
  }
  worker.lease_timer = turn_.now() + options_.heartbeat_ms;
  turn_.SetTimer(Timer{worker.lease_timer, Timer::Kind::kLease, worker.serial, 0});
  return true;
}

void Silence::Forgive(const std::string& why) {
  turn_.Say(LogLine::Level::kWarning,
            absl::StrCat(why, "; every worker has another ", options_.lease_ms, " ms to be heard"));
  heard_ = turn_.now();
  roster_.ForEachAlive([&](Worker& worker) { worker.lease_end = turn_.now() + options_.lease_ms; });
  if (turn_.recovering()) turn_.SetGrace(turn_.now() + options_.lease_ms);
}

void Silence::CheckInvariants() const {
  size_t silent = 0;
  for (const auto& [key, worker] : roster_.workers()) silent += worker.fell_silent ? 1 : 0;
  TH_CHECK(silent == fell_silent_);
}

}  // namespace tensorhub::hub
