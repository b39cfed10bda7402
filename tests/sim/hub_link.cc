// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/hub_link.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/remedy.h"
#include "tests/sim/details.h"
#include "tests/sim/process.h"
#include "tools/sim/core_events.h"
#include "worker_agent/core/refusal.h"

namespace tensorhub::fault {
namespace {

constexpr Nanos kLatencyMin = 50 * kMicrosecond;
constexpr Nanos kLatencyMax = 600 * kMicrosecond;
constexpr TimeMs kFirstBackOffMs = 100;
constexpr TimeMs kLongestBackOffMs = 1000;
constexpr Nanos kConnectTimeout = 2 * kSecond;
constexpr Nanos kKeepAlive = 15 * kSecond;

}  // namespace

Nanos HubLink::Latency() {
  Nanos latency = scene_.dice.Time(kLatencyMin, kLatencyMax);
  if (scene_.Happens(scene_.plan.control_delay)) {
    latency += scene_.dice.Time(0, scene_.plan.control_delay_max);
  }
  return latency;
}

void HubLink::Up(Nanos arrival, Action action) {
  scene_.agenda.At(arrival, nullptr,
                   [this, life = scene_.hub->life(), action = std::move(action)]() mutable {
                     if (up_blocked_ || !parked_up_.empty()) {
                       parked_up_.push_back({life, std::move(action)});
                     } else {
                       HandUp(life, std::move(action));
                     }
                   });
}

void HubLink::HandUp(uint32_t life, Action action) {
  if (!scene_.hub->up() || scene_.hub->life() != life) return;
  scene_.agenda.Do(scene_.hub->node(), std::move(action));
}

void HubLink::Down(Nanos arrival, Action action) {
  scene_.agenda.At(arrival, nullptr, [this, action = std::move(action)]() mutable {
    if (down_blocked_ || !parked_down_.empty()) return parked_down_.push_back(std::move(action));
    scene_.agenda.Do(process_.node(), std::move(action));
  });
}

// --- the session ---------------------------------------------------------------------------------

void HubLink::Connect() { Open(); }

// On a new connection: that the old one is dead may be noticed later.
void HubLink::Open() {
  state_ = State::kOpening;
  dead_line_ = false;
  stream_ = &scene_.hub->NewStream(process_);
  ++number_;
  const bool reachable = scene_.hub->up() && !up_blocked_ && !down_blocked_;
  scene_.agenda.After(reachable ? kKeepAlive : kConnectTimeout, &process_.node(),
                      [this, stream = stream_] { OnOpeningTimeout(stream); });
  if (!scene_.hub->up()) {
    scene_.agenda.After(Latency(), &process_.node(),
                        [this, stream = stream_] { OnOpeningTimeout(stream); });
    return;
  }
  hub::SessionOpened opened = process_.Opening();
  opened.session = stream_->session;
  opened.number = number_;
  opened.resumed = connected_;
  opened.known_store = known_.store_id;
  opened.known_hub_epoch = known_.epoch;
  stream_->last_up = scene_.agenda.now() + Latency();
  Up(stream_->last_up, [this, stream = stream_, opened, known = known_] {
    if (scene_.agenda.now() >= stream->up_cut) return;
    scene_.hub->OpenSession(*stream, opened, known);
  });
}

void HubLink::MoveLater() {
  scene_.agenda.After(0, &process_.node(), [this] { Move(); });
}

void HubLink::Move() {
  if (state_ != State::kUp && state_ != State::kOpening) return;
  stream_->up_cut = stream_->down_cut = scene_.agenda.now();
  if (scene_.hub->up() && scene_.hub->life() == stream_->life) {
    Up(scene_.agenda.now() + Latency(), [this, cut = stream_] { scene_.hub->CloseSession(*cut); });
  }
  if (state_ == State::kUp) process_.Step(agent::SessionDown{});
  Open();
}

void HubLink::OnOpeningTimeout(const Stream* stream) {
  if (stream != stream_ || state_ != State::kOpening) return;
  stream_->up_cut = stream_->down_cut = scene_.agenda.now();
  if (scene_.hub->up() && scene_.hub->life() == stream->life) {
    Up(scene_.agenda.now() + Latency(), [this, cut = stream_] { scene_.hub->CloseSession(*cut); });
  }
  OnEnd(absl::UnavailableError("no answer"));
}

void HubLink::Send(const agent::SessionSend& send) {
  if (state_ != State::kUp || dead_line_) return;
  stream_->last_up = std::max(stream_->last_up + 1, scene_.agenda.now() + Latency());
  Up(stream_->last_up,
     [this, stream = stream_, event = hub::Heard(send.message, stream_->session)] {
       if (scene_.agenda.now() < stream->up_cut) scene_.hub->FromSession(*stream, event);
     });
}

void HubLink::SendDown(Stream& stream, const hub::Directive& directive,
                       const ServerIdentity& identity) {
  stream.last_down = std::max(stream.last_down + 1, scene_.agenda.now() + Latency());
  Down(stream.last_down, [this, &stream, directive, identity] {
    if (scene_.agenda.now() < stream.down_cut) OnDown(stream, directive, identity);
  });
}

void HubLink::SendEnd(Stream& stream, const absl::Status& status) {
  stream.last_down = std::max(stream.last_down + 1, scene_.agenda.now() + Latency());
  Down(stream.last_down, [this, &stream, status] {
    if (scene_.agenda.now() >= stream.down_cut || stream_ != &stream) return;
    if (leaving_ && status.ok()) {
      state_ = State::kEnded;
      return;
    }
    OnEnd(status.ok() ? absl::UnavailableError("the server ended the session") : status);
  });
}

void HubLink::OnDown(Stream& stream, const hub::Directive& directive,
                     const ServerIdentity& identity) {
  if (&stream != stream_ || state_ == State::kEnded) return;
  if (scene_.listener != nullptr) {
    scene_.Said(kServer, process_.name(), NameOf(directive), DetailOf(directive));
  }
  if (std::holds_alternative<hub::Welcome>(directive.body)) {
    return OnWelcome(directive, identity);
  }
  if (state_ != State::kUp) return;
  process_.Step(sim::ToAgent(directive));
}

void HubLink::OnWelcome(const hub::Directive& directive, const ServerIdentity& identity) {
  if (state_ != State::kOpening) return;
  const Id128& adopts = std::get<hub::Welcome>(directive.body).adopts;
  const bool another = known_.store_id && identity.store_id && known_.store_id != identity.store_id;
  if (another && adopts != known_.store_id) {
    return Refuse(absl::FailedPreconditionError("the server is another one now"));
  }
  if (known_.store_id && !another && identity.epoch < known_.epoch) {
    return Refuse(absl::FailedPreconditionError("the server runs on old data"));
  }
  known_ = identity;
  state_ = State::kUp;
  failures_ = 0;
  connected_ = true;
  process_.Step(sim::ToAgent(directive));
}

void HubLink::OnEnd(const absl::Status& status) {
  if (state_ == State::kEnded) return;
  const bool was_up = state_ == State::kUp;
  stream_ = nullptr;
  state_ = State::kIdle;
  if (was_up) process_.Step(agent::SessionDown{});
  const bool predecessor = !connected_ && absl::IsAlreadyExists(status);
  const bool waits = scene_.plan.adopts && RemedyOf(status) == Remedy::kAwaitAdoption;
  if (agent::IsRefusal(status) && !predecessor && !waits) return Refuse(status);
  RetryLater();
}

void HubLink::Refuse(const absl::Status& status) {
  scene_.Log(process_.name(), " is refused: ", std::string(status.message()));
  state_ = State::kEnded;
  if (stream_ != nullptr) CutNow(kNever, 0);
  if (connected_) process_.Step(agent::SessionRefused{status});
}

void HubLink::RetryLater() {
  const TimeMs step = std::min(kLongestBackOffMs, kFirstBackOffMs << std::min(failures_, 10));
  ++failures_;
  const TimeMs wait = step / 2 + TimeMs(scene_.dice.Below(uint64_t(step / 2)));
  scene_.agenda.After(wait * kMillisecond, &process_.node(), [this] {
    if (state_ == State::kIdle) Open();
  });
}

// --- faults --------------------------------------------------------------------------------------

// What is under way may still arrive, for a moment; then nothing does. Each side finds out for
// itself. A notice of kNever: this side knows.
void HubLink::CutNow(Nanos client_notice, Nanos hub_notice) {
  const Nanos now = scene_.agenda.now();
  Stream* stream = stream_;
  if (stream != nullptr) {
    stream->up_cut = std::min(stream->up_cut, now + scene_.dice.Time(0, kMillisecond));
    stream->down_cut = std::min(stream->down_cut, now + scene_.dice.Time(0, kMillisecond));
  }
  std::vector<hub::CallId> calls;
  for (const auto& [op, id] : running_) calls.push_back(id);
  if (put_ != 0) calls.push_back(put_);
  if (wait_call_ != 0) calls.push_back(wait_call_);
  for (const hub::CallId id : calls) {
    CallRecord& record = scene_.hub->call(id);
    record.up_cut = std::min(record.up_cut, now + scene_.dice.Time(0, kMillisecond));
    record.down_cut = std::min(record.down_cut, now + scene_.dice.Time(0, kMillisecond));
  }
  // The hub's own notice does not cross the network.
  if (scene_.hub->up()) {
    scene_.agenda.After(hub_notice + kMillisecond, nullptr,
                        [this, stream, calls, life = scene_.hub->life()] {
                          HandUp(life, [this, stream, calls] {
                            if (stream != nullptr) scene_.hub->CloseSession(*stream);
                            for (const hub::CallId id : calls) scene_.hub->CancelCall(id);
                          });
                        });
  }
  if (client_notice == kNever) return;
  dead_line_ = true;
  scene_.agenda.After(client_notice, &process_.node(), [this, stream] {
    dead_line_ = false;
    FailCalls();
    if (stream != nullptr && stream == stream_) OnEnd(absl::UnavailableError("connection lost"));
  });
}

void HubLink::Break() {
  if (dead_line_ || state_ == State::kEnded) return;
  const Nanos longest = scene_.dice.Below(2) == 0 ? 50 * kMillisecond : 8 * kSecond;
  const Nanos hub_notice = scene_.dice.Time(0, longest);
  CutNow(scene_.dice.Time(0, 50 * kMillisecond), hub_notice);
}

void HubLink::OnHubGone() {
  if (state_ == State::kEnded) return;
  const bool silent = scene_.dice.Below(8) == 0;
  CutNow(silent ? scene_.dice.Time(0, kKeepAlive) : scene_.dice.Time(0, 300 * kMillisecond), 0);
}

void HubLink::Block(bool up, bool down) {
  up_blocked_ = up_blocked_ || up;
  down_blocked_ = down_blocked_ || down;
  scene_.agenda.After(scene_.dice.Time(kSecond, kKeepAlive), nullptr, [this] {
    if (!up_blocked_ && !down_blocked_) return;
    if (process_.node().dead() || dead_line_ || state_ == State::kEnded) return;
    CutNow(0, scene_.dice.Time(0, 10 * kSecond));
  });
}

void HubLink::Unblock() {
  up_blocked_ = down_blocked_ = false;
  for (Parked& parked : std::exchange(parked_up_, {})) {
    HandUp(parked.life, std::move(parked.action));
  }
  for (Action& action : std::exchange(parked_down_, {})) {
    scene_.agenda.Do(process_.node(), std::move(action));
  }
}

void HubLink::OnKilled(bool told) {
  CutNow(kNever, told ? scene_.dice.Time(0, 100 * kMillisecond)
                      : scene_.dice.Time(5 * kSecond, 20 * kSecond));
}

}  // namespace tensorhub::fault
