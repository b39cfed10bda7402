// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/reader.h"

#include <algorithm>
#include <utility>

namespace tensorhub::agent {
namespace {

// The hub has the layouts; it may be away.
constexpr TimeMs kPlanAgainMs = 1000;

}  // namespace

Reader::Reader(const CoreOptions& options, const TransactionId& transaction, Reference& reference,
               Digests& digests, const Remembered& last, PeerTable& peers, PlannedParts& planned,
               uint64_t& next_token, bool in_outage, TimeMs now)
    : peers_(peers),
      planned_(planned),
      next_token_(next_token),
      transfer_(options, transaction, reference, digests, last, next_token, in_outage, now),
      own_digests_(transfer_) {
  if (transfer_.complete()) state_ = State::kComplete;
}

void Reader::OnAssign(const protocol::Assign& assign, TimeMs now, Effects& effects) {
  if (state_ != State::kReading || assign.transaction != transfer_.transaction()) return;
  if (assign.publication != transfer_.reference().content().publication) return;
  Plan plan{assign.plan, assign.ranges, assign.parts};
  if (assign.parts) plan.of = sharding_;
  const Plan& last = next_plan_.value_or(plan_);
  if (plan.number < last.number) return;  // late
  // A hub of another life may give a number again, to a plan of another kind or of another
  // sharding.
  if (plan != last) LeavePlan(plan, now, effects);
  TurnTo(assign, now, effects);
  Advance(now, effects);
}

// R3: what is left counts until it is released, which its stream says when it is quiet.
void Reader::LeavePlan(const Plan& next, TimeMs now, Effects& effects) {
  for (const auto& [part, stream] : streams_) stream->Leave(now, effects);
  for (const auto& [part, early] : std::exchange(early_, {})) {
    effects.emplace_back(
        SessionSend{protocol::SourceReleased{early.transaction, early.assignment}});
  }
  next_plan_ = next;
}

void Reader::TurnTo(const protocol::Assign& assign, TimeMs now, Effects& effects) {
  if (!next_plan_) {
    auto& stream = streams_[assign.part];
    if (!stream) stream = std::make_unique<Stream>(transfer_, peers_);
    return stream->OnAssign(assign, now, effects);
  }
  protocol::Assign& early = early_[assign.part];
  if (early.assignment != 0 && early.assignment != assign.assignment) {
    effects.emplace_back(
        SessionSend{protocol::SourceReleased{early.transaction, early.assignment}});
  }
  early = assign;
}

// At the prefix, as soon as nothing of the plan before writes any more.
void Reader::BeginPlan(TimeMs now, Effects& effects) {
  if (!next_plan_ || !NoOutstandingGets() || !MayBegin()) return;
  streams_.clear();
  plan_ = *std::exchange(next_plan_, std::nullopt);
  Divide();
  for (const auto& [part, assign] : std::exchange(early_, {})) TurnTo(assign, now, effects);
}

bool Reader::MayBegin() const {
  if (!next_plan_->parts) return true;
  return sharding_ && sharding_ == next_plan_->of && planned_.IsOf(*sharding_);
}

void Reader::Divide() {
  const Chunking& chunking = transfer_.chunking();
  const uint64_t block = transfer_.BlockBytes();
  if (!plan_.ranges) return transfer_.Divide(nullptr);
  transfer_.RestartSkips(/*hopes=*/false);
  if (!plan_.parts) {
    transfer_.ForgetUnproven();
    return transfer_.Divide(std::make_unique<Spread>(chunking, transfer_.valid_chunks(), block));
  }
  own_digests_.Begin();
  const uint64_t begin = std::min(chunking.begin(transfer_.valid_chunks()), chunking.total_bytes);
  transfer_.Divide(std::make_unique<Parts>(planned_.parts, begin, chunking.total_bytes, block),
                   sharding_->chunk_bytes);
}

void Reader::OnSourceSharding(const protocol::SourceSharding& event, TimeMs now, Effects& effects) {
  if (state_ != State::kReading || event.transaction != transfer_.transaction()) return;
  if (event.plan < next_plan_.value_or(plan_).number) return;  // late
  const bool again = planning_ && sharding_->plan == event.plan && sharding_->parts == event.parts;
  sharding_ = event;
  if (!again) AskForPlan(effects);
  Advance(now, effects);
}

void Reader::AskForPlan(Effects& effects) {
  plan_again_at_.reset();
  planning_.reset();
  if (planned_.IsOf(*sharding_)) return;
  planning_ = next_token_++;
  effects.emplace_back(MakeReadPlan{*planning_, sharding_->world_size, sharding_->parts});
}

// R4: the answer to an earlier question is of other parts, though their plan has the same number:
// each life of the hub numbers them from the last that was turned to.
absl::Status Reader::OnPlanned(const ReadPlanned& event, TimeMs now, Effects& effects) {
  if (state_ != State::kReading || planning_ != event.token) return absl::OkStatus();
  planning_.reset();
  if (absl::IsUnavailable(event.status)) {
    plan_again_at_ = now + kPlanAgainMs;
    return absl::OkStatus();
  }
  if (!event.status.ok()) return event.status;
  uint64_t bytes = 0;
  for (const ReadStream& part : *event.parts) bytes += part.bytes();
  // R9: the hub's word and the layouts' are not the same one's.
  if (event.parts->size() != sharding_->parts.size() || bytes != transfer_.chunking().total_bytes) {
    return absl::InternalError("the parts that the server named do not bring this rank's slices");
  }
  planned_ = {sharding_->world_size, sharding_->parts, event.parts};
  Advance(now, effects);
  return absl::OkStatus();
}

void Reader::OnEndStream(const protocol::EndStream& event, TimeMs now, Effects& effects) {
  if (state_ != State::kReading || event.transaction != transfer_.transaction()) return;
  const size_t early = std::erase_if(
      early_, [&](const auto& entry) { return entry.second.assignment == event.assignment; });
  if (early != 0) {
    effects.emplace_back(
        SessionSend{protocol::SourceReleased{event.transaction, event.assignment}});
  }
  for (const auto& [part, stream] : streams_) stream->OnEnd(event.assignment, now, effects);
  Advance(now, effects);
}

void Reader::OnMessage(const PeerMessage& message, std::string_view payload, TimeMs now,
                       Effects& effects) {
  for (const auto& [part, stream] : streams_) stream->OnMessage(message, payload, now, effects);
  Advance(now, effects);
}

void Reader::OnPeerHeard(const PeerHeard& event, TimeMs now) {
  for (const auto& [part, stream] : streams_) stream->OnPeerHeard(event, now);
}

void Reader::OnLane(const PathKnown& event, Effects& effects) {
  for (const auto& [part, stream] : streams_) stream->OnLane(event, effects);
}

void Reader::OnImported(const MemoryImported& event, TimeMs now, Effects& effects) {
  if (event.status.ok()) {
    peers_.imported.insert(event.peer);
  } else {
    peers_.imported.erase(event.peer);
  }
  for (const auto& [part, stream] : streams_) stream->OnImported(event, effects);
  Advance(now, effects);
}

void Reader::OnGetDone(const GetDone& event, TimeMs now, Effects& effects) {
  for (const auto& [part, stream] : streams_) stream->OnGetDone(event, now, effects);
  Advance(now, effects);
}

void Reader::OnWord(const WordArrived& event, TimeMs now, Effects& effects) {
  for (const auto& [part, stream] : streams_) stream->OnWord(event, now, effects);
  Advance(now, effects);
}

void Reader::OnHashed(const ChunksHashed& event, TimeMs now, Effects& effects) {
  const bool open = std::any_of(streams_.begin(), streams_.end(),
                                [](const auto& entry) { return entry.second->IsOpen(); });
  if (open && transfer_.OnSkipHashed(event)) return Proceed(now, effects);
  if (own_digests_.OnHashed(event)) return Proceed(now, effects);
  for (const auto& [part, stream] : streams_) stream->OnHashed(event);
  Advance(now, effects);
}

void Reader::OnPeerFailed(const PeerFailed& event, TimeMs now, Effects& effects) {
  for (const auto& [part, stream] : streams_) stream->OnPeerFailed(event, now, effects);
  Advance(now, effects);
}

void Reader::OnReconnected(Incarnation peer, TimeMs now, Effects& effects) {
  for (const auto& [part, stream] : streams_) stream->OnReconnected(peer, now, effects);
  Advance(now, effects);
}

// A directive is of the session by which it came.
void Reader::OnSessionDown() {
  early_.clear();
  for (const auto& [part, stream] : streams_) stream->OnSessionDown();
}

void Reader::OnSessionUp(Effects& effects) {
  for (const auto& [part, stream] : streams_) stream->OnSessionUp(effects);
}

void Reader::OnTick(TimeMs now, Effects& effects) {
  if (plan_again_at_ && now >= *plan_again_at_) AskForPlan(effects);
  for (const auto& [part, stream] : streams_) stream->OnTick(now, effects);
  Advance(now, effects);
}

void Reader::Stop(Effects& effects) {
  if (state_ == State::kReading) state_ = State::kStopped;
  early_.clear();
  plan_again_at_.reset();
  for (const auto& [part, stream] : streams_) stream->Stop(effects);
}

bool Reader::NoOutstandingGets() const {
  return std::all_of(streams_.begin(), streams_.end(),
                     [](const auto& entry) { return entry.second->NoOutstandingGets(); });
}

bool Reader::Busy() const {
  return std::any_of(streams_.begin(), streams_.end(),
                     [](const auto& entry) { return entry.second->Busy(); });
}

std::optional<TimeMs> Reader::NextDeadline() const {
  std::optional<TimeMs> next = plan_again_at_;
  for (const auto& [part, stream] : streams_) {
    const std::optional<TimeMs> due = stream->NextDeadline();
    if (due && (!next || *due < *next)) next = due;
  }
  return next;
}

bool Reader::IsAt(Incarnation peer) const {
  return std::any_of(streams_.begin(), streams_.end(),
                     [peer](const auto& entry) { return entry.second->IsAt(peer); }) ||
         std::any_of(early_.begin(), early_.end(),
                     [peer](const auto& entry) { return entry.second.source.incarnation == peer; });
}

bool Reader::ReadsFrom(Incarnation peer) const {
  return std::any_of(streams_.begin(), streams_.end(), [peer](const auto& entry) {
    return entry.second->IsOpen() && entry.second->IsAt(peer);
  });
}

std::vector<protocol::Assign> Reader::Assignments() const {
  std::vector<protocol::Assign> all;
  for (const auto& [part, stream] : streams_) {
    const bool counts = !plan_.ranges || stream->IsOpen() || !stream->NoOutstandingGets();
    if (stream->assignment() && counts) all.push_back(*stream->assignment());
  }
  return all;
}

// After every event.
void Reader::Advance(TimeMs now, Effects& effects) {
  BeginPlan(now, effects);
  bool moved = false;
  for (const auto& [part, stream] : streams_) moved |= stream->TakeMoved();
  if (moved) Proceed(now, effects);
}

const Stream* Reader::Reading() const {
  for (const auto& [part, stream] : streams_) {
    if (stream->IsReading()) return stream.get();
  }
  return nullptr;
}

// What became sound is committed, and more is asked for.
void Reader::Proceed(TimeMs now, Effects& effects) {
  CommitArrived(now, effects);
  if (state_ != State::kReading || Reading() == nullptr) return;
  transfer_.AdvanceSkips(effects);
  SkipSame(now, effects);
  if (state_ != State::kReading) return;
  for (const auto& [part, stream] : streams_) {
    if (stream->IsReading()) stream->AskForMore(effects);
  }
}

void Reader::CommitArrived(TimeMs now, Effects& effects) {
  for (const auto& [part, stream] : streams_) stream->HashArrived(effects);
  uint32_t end = SoundEnd();
  if (plan_.parts) end = own_digests_.Advance(end, effects);
  if (end > transfer_.valid_chunks() && IsAsKnown(end, effects)) {
    transfer_.CommitRead(end, effects);
    AfterCommit(now, effects);
  }
  for (const auto& [part, stream] : streams_) stream->FailIfBad(effects);
}

// R4, R5: of several streams, up to the first byte that is not sound yet, or that nobody brings.
uint32_t Reader::SoundEnd() {
  if (!transfer_.division()) {
    return streams_.empty() ? transfer_.valid_chunks() : streams_.begin()->second->SoundEnd();
  }
  uint64_t low = transfer_.division()->LowWater();
  for (const auto& [part, stream] : streams_) low = std::min(low, stream->LowWater());
  if (low >= transfer_.chunking().total_bytes) return transfer_.chunking().count();
  return static_cast<uint32_t>(low / transfer_.chunking().chunk_bytes);
}

// R1: a shard whose digests are made here as it comes is what others have found it to be, if
// somebody knows. Of which source the difference came nobody can say.
bool Reader::IsAsKnown(uint32_t end, Effects& effects) {
  if (!plan_.parts || end < transfer_.chunking().count()) return true;
  const absl::Status status = transfer_.CheckList();
  if (status.ok()) return true;
  for (const auto& [part, stream] : streams_) stream->FailAsOneOf(status, effects);
  transfer_.ForgetUnread();
  return false;
}

// R9: what was found to be in place is valid without being read.
void Reader::SkipSame(TimeMs now, Effects& effects) {
  const uint32_t end = transfer_.SameEnd();
  if (end == transfer_.valid_chunks()) return;
  transfer_.CommitSkipped(end, effects);
  AfterCommit(now, effects);
  if (state_ != State::kReading) return;
  for (const auto& [part, stream] : streams_) stream->OnSkipped(effects);
}

void Reader::AfterCommit(TimeMs now, Effects& effects) {
  if (transfer_.complete()) {
    for (const auto& [part, stream] : streams_) stream->End(effects);
    state_ = State::kComplete;
  }
  const Stream* shown = Reading();
  if (shown == nullptr && !streams_.empty()) shown = streams_.begin()->second.get();
  const bool known = shown != nullptr && shown->assignment();
  transfer_.TellProgress(known ? &shown->assignment()->source.key : nullptr,
                         known ? shown->lane() : std::string(), now, effects);
}

}  // namespace tensorhub::agent
