// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// From source to source: how a stream turns to one, leaves it, gives it up, and what it says of
// that to the hub.

#include "worker_agent/core/stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/remedy.h"
#include "common/text.h"

namespace tensorhub::agent {

PeerMessage Stream::Header(PeerKind kind) const {
  PeerMessage message;
  message.kind = kind;
  message.from = options().self.incarnation;
  message.to = assigned_->source.incarnation;
  message.read = source_->read;
  message.generation = assigned_->generation;
  return message;
}

void Stream::Say(const PeerMessage& message, Effects& effects) const {
  effects.emplace_back(SendMessage{assigned_->source.incarnation, Encode(message)});
}

void Stream::OnAssign(const protocol::Assign& assign, TimeMs now, Effects& effects) {
  if (assigned_ && assign.assignment <= assigned_->assignment) return;  // late
  if (source_) {
    release_ = protocol::SourceReleased{transfer_.transaction(), assigned_->assignment};
    LeaveSource(/*close_gets=*/false, effects);
  }
  LeaveNext(assign.assignment, effects);
  next_assigned_ = assign;
  OnGetsDrained(now, effects);
}

// What was to be turned to, unless it is `assignment`: the hub repeats what may have been lost with
// a session.
void Stream::LeaveNext(AssignmentNumber assignment, Effects& effects) {
  if (!next_assigned_ || next_assigned_->assignment == assignment) return;
  const protocol::SourceReleased left{transfer_.transaction(), next_assigned_->assignment};
  next_assigned_.reset();
  // Nothing is outstanding at one that was never turned to.
  if (assigned_ && assigned_->assignment == left.assignment) {
    release_ = left;
  } else {
    effects.emplace_back(SessionSend{left});
  }
}

void Stream::OnEnd(AssignmentNumber assignment, TimeMs now, Effects& effects) {
  const auto& last = next_assigned_ ? next_assigned_ : assigned_;
  if (last && last->assignment == assignment) Leave(now, effects);
}

void Stream::Leave(TimeMs now, Effects& effects) {
  if (source_) {
    release_ = protocol::SourceReleased{transfer_.transaction(), assigned_->assignment};
    LeaveSource(/*close_gets=*/false, effects);
  }
  LeaveNext(/*assignment=*/0, effects);
  OnGetsDrained(now, effects);
}

// Invariant 2 is kept here: whatever follows the last source waits for its gets.
void Stream::OnGetsDrained(TimeMs now, Effects& effects) {
  if (!NoOutstandingGets() || source_) return;
  close_gets_at_.reset();
  if (release_) {
    effects.emplace_back(SessionSend{*release_});
    released_ = *std::exchange(release_, std::nullopt);
  }
  if (failure_ && !failure_told_) {
    effects.emplace_back(SessionSend{*failure_});
    failure_told_ = true;
  }
  if (!next_assigned_) return;
  failure_.reset();
  failure_told_ = false;
  const bool fresh = !assigned_ || assigned_->assignment != next_assigned_->assignment;
  assigned_ = std::move(next_assigned_);
  next_assigned_.reset();
  if (fresh) {
    anew_ = 0;
    pace_ = {};
  }
  transfer_.OnTurned(*assigned_, fresh);
  Begin(now, effects);
}

void Stream::Begin(TimeMs now, Effects& effects) {
  const Incarnation peer = assigned_->source.incarnation;
  const auto [known, added] = peers_.open.try_emplace(peer);
  known->second.used_at = now;
  known->second.far = IsFar();
  const bool fresh = added || known->second.endpoint != assigned_->endpoint;
  if (fresh) {
    known->second.endpoint = assigned_->endpoint;
    OpenWithHello(options(), peer, assigned_->endpoint, effects);
  }
  source_ = Source{};
  source_->heard_at = now;
  pace_.Begin(now);
  source_->fresh = fresh;
  source_->lane = known->second.way;
  source_->checked = options().digests == DigestMode::kOn ||
                     (options().digests == DigestMode::kAuto && assigned_->tier != Tier::kHost);
  if (!assigned_->ranges) {
    transfer_.ForgetUnproven();
    transfer_.RestartSkips(/*hopes=*/source_->checked);
  }
  const bool ask_one_sided = MayAskOneSided();
  Open(ask_one_sided, effects);
  if (!ask_one_sided) BeginByMessages();
}

// What another shard's holder has, this one's digests are not of; so it is only got where nothing
// is checked. And what several sources share in, none goes on with while a get may write there.
bool Stream::MayAskOneSided() const {
  if (!options().one_sided) return false;
  if (assigned_->tier == Tier::kRemote && !options().reads_far) return false;
  if (assigned_->ranges && (!assigned_->parts || source_->checked)) return false;
  return !assigned_->parts || transfer_.AdmitGetsFrom(assigned_->source.incarnation);
}

void Stream::BeginByMessages() {
  return assigned_->ranges ? BeginRanges(/*by_gets=*/false) : BeginServed();
}

// At the own prefix. Each read is a number of its own, so that late frames of one before are known.
void Stream::Open(bool ask_one_sided, Effects& effects) {
  source_->read = transfer_.NextRead();
  source_->next_hash = transfer_.valid_chunks();
  source_->list = transfer_.lists();
  PeerMessage open = Header(assigned_->ranges ? PeerKind::kOpenRanges : PeerKind::kOpen);
  open.publication = assigned_->publication;
  open.chunk_bytes = transfer_.source_chunk_bytes();
  if (!assigned_->ranges) open.chunk = transfer_.valid_chunks();
  // Digests of another sharding's chunks say nothing of the own.
  if (!assigned_->parts) {
    open.flags = kFlagDigests;
    open.begin = transfer_.digests().known();
  } else if (source_->checked) {
    open.flags = kFlagHashed;
  }
  if (ask_one_sided) open.flags |= kFlagOneSided;
  if (peers_.imported.contains(open.to)) open.flags |= kFlagHaveDescription;
  open.text = options().endpoint;
  Show(assigned_->capability, assigned_->ranges ? ReadUse::kRanges : ReadUse::kChunks, open);
  Say(open, effects);
}

void Stream::OnMessage(const PeerMessage& message, std::string_view payload, TimeMs now,
                       Effects& effects) {
  if (!source_ || message.from != assigned_->source.incarnation || message.read != source_->read) {
    return;  // of a read that is over
  }
  transfer_.OnAnswered();  // also a source that refuses has answered
  if (message.kind == PeerKind::kRefuse) return OnRefused(message, effects);
  // R4: every message of a read is under the generation that was assigned.
  if (message.generation != assigned_->generation) {
    return Fail(absl::AbortedError("the source answered with another generation"), effects);
  }
  Heard(now);
  Busy() ? pace_.Arrived(payload.size(), now) : pace_.Begin(now);
  source_->known_valid = std::max(source_->known_valid, message.valid);
  if (message.kind == PeerKind::kDigests) return OnDigests(message, effects);
  // A source that passes digests on begins with them. All that serve ranges do.
  if (!source_->spoke_of_digests && !assigned_->ranges && !transfer_.IsProven()) {
    transfer_.digests().SetEnded(true);
  }
  source_->spoke_of_digests = true;
  if (!CheckList(effects)) return;
  if (message.kind == PeerKind::kOpened) return OnOpened(message, payload, effects);
  if (message.kind == PeerKind::kData) return OnData(message, payload, effects);
  if (message.kind == PeerKind::kWord) return OnAskedWord(message);
  if (message.kind == PeerKind::kConfirm) OnStatus(message);
  if (message.kind == PeerKind::kPart) return OnPart(message, payload, effects);
  if (message.kind == PeerKind::kStand) OnStand(message);
}

void Stream::OnRefused(const PeerMessage& message, Effects& effects) {
  const auto code = static_cast<absl::StatusCode>(message.code);
  Fail(absl::Status(code == absl::StatusCode::kOk ? absl::StatusCode::kInternal : code,
                    ReadableText(message.text, kReasonBytesMax)),
       effects);
}

void Stream::OnOpened(const PeerMessage& message, std::string_view payload, Effects& effects) {
  if (source_->phase != Phase::kOpening) return;
  if ((message.flags & kFlagOneSided) == 0) return BeginByMessages();
  source_->phase = Phase::kImporting;
  effects.emplace_back(
      ImportMemory{assigned_->source.incarnation, payload, /*same_size=*/!assigned_->parts});
}

void Stream::OnStatus(const PeerMessage& message) {
  if (source_->phase == Phase::kServed) {
    source_->confirmed = std::max(source_->confirmed, message.confirmed);
  }
  moved_ = true;
}

void Stream::AskForMore(Effects& effects) {
  if (source_->phase == Phase::kServed) return RaiseCredit(effects);
  if (source_->phase == Phase::kOneSided || source_->ranges.by_gets) ReadWord(effects);
  if (source_->phase == Phase::kRanges) return WantMore(effects);
  IssueGets(effects);
}

// The stream goes on behind them. Served, as a new read: nothing was asked for beyond what was
// valid, so nothing of the old one is under way.
void Stream::OnSkipped(Effects& effects) {
  if (source_->phase == Phase::kOneSided) {
    source_->next_get = source_->got = source_->confirmed = source_->next_hash =
        transfer_.valid_chunks();
    return;
  }
  Say(Header(PeerKind::kClose), effects);
  Open(/*ask_one_sided=*/false, effects);
  StartServed();
}

void Stream::LeaveSource(bool close_gets, Effects& effects) {
  Say(Header(PeerKind::kClose), effects);
  GiveBack();
  close_gets_at_ = source_->heard_at + options().silence_ms;
  if (source_->word_by_message) word_token_.reset();  // an answer writes nothing
  source_.reset();
  if (close_gets) ForceQuiet(effects);
}

// The hub decides what comes next: another source, or the end (R8).
void Stream::Fail(const absl::Status& reason, Effects& effects) {
  effects.emplace_back(
      LogLine{LogLine::Level::kWarning, absl::StrCat("source ", ToString(assigned_->source.key),
                                                     " failed: ", std::string(reason.message()))});
  failure_ = protocol::SourceFailed{transfer_.transaction(), assigned_->assignment,
                                    AsOutage(reason, transfer_.in_outage() || IsOutage(reason))};
  failure_told_ = false;
  LeaveSource(/*close_gets=*/true, effects);
  if (!NoOutstandingGets()) return;
  effects.emplace_back(SessionSend{*failure_});
  failure_told_ = true;
}

void Stream::OnPeerFailed(const PeerFailed& event, TimeMs now, Effects& effects) {
  if (!assigned_ || event.peer != assigned_->source.incarnation) return;
  if (!source_) return ForceQuiet(effects);
  Fail(event.status, effects);
  OnGetsDrained(now, effects);
}

// Opens the same assignment again, at the own prefix. Where the peer is now its hello says, sooner
// than the hub.
void Stream::OnReconnected(Incarnation peer, TimeMs now, Effects& effects) {
  if (!source_ || peer != assigned_->source.incarnation) return;
  next_assigned_ = assigned_;
  next_assigned_->endpoint = peers_.open.at(peer).endpoint;
  LeaveSource(/*close_gets=*/false, effects);
  OnGetsDrained(now, effects);
}

// A directive is of the session by which it came: a hub that still means it repeats it. So the
// stream stays where the next report says that it is, and two hubs' numbers do not meet.
void Stream::OnSessionDown() {
  if (!next_assigned_) return;
  const bool turned_to = assigned_ && assigned_->assignment == next_assigned_->assignment;
  if (!turned_to) next_assigned_.reset();
}

// What was said while the hub was away did not arrive.
void Stream::OnSessionUp(Effects& effects) {
  if (released_) effects.emplace_back(SessionSend{*released_});
  if (failure_ && failure_told_) effects.emplace_back(SessionSend{*failure_});
  if (source_) source_->doubted = false;
}

void Stream::End(Effects& effects) {
  if (source_) LeaveSource(/*close_gets=*/false, effects);
}

void Stream::Stop(Effects& effects) {
  if (source_) LeaveSource(/*close_gets=*/true, effects);
  if (close_gets_at_) ForceQuiet(effects);
  next_assigned_.reset();
  failure_.reset();
}

bool Stream::IsAt(Incarnation peer) const {
  const auto names = [peer](const std::optional<protocol::Assign>& assign) {
    return assign && assign->source.incarnation == peer;
  };
  return names(next_assigned_) || (names(assigned_) && (source_ || !NoOutstandingGets()));
}

const std::string& Stream::lane() const {
  static const std::string none;
  return source_ ? source_->lane : none;
}

bool Stream::Busy() const {
  if (!NoOutstandingGets()) return true;
  if (!source_) return false;
  if (source_->phase == Phase::kOpening || source_->phase == Phase::kImporting) return true;
  if (!source_->hashing.empty()) return true;
  const Ranges& read = source_->ranges;
  if (source_->phase == Phase::kRanges)
    return read.sound < std::min(read.available, read.wanted.bytes());
  return source_->phase == Phase::kServed && source_->known_valid > transfer_.valid_chunks();
}

}  // namespace tensorhub::agent
