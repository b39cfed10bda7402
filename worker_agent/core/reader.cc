// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/remedy.h"
#include "common/text.h"

namespace tensorhub::agent {
namespace {

// Between two words to the fetch's caller.
constexpr TimeMs kShowEveryMs = 100;

std::string ShortName(const WorkerKey& key) { return absl::StrCat(key.group, "/", key.rank); }

}  // namespace

void OpenWithHello(const CoreOptions& options, Incarnation peer, const std::string& endpoint,
                   Effects& effects) {
  effects.emplace_back(OpenPeer{peer, endpoint});
  PeerMessage hello;
  hello.kind = PeerKind::kHello;
  hello.from = options.self.incarnation;
  hello.to = peer;
  hello.text = options.endpoint;
  effects.emplace_back(SendMessage{peer, Encode(hello)});
}

Reader::Reader(const CoreOptions& options, const TransactionId& transaction, Reference& reference,
               Digests& digests, const Remembered& last, PeerTable& peers, uint64_t& next_token,
               bool in_outage, TimeMs now)
    : options_(options),
      transaction_(transaction),
      reference_(reference),
      digests_(digests),
      peers_(peers),
      next_token_(next_token),
      plan_(reference.content().chunking, last, digests),
      in_outage_(in_outage),
      window_bytes_(options.window_bytes),
      told_at_(now) {
  // Tokens are unique within the process, so reads numbered from them are too.
  next_read_ = next_token_++ << 20;
  if (chunking().count() == 0) state_ = State::kComplete;
}

uint32_t Reader::WindowChunks() const {
  const uint64_t chunks = window_bytes_ / chunking().chunk_bytes;
  return static_cast<uint32_t>(std::clamp<uint64_t>(chunks, 2, kChunkCountMax));
}

PeerMessage Reader::Header(PeerKind kind) const {
  PeerMessage message;
  message.kind = kind;
  message.from = options_.self.incarnation;
  message.to = assigned_->source.incarnation;
  message.read = source_->read;
  message.generation = assigned_->generation;
  return message;
}

void Reader::Say(const PeerMessage& message, Effects& effects) {
  effects.emplace_back(SendMessage{assigned_->source.incarnation, Encode(message)});
}

void Reader::OnAssign(const AssignDirective& assign, TimeMs now, Effects& effects) {
  if (state_ != State::kReading || assign.transaction != transaction_) return;
  if (assign.publication != reference_.content().publication) return;
  if (assigned_ && assign.assignment <= assigned_->assignment) return;  // late
  if (source_) {
    release_ = SourceReleasedMessage{transaction_, assigned_->assignment};
    LeaveSource(/*close_gets=*/false, effects);
  }
  // The hub repeats what may have been lost with a session.
  const bool again = next_assigned_ && next_assigned_->assignment == assign.assignment;
  if (next_assigned_ && !again) {
    const SourceReleasedMessage left{transaction_, next_assigned_->assignment};
    // Nothing is outstanding at one that was never turned to.
    if (assigned_ && assigned_->assignment == left.assignment) {
      release_ = left;
    } else {
      effects.emplace_back(SessionSend{left});
    }
  }
  next_assigned_ = assign;
  AfterQuiet(now, effects);
}

// Invariant 2 is kept here: whatever follows the last source waits for its gets.
void Reader::AfterQuiet(TimeMs now, Effects& effects) {
  if (!Quiet() || source_) return;
  close_gets_at_.reset();
  if (release_) {
    effects.emplace_back(SessionSend{*release_});
    released_ = *std::exchange(release_, std::nullopt);
  }
  if (failure_ && !failure_told_) {
    effects.emplace_back(SessionSend{*failure_});
    failure_told_ = true;
  }
  if (state_ != State::kReading || !next_assigned_) return;
  failure_.reset();
  failure_told_ = false;
  if (!assigned_ || assigned_->assignment != next_assigned_->assignment) {
    absl::StrAppend(&sources_, sources_.empty() ? "" : ", ", ShortName(next_assigned_->source.key));
  }
  assigned_ = std::move(next_assigned_);
  next_assigned_.reset();
  tell_every_ms_ = assigned_->progress_ms;
  if (assigned_->digest) wanted_ = assigned_->digest;
  Begin(now, effects);
}

void Reader::Begin(TimeMs now, Effects& effects) {
  const Incarnation peer = assigned_->source.incarnation;
  const auto [known, added] = peers_.open.try_emplace(peer);
  known->second.used_at = now;
  const bool fresh = added || known->second.endpoint != assigned_->endpoint;
  if (fresh) {
    known->second.endpoint = assigned_->endpoint;
    OpenWithHello(options_, peer, assigned_->endpoint, effects);
  }
  source_ = Source{};
  source_->heard_at = now;
  source_->fresh = fresh;
  source_->lane = known->second.way;
  source_->checked = options_.digests == DigestMode::kOn ||
                     (options_.digests == DigestMode::kAuto && assigned_->tier != Tier::kHost);
  if (!IsProven()) digests_.ForgetFrom(reference_.valid_chunks());
  plan_.Restart(reference_.valid_chunks(), source_->checked);
  const bool ask_one_sided =
      options_.one_sided && (assigned_->tier != Tier::kRemote || options_.reads_far);
  Open(ask_one_sided, effects);
  if (!ask_one_sided) BeginServed(now, effects);
}

// At the own prefix. Each read is a number of its own, so that late frames of one before are known.
void Reader::Open(bool ask_one_sided, Effects& effects) {
  source_->read = next_read_++;
  source_->next_hash = reference_.valid_chunks();
  PeerMessage open = Header(PeerKind::kOpen);
  open.publication = assigned_->publication;
  open.chunk_bytes = chunking().chunk_bytes;
  open.chunk = reference_.valid_chunks();
  open.flags = kFlagDigests;
  open.begin = digests_.known();
  if (ask_one_sided) open.flags |= kFlagOneSided;
  if (peers_.imported.contains(open.to)) open.flags |= kFlagHaveDescription;
  open.text = options_.endpoint;
  Say(open, effects);
}

void Reader::Heard(TimeMs now) {
  source_->heard_at = now;
  source_->heard = true;
  source_->doubted = false;
}

void Reader::OnMessage(const PeerMessage& message, std::string_view payload, TimeMs now,
                       Effects& effects) {
  if (!source_ || message.from != assigned_->source.incarnation || message.read != source_->read) {
    return;  // of a read that is over
  }
  in_outage_ = false;  // also a source that refuses has answered
  if (message.kind == PeerKind::kRefuse) {
    const auto code = static_cast<absl::StatusCode>(message.code);
    return Fail(absl::Status(code == absl::StatusCode::kOk ? absl::StatusCode::kInternal : code,
                             ReadableText(message.text, kReasonBytesMax)),
                effects);
  }
  // R4: every message of a read is under the generation that was assigned.
  if (message.generation != assigned_->generation) {
    return Fail(absl::AbortedError("the source answered with another generation"), effects);
  }
  Heard(now);
  source_->known_valid = std::max(source_->known_valid, message.valid);
  if (message.kind == PeerKind::kDigests) return OnDigests(message, now, effects);
  // A source that passes digests on begins with them.
  if (!source_->spoke_of_digests && !IsProven()) digests_.SetEnded(true);
  source_->spoke_of_digests = true;
  if (!CheckList(effects)) return;
  if (message.kind == PeerKind::kOpened) return OnOpened(message, payload, now, effects);
  if (message.kind == PeerKind::kData) return OnData(message, payload, now, effects);
  if (message.kind == PeerKind::kWord) return OnAskedWord(message, now, effects);
  if (message.kind == PeerKind::kConfirm) OnStatus(message, now, effects);
}

void Reader::OnOpened(const PeerMessage& message, std::string_view payload, TimeMs now,
                      Effects& effects) {
  if (source_->way != Way::kOpening) return;
  if ((message.flags & kFlagOneSided) == 0) return BeginServed(now, effects);
  source_->way = Way::kImporting;
  effects.emplace_back(ImportMemory{assigned_->source.incarnation, payload});
}

void Reader::OnStatus(const PeerMessage& message, TimeMs now, Effects& effects) {
  if (source_->way == Way::kServed) {
    source_->confirmed = std::max(source_->confirmed, message.confirmed);
    CommitArrived(now, effects);
  }
  GoOn(now, effects);
}

// More was committed, or is there to be read.
void Reader::GoOn(TimeMs now, Effects& effects) {
  if (!source_ || state_ != State::kReading) return;
  if (source_->way != Way::kServed && source_->way != Way::kOneSided) return;
  if (MayBelieve()) plan_.Advance(next_token_, effects);
  SkipSame(now, effects);
  if (!source_) return;
  if (source_->way == Way::kServed) return RaiseCredit(effects);
  ReadWord(effects);
  IssueGets(effects);
}

void Reader::Commit(uint32_t chunks, uint64_t& tally, TimeMs now, Effects& effects) {
  const uint32_t before = reference_.valid_chunks();
  if (chunks <= before) return;
  const uint64_t end = std::min(chunking().begin(chunks), chunking().total_bytes);
  tally += end - chunking().begin(before);
  reference_.Grow(chunks, effects);
  if (chunks == chunking().count()) {
    LeaveSource(/*close_gets=*/false, effects);
    state_ = State::kComplete;
  }
  TellProgress(now, effects);
}

// That all is there the hub hears by FinishRead, which follows at once.
void Reader::TellProgress(TimeMs now, Effects& effects) {
  const bool complete = state_ == State::kComplete;
  if (!complete && now - told_at_ >= tell_every_ms_) {
    told_at_ = now;
    effects.emplace_back(
        SessionSend{ProgressMessage{reference_.content().publication, reference_.generation(),
                                    reference_.valid_chunks(), source_ ? source_->lane : ""}});
  }
  if (complete || now - shown_at_ >= kShowEveryMs) {
    shown_at_ = now;
    Show(effects);
  }
}

void Reader::Show(Effects& effects) {
  const Reference::Content& content = reference_.content();
  FetchAdvanced advanced;
  advanced.version = content.version;
  advanced.bytes_done =
      std::min(chunking().begin(reference_.valid_chunks()), chunking().total_bytes);
  advanced.bytes_total = chunking().total_bytes;
  if (assigned_) advanced.source = ShortName(assigned_->source.key);
  effects.emplace_back(std::move(advanced));
}

void Reader::LeaveSource(bool close_gets, Effects& effects) {
  Say(Header(PeerKind::kClose), effects);
  close_gets_at_ = source_->heard_at + options_.silence_ms;
  if (source_->word_is_asked) word_token_.reset();  // an answer writes nothing
  source_.reset();
  if (close_gets) ForceQuiet(effects);
}

// The hub decides what comes next: another source, or the end (R8).
void Reader::Fail(const absl::Status& reason, Effects& effects) {
  effects.emplace_back(
      LogLine{LogLine::Level::kWarning, absl::StrCat("source ", ToString(assigned_->source.key),
                                                     " failed: ", std::string(reason.message()))});
  failure_ = SourceFailedMessage{transaction_, assigned_->assignment,
                                 AsOutage(reason, in_outage_ || IsOutage(reason))};
  failure_told_ = false;
  LeaveSource(/*close_gets=*/true, effects);
  if (!Quiet()) return;
  effects.emplace_back(SessionSend{*failure_});
  failure_told_ = true;
}

void Reader::OnPeerFailed(const PeerFailed& event, TimeMs now, Effects& effects) {
  if (!assigned_ || event.peer != assigned_->source.incarnation) return;
  if (!source_) return ForceQuiet(effects);
  Fail(event.status, effects);
  AfterQuiet(now, effects);
}

// Opens the same assignment again, at the own prefix. Where the peer is now its hello says, sooner
// than the hub.
void Reader::OnReconnected(Incarnation peer, TimeMs now, Effects& effects) {
  if (!source_ || peer != assigned_->source.incarnation) return;
  next_assigned_ = assigned_;
  next_assigned_->endpoint = peers_.open.at(peer).endpoint;
  LeaveSource(/*close_gets=*/false, effects);
  AfterQuiet(now, effects);
}

// A directive is of the session by which it came: a hub that still means it repeats it. So the
// reader stays where its next report says that it is, and two hubs' numbers do not meet.
void Reader::OnSessionDown() {
  if (!next_assigned_) return;
  const bool turned_to = assigned_ && assigned_->assignment == next_assigned_->assignment;
  if (!turned_to) next_assigned_.reset();
}

// What was said while the hub was away did not arrive.
void Reader::OnSessionUp(Effects& effects) {
  if (released_) effects.emplace_back(SessionSend{*released_});
  if (failure_ && failure_told_) effects.emplace_back(SessionSend{*failure_});
  if (source_) source_->doubted = false;
}

// R8: a connection from before may be dead without anybody's knowing: after an outage the kernel
// sends what waits in it only when its own pauses are over, which have grown as long as the outage
// was. So the source is asked once more over another before it is doubted.
void Reader::ConnectAnew(TimeMs now, Effects& effects) {
  const Incarnation peer = assigned_->source.incarnation;
  next_assigned_ = assigned_;
  next_assigned_->endpoint = peers_.open.at(peer).endpoint;
  LeaveSource(/*close_gets=*/false, effects);
  effects.emplace_back(ClosePeer{peer});
  peers_.open.erase(peer);
  AfterQuiet(now, effects);
}

void Reader::OnTick(TimeMs now, Effects& effects) {
  if (close_gets_at_ && now >= *close_gets_at_) ForceQuiet(effects);
  if (!source_) return;
  const TimeMs silent_ms = now - source_->heard_at;
  const bool stale = !source_->heard && !source_->fresh && Quiet();
  if (stale && silent_ms >= options_.doubt_ms) return ConnectAnew(now, effects);
  if (silent_ms >= options_.doubt_ms && !source_->doubted) {
    source_->doubted = true;
    effects.emplace_back(SessionSend{SourceSilentMessage{transaction_, assigned_->assignment}});
    effects.emplace_back(TestHearing{});
  }
  if (silent_ms < options_.silence_ms) return;
  const Incarnation peer = assigned_->source.incarnation;
  const std::string silence = absl::StrCat("it has been silent for ", silent_ms, " ms");
  Fail(AsOutage(absl::UnavailableError(silence)), effects);
  // Its connection may be full of what a stopped process never takes.
  effects.emplace_back(ClosePeer{peer});
  peers_.open.erase(peer);
  peers_.imported.erase(peer);
}

void Reader::Stop(Effects& effects) {
  if (state_ == State::kReading) state_ = State::kStopped;
  if (source_) LeaveSource(/*close_gets=*/true, effects);
  if (close_gets_at_) ForceQuiet(effects);
  next_assigned_.reset();
  failure_.reset();
}

bool Reader::IsAt(Incarnation peer) const {
  const auto names = [peer](const std::optional<AssignDirective>& assign) {
    return assign && assign->source.incarnation == peer;
  };
  return names(assigned_) || names(next_assigned_);
}

bool Reader::Busy() const {
  if (!Quiet()) return true;
  if (!source_) return false;
  if (source_->way == Way::kOpening || source_->way == Way::kImporting) return true;
  if (!source_->hashing.empty()) return true;
  return source_->way == Way::kServed && source_->known_valid > reference_.valid_chunks();
}

std::optional<TimeMs> Reader::NextDeadline() const {
  if (!source_) return close_gets_at_;
  return source_->heard_at + (source_->doubted ? options_.silence_ms : options_.doubt_ms);
}

}  // namespace tensorhub::agent
