// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How long a stream waits for its source, and what it does then (R8).

#include <algorithm>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/remedy.h"
#include "worker_agent/core/stream.h"

namespace tensorhub::agent {
namespace {

constexpr TimeMs kSickMs = 2000;
constexpr int kDoublingsMax = 6;

}  // namespace

void Stream::NoteLife(TimeMs now) {
  const auto known = peers_.open.find(assigned_->source.incarnation);
  if (known != peers_.open.end()) {
    TimeMs& longest = known->second.longest_gap;
    longest = std::max(longest, now - source_->heard_at);
  }
  source_->heard_at = now;
  source_->doubted = false;
}

void Stream::Heard(TimeMs now) {
  NoteLife(now);
  source_->heard = true;
}

// R8: a message takes seconds over a thin link, and its bytes show that the source lives.
void Stream::OnPeerHeard(const PeerHeard& event, TimeMs now) {
  if (!source_ || event.peer != assigned_->source.incarnation) return;
  NoteLife(now);
  pace_.NoteLoss(event.lossy);
}

bool Stream::IsFar() const { return assigned_->tier == Tier::kRemote; }

TimeMs Stream::LongestGap() const {
  const auto known = peers_.open.find(assigned_->source.incarnation);
  return known == peers_.open.end() ? 0 : known->second.longest_gap;
}

// R8: before a first answer from another datacenter there may be a connection of three round trips,
// with segments that are sent again.
TimeMs Stream::SilenceMs() const {
  const TimeMs base = options().silence_ms;
  if (!IsFar()) return base;
  return source_->heard ? std::max(base, 4 * LongestGap()) : 6 * base;
}

// R8: each connection that was made anew in vain, or for a link that is only slow, makes the next
// one come later.
TimeMs Stream::Doubled(TimeMs wait) const { return wait << std::min(anew_, kDoublingsMax); }

// R8: where a link is long, as long as no pause of a working one takes.
TimeMs Stream::AnewMs() const {
  if (!IsFar()) return options().doubt_ms;
  return Doubled(std::max(options().doubt_ms, 2 * LongestGap()));
}

// R8: a connection from before may be dead without anybody's knowing: after an outage the kernel
// sends what waits in it only when its own pauses are over, which have grown as long as the outage
// was. So the source is asked once more over another before it is doubted. And of the paths between
// two datacenters one may die, in which a connection stays for its ports' sake.
bool Stream::WouldConnectAnew() const {
  return NoOutstandingGets() && (source_->heard ? IsFar() : !source_->fresh);
}

// R8: and one may fall ill, so that bytes come, but a fraction of those that came before.
bool Stream::MayBeSick() const {
  return source_->heard && IsFar() && NoOutstandingGets() && Busy();
}

TimeMs Stream::SickMs() const { return Doubled(kSickMs); }

// Few lines, since each wait is twice the last.
void Stream::LeavePath(std::string_view brings, Effects& effects) {
  ++anew_;
  effects.emplace_back(LogLine{
      LogLine::Level::kWarning,
      absl::StrCat("the path to ", ToString(assigned_->source.key), " brings ", std::string(brings),
                   "; another connection is tried, number ", anew_, " of this read")});
}

void Stream::ConnectAnew(TimeMs now, Effects& effects) {
  const Incarnation peer = assigned_->source.incarnation;
  next_assigned_ = assigned_;
  next_assigned_->endpoint = peers_.open.at(peer).endpoint;
  LeaveSource(/*close_gets=*/false, effects);
  effects.emplace_back(ClosePeer{peer});
  peers_.open.erase(peer);
  OnGetsDrained(now, effects);
}

void Stream::OnTick(TimeMs now, Effects& effects) {
  if (close_gets_at_ && now >= *close_gets_at_) ForceQuiet(effects);
  if (!source_) return;
  const TimeMs silent_ms = now - source_->heard_at;
  const bool anew = WouldConnectAnew() && silent_ms >= AnewMs();
  if (anew && !source_->heard) return ConnectAnew(now, effects);
  if (silent_ms >= options().doubt_ms && !source_->doubted) {
    source_->doubted = true;
    effects.emplace_back(
        SessionSend{protocol::SourceSilent{transfer_.transaction(), assigned_->assignment}});
    effects.emplace_back(SelfTestReceive{});
  }
  if (anew || (MayBeSick() && pace_.IsSick(now, SickMs()))) {
    LeavePath(anew ? "nothing" : "a fraction of what it did", effects);
    return ConnectAnew(now, effects);
  }
  if (silent_ms < SilenceMs()) return;
  const Incarnation peer = assigned_->source.incarnation;
  const std::string silence =
      absl::StrCat(source_->heard ? "it has been silent for " : "no answer has come from it in ",
                   silent_ms, " ms");
  Fail(AsOutage(absl::UnavailableError(silence)), effects);
  // The connection may be full of what a stopped process never takes.
  effects.emplace_back(ClosePeer{peer});
  peers_.open.erase(peer);
  peers_.imported.erase(peer);
}

std::optional<TimeMs> Stream::NextDeadline() const {
  if (!source_) return close_gets_at_;
  TimeMs patience = source_->doubted ? SilenceMs() : options().doubt_ms;
  if (source_->doubted && WouldConnectAnew()) patience = std::min(patience, AnewMs());
  const TimeMs silent_at = source_->heard_at + patience;
  return MayBeSick() ? std::min(silent_at, pace_.since() + SickMs()) : silent_at;
}

}  // namespace tensorhub::agent
