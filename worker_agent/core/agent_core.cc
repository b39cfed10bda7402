// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/agent_core.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "worker_agent/core/agent_state.h"

namespace tensorhub::agent {
namespace {

// Bounds what strangers can make an agent remember (R9).
constexpr size_t kPeersMax = 4096;

}  // namespace

void AgentCore::State::On(const Registered& event, TimeMs /*now*/, Effects& /*effects*/) {
  registered_ = event;
  options_.reads_far = event.reads_far;
  options_.window_bytes = std::max(options_.window_bytes, event.window_bytes);
  options_.get_bytes = std::max(options_.get_bytes, event.get_bytes);
  options_.scan_bytes = std::max(options_.scan_bytes, event.scan_bytes);
  options_.check_bytes = std::max(options_.check_bytes, event.check_bytes);
  server_.OfferDescription(!event.description.empty());
  server_.SetFramePlan({event.piece_begins, event.total_bytes, options_.frame_bytes});
}

void AgentCore::State::On(const SessionUp& event, TimeMs now, Effects& effects) {
  const protocol::Welcome& welcome = event.welcome;
  heartbeat_ms_ = std::max<TimeMs>(welcome.heartbeat_ms, 1);
  heartbeat_at_ = now + heartbeat_ms_;
  epoch_ = welcome.epoch;
  hears_content_ = !welcome.refuses_content;
  server_.Guard(welcome.guards_reads);
  if (event.moved) reference_.ForgetEpoch();
  if (event.moved || came_in_ == GroupEpoch{}) came_in_ = welcome.epoch;
  // Another hub counts its terms from anew. What this worker holds has the term that it reported.
  if (event.moved) {
    const TermNumber held = reference_.holds() ? reference_.content().term.number : 0;
    knows_term_ = std::max<TermNumber>(welcome.term, held);
  }
  if (!knows_term_) knows_term_ = welcome.term;
  dropped_.reset();  // it is another hub, perhaps, and judges what is reported anew
  // A restarted hub knows no documents. Which layout a fetch or a publish needs, it says itself.
  if (welcome.wants_documents) effects.emplace_back(PutDocuments{});
  ResendTerminalFacts(effects);
  RefreshCallDeadline(now);
  calls_.OnSessionUp(effects);
  if (reader_) reader_->OnSessionUp(effects);
  if (phase_ == Phase::kAwaitingVisible) {
    Start(std::get<PublishVerb>(verb_), now, effects);  // the notice may have been missed
  }
}

void AgentCore::State::On(const SessionDown& event, TimeMs /*now*/, Effects& /*effects*/) {
  away_because_ = event.why;
  calls_.OnSessionDown();
  heartbeat_at_.reset();
  if (next_read_) next_read_ = NextRead{next_read_->generation, /*begun=*/false};
  if (reader_) reader_->OnSessionDown();
}

// Replaced, or another hub: nothing this worker says will be heard again.
void AgentCore::State::On(const SessionRefused& event, TimeMs now, Effects& effects) {
  calls_.OnSessionDown();
  heartbeat_at_.reset();
  refused_ = true;
  AbortVerb(event.status, now, effects);
}

void AgentCore::State::On(const protocol::Assign& event, TimeMs now, Effects& effects) {
  if (phase_ == Phase::kBeginning && event.transaction == decision_->transaction) {
    calls_.SetAnswered();
    phase_ = Phase::kReading;
  }
  if (reader_) return RunReader([&] { reader_->OnAssign(event, now, effects); }, now, effects);
  if (next_read_ && event.transaction == decision_->transaction) OnEarlyAssign(event, effects);
}

// The plan of a read that has yet to begin is asked for then.
void AgentCore::State::On(const protocol::SourceSharding& event, TimeMs now, Effects& effects) {
  if (reader_) {
    return RunReader([&] { reader_->OnSourceSharding(event, now, effects); }, now, effects);
  }
  if (next_read_ && event.transaction == decision_->transaction) next_read_->sharding = event;
}

void AgentCore::State::On(const ReadPlanned& event, TimeMs now, Effects& effects) {
  if (!reader_) return;
  absl::Status status;
  RunReader([&] { status = reader_->OnPlanned(event, now, effects); }, now, effects);
  const bool reads = phase_ == Phase::kReading || phase_ == Phase::kBeginning;
  if (status.ok() || !reads) return;
  calls_.GiveUp(effects);
  StopReading(status, effects);
}

void AgentCore::State::On(const protocol::EndStream& event, TimeMs now, Effects& effects) {
  if (reader_) return RunReader([&] { reader_->OnEndStream(event, now, effects); }, now, effects);
  if (!next_read_) return;
  for (protocol::Assign& early : std::exchange(next_read_->assigns, {})) {
    early.assignment == event.assignment ? ReleaseEarly(early, effects)
                                         : next_read_->assigns.push_back(std::move(early));
  }
}

void AgentCore::State::On(const protocol::Visible& event, TimeMs /*now*/, Effects& effects) {
  last_visible_ = event.publication;
  if (event.publication != reference_.content().publication) return;
  BecomeVisible();
  if (phase_ != Phase::kAwaitingVisible) return;
  calls_.GiveUp(effects);
  Done(absl::OkStatus(), effects);
}

// R2: it stays readable for those who read it; its owner is told by Health.
void AgentCore::State::On(const protocol::Superseded& event, TimeMs /*now*/, Effects& effects) {
  const bool known = superseded_.publication == event.publication;
  superseded_ = event;
  if (known) return;
  effects.emplace_back(LogLine{LogLine::Level::kWarning, std::string(event.reason.message())});
}

void AgentCore::State::On(const protocol::GroupChanged& event, TimeMs /*now*/,
                          Effects& /*effects*/) {
  epoch_ = event.epoch;
  // A hub that has just adopted this worker tells its first epoch when the grace is over.
  if (came_in_ == GroupEpoch{}) came_in_ = event.epoch;
}

// R7: also of what these buffers hold no more: the copy reads it from whoever does.
void AgentCore::State::On(const protocol::MakeCopy& event, TimeMs /*now*/, Effects& effects) {
  effects.emplace_back(CopyWanted{event.version, event.within_ms});
}

// The directive may overtake the answer that the fetch has been committed.
void AgentCore::State::On(const protocol::ReleaseCopy& event, TimeMs /*now*/, Effects& effects) {
  if (event.generation == reference_.generation()) effects.emplace_back(CopyReleased{});
}

void AgentCore::State::On(const protocol::CopyFailed& event, TimeMs /*now*/, Effects& effects) {
  effects.emplace_back(SessionSend{event});
}

void AgentCore::State::On(const CallReply& event, TimeMs now, Effects& effects) {
  // R8: what this answer speaks of may be over by now, and the report that opens the next session
  // does not name it. So it is asked for again then.
  if (phase_ == Phase::kPublishing && !calls_.session_up()) return;
  const auto reply = calls_.OnReply(event, now, effects);
  if (reply) Dispatch(*reply, now, effects);
}

void AgentCore::State::OnHello(const PeerMessage& message, TimeMs now, Effects& effects) {
  // A peer says hello once per connection; whatever was there before is of the old one.
  const bool known = peers_.open.contains(message.from);
  if (!known && peers_.open.size() >= kPeersMax) {
    effects.emplace_back(LogLine{LogLine::Level::kWarning, "too many peers; one was turned away"});
    return;
  }
  server_.DropPeer(message.from);
  if (known) effects.emplace_back(ClosePeer{message.from});
  peers_.open[message.from] = {message.text, now};
  effects.emplace_back(OpenPeer{message.from, message.text});
  RunReader([&] { reader_->OnReconnected(message.from, now, effects); }, now, effects);
}

void AgentCore::State::On(const MessageArrived& event, TimeMs now, Effects& effects) {
  const auto message = DecodePeerMessage(event.header);
  // R9: a stranger's bytes, or a message for an earlier life of this address.
  const Incarnation self = options_.self.incarnation;
  if (!message || message->to != self || message->from == self) {
    effects.emplace_back(LogLine{LogLine::Level::kDebug, "dropped a message that is not for us"});
    return;
  }
  switch (message->kind) {
    case PeerKind::kHello:
      return OnHello(*message, now, effects);
    case PeerKind::kOpen:
    case PeerKind::kOpenRanges:
      // The peer's connection may have broken at this end only; then it says no hello. R9: nor is
      // what this opens for whoever said hello in the peer's name.
      if (!message->text.empty() && !peers_.IsAt(message->from, message->text)) {
        OnHello(*message, now, effects);
      }
      if (peers_.open.contains(message->from)) server_.OnOpen(*message, now, effects);
      return;
    case PeerKind::kRequest:
      return server_.OnRequest(*message, now, effects);
    case PeerKind::kWant:
      return server_.OnWant(*message, now, effects);
    case PeerKind::kAskWord:
      return server_.OnAskWord(*message, now, effects);
    case PeerKind::kClose:
      return server_.OnClose(*message);
    case PeerKind::kBye:
      return OnBye(*message, now, effects);
    default:
      break;
  }
  if (comparison_ && comparison_->query.OnMessage(*message)) return;
  RunReader([&] { reader_->OnMessage(*message, event.payload, now, effects); }, now, effects);
}

void AgentCore::State::RunReader(absl::FunctionRef<void()> step, TimeMs now, Effects& effects) {
  if (!reader_) return;
  const uint32_t valid = reference_.valid_chunks();
  const uint32_t digests = digests_.known();
  const bool ended = digests_.ended();
  step();
  if (digests_.known() != digests || digests_.ended() != ended) server_.OnDigests(effects);
  if (reference_.valid_chunks() != valid) server_.OnGrown(now, effects);
}

void AgentCore::State::On(const SendDone& event, TimeMs now, Effects& effects) {
  server_.OnSendDone(event, now, effects);
}

void AgentCore::State::On(const GetDone& event, TimeMs now, Effects& effects) {
  RunReader([&] { reader_->OnGetDone(event, now, effects); }, now, effects);
}

void AgentCore::State::On(const WordArrived& event, TimeMs now, Effects& effects) {
  RunReader([&] { reader_->OnWord(event, now, effects); }, now, effects);
}

void AgentCore::State::On(const ChunksHashed& event, TimeMs now, Effects& effects) {
  if (scan_ && scan_->Expects(event.token)) return OnScanned(event, effects);
  if (boxes_ && boxes_->Expects(event.token)) {
    boxes_->OnBatch(event.digests);
    return ScanBoxes(effects);
  }
  RunReader([&] { reader_->OnHashed(event, now, effects); }, now, effects);
}

void AgentCore::State::On(const PeerFailed& event, TimeMs now, Effects& effects) {
  Forget(event, now, effects);
  effects.emplace_back(SelfTestReceive{});  // it may have died in the middle of a message
}

// The peer's memory is let go, too: a mapping here would keep a dead peer's memory from being
// freed.
void AgentCore::State::Forget(const PeerFailed& gone, TimeMs now, Effects& effects) {
  RunReader([&] { reader_->OnPeerFailed(gone, now, effects); }, now, effects);
  if (comparison_) comparison_->query.OnPeerFailed(gone.peer);
  server_.DropPeer(gone.peer);
  peers_.imported.erase(gone.peer);
  effects.emplace_back(CloseGets{gone.peer});
  if (peers_.open.erase(gone.peer) != 0) effects.emplace_back(ClosePeer{gone.peer});
}

// Between processes of a host a connection does not break when one of two clients ends, only when
// its process does.
void AgentCore::State::On(const Stopping&, TimeMs /*now*/, Effects& effects) {
  for (const auto& [peer, known] : peers_.open) {
    effects.emplace_back(SendMessage{peer, Bye(peer, /*lives_on=*/false)});
  }
}

std::string AgentCore::State::Bye(Incarnation peer, bool lives_on) const {
  PeerMessage bye;
  bye.kind = PeerKind::kBye;
  bye.from = options_.self.incarnation;
  bye.to = peer;
  if (lives_on) bye.flags |= kFlagLivesOn;
  return Encode(bye);
}

// A peer that parts and lives on does not read here, nor is it read from, as far as it knows: a
// word that says otherwise was overtaken.
void AgentCore::State::OnBye(const PeerMessage& message, TimeMs now, Effects& effects) {
  const bool lives_on = (message.flags & kFlagLivesOn) != 0;
  if (lives_on && server_.Serves(message.from)) return;
  const auto known = peers_.open.find(message.from);
  const bool read = known != peers_.open.end() && reader_ && reader_->IsAt(message.from);
  if (!lives_on || !read) {
    return Forget({message.from, absl::UnavailableError("the peer has ended")}, now, effects);
  }
  if (reader_->ReadsFrom(message.from)) {
    OpenWithHello(options_, message.from, known->second.endpoint, effects);
    return RunReader([&] { reader_->OnReconnected(message.from, now, effects); }, now, effects);
  }
  peers_.open.erase(known);  // its gets may be under way
  effects.emplace_back(ClosePeer{message.from});
}

bool AgentCore::State::IsInUse(Incarnation peer) const {
  return server_.Serves(peer) || (reader_ && reader_->IsAt(peer)) ||
         (comparison_ && comparison_->query.Asks(peer));
}

// R9: a connection costs both sides a descriptor, and memory, for as long as both live.
void AgentCore::State::CloseIdlePeers(TimeMs now, Effects& effects) {
  idle_far_at_.reset();
  std::set<std::pair<TimeMs, Incarnation>> idle;
  std::vector<Incarnation> given_up;
  for (auto& [peer, known] : peers_.open) {
    if (IsInUse(peer)) {
      known.used_at = now;
      continue;
    }
    const TimeMs given_up_at = known.used_at + options_.idle_far_ms;
    if (known.far && now >= given_up_at) {
      given_up.push_back(peer);
      continue;
    }
    idle.insert({known.used_at, peer});
    if (known.far) idle_far_at_ = std::min(given_up_at, idle_far_at_.value_or(given_up_at));
  }
  for (; idle.size() > options_.idle_peers; idle.erase(idle.begin())) {
    given_up.push_back(idle.begin()->second);
  }
  for (const Incarnation peer : given_up) {
    peers_.open.erase(peer);
    peers_.imported.erase(peer);
    effects.emplace_back(CloseGets{peer});
    effects.emplace_back(PartFrom{peer, Bye(peer, /*lives_on=*/true)});
  }
}

// R8: the hub and every peer learn where this worker is now.
void AgentCore::State::On(const TransportReplaced& event, TimeMs now, Effects& effects) {
  options_.endpoint = event.endpoint;
  effects.emplace_back(MoveSession{event.endpoint});
  for (const auto& [peer, known] : peers_.open) {
    server_.DropPeer(peer);
    OpenWithHello(options_, peer, known.endpoint, effects);
    const Incarnation again = peer;
    RunReader([&] { reader_->OnReconnected(again, now, effects); }, now, effects);
  }
}

void AgentCore::State::On(const PeerHeard& event, TimeMs now, Effects& /*effects*/) {
  if (reader_) reader_->OnPeerHeard(event, now);
}

void AgentCore::State::On(const PathKnown& event, TimeMs /*now*/, Effects& effects) {
  if (reader_) reader_->OnLane(event, effects);
}

void AgentCore::State::On(const MemoryImported& event, TimeMs now, Effects& effects) {
  RunReader([&] { reader_->OnImported(event, now, effects); }, now, effects);
}

void AgentCore::State::Heartbeat(TimeMs now, Effects& effects) {
  if (!heartbeat_at_ || now < *heartbeat_at_) return;
  effects.emplace_back(SessionSend{protocol::Heartbeat{}});
  heartbeat_at_ = now + heartbeat_ms_;
  CloseIdlePeers(now, effects);
}

// R6: another rank of this group may be the one that waits for a connection.
void AgentCore::State::CloseFarPeers(TimeMs now, Effects& effects) {
  if (idle_far_at_ && now >= *idle_far_at_) CloseIdlePeers(now, effects);
}

void AgentCore::State::NoteReadOver(TimeMs now) {
  for (auto& [peer, known] : peers_.open) {
    if (!known.far || IsInUse(peer)) continue;
    known.used_at = now;
    idle_far_at_ = now + options_.idle_far_ms;
  }
}

void AgentCore::State::On(const Tick&, TimeMs now, Effects& effects) {
  Heartbeat(now, effects);
  CloseFarPeers(now, effects);
  RefreshCallDeadline(now);
  calls_.OnTick(now, effects);
  server_.OnTick(now, effects);
  RunReader([&] { reader_->OnTick(now, effects); }, now, effects);
  OnDeadline(now, effects);
}

std::optional<TimeMs> AgentCore::State::NextDeadline() const {
  std::optional<TimeMs> next;
  const auto consider = [&next](std::optional<TimeMs> due) {
    if (due && (!next || *due < *next)) next = due;
  };
  consider(heartbeat_at_);
  consider(idle_far_at_);
  consider(calls_.NextDeadline());
  consider(server_.NextDeadline());
  if (reader_) consider(reader_->NextDeadline());
  consider(verb_deadline_);
  consider(phase_deadline_);
  return next;
}

bool AgentCore::State::Busy() const {
  if (server_.Busy()) return true;
  // Between the calls of a fetch the next answer is a fraction of a millisecond away.
  return reader_ && reader_->Busy();
}

absl::Status AgentCore::State::Health() const {
  if (ended_) return *ended_;
  if (damage_) return *damage_;
  const PublicationId& held = reference_.content().publication;
  if (reference_.holds() && held == superseded_.publication) return superseded_.reason;
  if (calls_.session_up()) return absl::OkStatus();
  if (!away_because_.ok()) return away_because_;
  return absl::UnavailableError("the server cannot be reached at the moment; connecting goes on");
}

// R2: nothing: it is not what was held here last.
std::optional<TermNumber> AgentCore::State::HeldIn(VersionNumber version) const {
  const Reference::Content& content = reference_.content();
  const std::optional<Held> held =
      reference_.holds() ? std::optional(Held{content.version, content.term.number}) : last_held_;
  return held && held->version == version ? std::optional(held->term) : std::nullopt;
}

void AgentCore::State::ReportStreams(protocol::OpenFetch& open) const {
  open.plan = reader_->plan();
  for (const protocol::Assign& assigned : reader_->Assignments()) {
    if (!open.source) {
      open.source = assigned.source;
      open.source_generation = assigned.generation;
      open.assignment = assigned.assignment;
    }
    if (!reader_->ranges()) continue;
    open.streams.push_back(
        {assigned.part, assigned.source, assigned.generation, assigned.assignment});
  }
}

StateReport AgentCore::State::Report() const {
  StateReport report;
  report.epoch = epoch_;
  report.joined_epoch = came_in_;
  report.abandoned_join_op = abandoned_join_op_;
  report.repeats = calls_.op();
  const Reference::Content& content = reference_.content();
  if (content.publication && reference_.state() != Reference::State::kFree) {
    protocol::Holding holding;
    holding.publication = content.publication;
    holding.version = content.version;
    holding.world_size = content.world_size;
    holding.chunk_bytes = content.chunking.chunk_bytes;
    holding.layout = registered_->layout;
    holding.attachment = content.attachment;
    holding.generation = reference_.generation();
    holding.valid_chunks = reference_.valid_chunks();
    holding.complete = reference_.holds();
    holding.medium = registered_->medium;
    holding.published = reference_.published();
    holding.visible = reference_.visible();
    holding.epoch = content.epoch;
    holding.term = content.term;
    holding.digest = ContentDigestNow();
    holding.sharding = content.sharding;
    holding.hashing = scan_ && scan_->purpose() == ContentScan::Purpose::kMake;
    report.holding = holding;
  }
  if (decision_) {
    protocol::OpenFetch open;
    open.transaction = decision_->transaction;
    open.publication = decision_->publication;
    open.version = decision_->version;
    open.finished = phase_ == Phase::kFinishing && result_.ok();
    open.sharding = decision_->sharding;
    if (reader_) ReportStreams(open);
    report.open_fetch = open;
  }
  return report;
}

AgentCore::AgentCore(const CoreOptions& options) : state_(std::make_unique<State>(options)) {}
AgentCore::~AgentCore() = default;

void AgentCore::Step(const Event& event, TimeMs now, Effects& effects) {
  std::visit([&](const auto& body) { state_->On(body, now, effects); }, event);
  state_->Settle(now, effects);
}

std::optional<TimeMs> AgentCore::NextDeadline() const { return state_->NextDeadline(); }
bool AgentCore::Busy() const { return state_->Busy(); }
absl::Status AgentCore::Health() const { return state_->Health(); }
std::optional<TermNumber> AgentCore::HeldIn(VersionNumber version) const {
  return state_->HeldIn(version);
}
size_t AgentCore::Readers() const { return state_->Readers(); }
StateReport AgentCore::Report() const { return state_->Report(); }

}  // namespace tensorhub::agent
