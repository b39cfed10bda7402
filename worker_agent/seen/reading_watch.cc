// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/seen/reading_watch.h"

#include <variant>

namespace tensorhub::agent {
namespace {

constexpr char kNotSaid[] = "not said";

}  // namespace

void ReadingWatch::See(const Event& event, int64_t now_us) {
  if (const auto* asked = std::get_if<VerbAsked>(&event)) {
    if (const auto* fetch = std::get_if<FetchVerb>(&asked->verb)) OnVerb(*fetch, now_us);
  }
  if (!fetch_) return;
  if (const auto* assign = std::get_if<protocol::Assign>(&event)) return OnAssign(*assign, now_us);
  if (const auto* reply = std::get_if<CallReply>(&event)) return OnReply(*reply, now_us);
  if (const auto* lane = std::get_if<PathKnown>(&event)) return OnLane(*lane);
  if (const auto* done = std::get_if<GetDone>(&event)) return OnGetDone(*done);
  EndLost(event, now_us);
}

// What is read over a connection ends with it, whoever makes another one. It is opened again then.
void ReadingWatch::EndLost(const Event& event, int64_t now_us) {
  if (std::holds_alternative<TransportReplaced>(event)) return EndStreams(std::nullopt, now_us);
  if (const auto* gone = std::get_if<PeerFailed>(&event)) return EndStreams(gone->peer, now_us);
  const auto* arrived = std::get_if<MessageArrived>(&event);
  if (arrived == nullptr || !arrived->payload.empty()) return;
  const std::optional<PeerMessage> message = DecodePeerMessage(arrived->header);
  const bool anew = message && message->kind == PeerKind::kHello;
  if (anew) EndStreams(message->from, now_us);
}

void ReadingWatch::EndStreams(std::optional<Incarnation> peer, int64_t now_us) {
  for (FetchRecord::Stream& stream : fetch_->streams) {
    const bool its = !peer || stream.peer == *peer;
    if (its && stream.end_us == 0) stream.end_us = now_us;
  }
}

void ReadingWatch::See(const Effect& effect, int64_t now_us) {
  if (!fetch_) return;
  if (const auto* call = std::get_if<Call>(&effect)) return OnCall(*call, now_us);
  if (const auto* copy = std::get_if<CopyIn>(&effect)) {
    return AddBytes(copy->peer, copy->payload.size());
  }
  if (const auto* get = std::get_if<Get>(&effect)) return OnGet(*get);
  if (const auto* message = std::get_if<SendMessage>(&effect)) return OnMessage(*message, now_us);
  if (const auto* send = std::get_if<SessionSend>(&effect)) return OnSessionSend(*send);
  if (const auto* done = std::get_if<VerbDone>(&effect)) return OnDone(*done, now_us);
}

void ReadingWatch::CountTime(int64_t now_us) {
  if (!fetch_) return;
  tally_.phase_us[phase_] += now_us - counted_us_;
  counted_us_ = now_us;
}

void ReadingWatch::OnVerb(const FetchVerb& verb, int64_t now_us) {
  fetch_.emplace();
  fetch_->begin_us = counted_us_ = now_us;
  fetch_->traceparent = verb.traceparent;
  fetch_->spans.push_back({kJoin, now_us, 0});
  phase_ = kJoin;
  assigned_ = false;
  sources_.clear();
  of_part_.clear();
  failures_.clear();
  gets_.clear();
}

// An assignment may come before the buffers are free to be read into.
void ReadingWatch::OnAssign(const protocol::Assign& assign, int64_t now_us) {
  assigned_ = true;
  if (phase_ == kAssign) Turn(kRead, now_us);
  Source& source = sources_[assign.source.incarnation];
  source.key = assign.source.key;
  source.tier = assign.tier;
  const auto [of, first] = of_part_.try_emplace(assign.part, assign.source.incarnation);
  if (first || of->second == assign.source.incarnation) return;
  of->second = assign.source.incarnation;
  ++tally_.other_sources;
}

void ReadingWatch::OnReply(const CallReply& reply, int64_t now_us) {
  if (const auto* decision = std::get_if<FetchDecision>(&reply.payload)) {
    fetch_->version = decision->version;
  }
  const auto* unpublished = std::get_if<UnpublishReply>(&reply.payload);
  if (unpublished != nullptr && unpublished->begun) Turn(kAssign, now_us);
}

void ReadingWatch::OnCall(const Call& call, int64_t now_us) {
  if (std::holds_alternative<protocol::JoinFetch>(call.request)) Turn(kJoin, now_us);
  if (std::holds_alternative<protocol::Unpublish>(call.request)) Turn(kDrain, now_us);
  if (std::holds_alternative<protocol::BeginRead>(call.request)) Turn(kAssign, now_us);
  if (std::holds_alternative<protocol::FinishRead>(call.request)) Turn(kCommit, now_us);
}

// A call that is repeated begins nothing anew.
void ReadingWatch::Turn(Phase phase, int64_t now_us) {
  if (phase == kAssign && assigned_) phase = kRead;
  if (phase == phase_) return;
  if (phase == kJoin) assigned_ = false;  // another attempt
  CountTime(now_us);
  phase_ = phase;
  if (fetch_->spans.size() >= kSpansMax) return;
  fetch_->spans.back().end_us = now_us;
  fetch_->spans.push_back({phase, now_us, 0});
}

void ReadingWatch::OnMessage(const SendMessage& message, int64_t now_us) {
  const std::optional<PeerMessage> sent = DecodePeerMessage(message.header);
  if (!sent) return;
  if (sent->kind == PeerKind::kClose) {
    for (FetchRecord::Stream& stream : fetch_->streams) {
      if (stream.peer == message.peer && stream.read == sent->read) stream.end_us = now_us;
    }
  }
  const bool opens = sent->kind == PeerKind::kOpen || sent->kind == PeerKind::kOpenRanges;
  if (!opens || fetch_->streams.size() >= kStreamsMax) return;
  const Source& source = sources_[message.peer];
  fetch_->streams.push_back({.peer = message.peer,
                             .read = sent->read,
                             .source = source.key,
                             .tier = source.tier,
                             .way = source.way,
                             .begin_us = now_us});
}

FetchRecord::Stream* ReadingWatch::OpenStream(Incarnation peer) {
  for (auto stream = fetch_->streams.rbegin(); stream != fetch_->streams.rend(); ++stream) {
    if (stream->peer == peer) return &*stream;
  }
  return nullptr;
}

void ReadingWatch::OnSessionSend(const SessionSend& send) {
  const auto* failed = std::get_if<protocol::SourceFailed>(&send.message);
  if (failed != nullptr && failures_.insert(failed->assignment).second) ++tally_.failed_sources;
}

void ReadingWatch::OnGet(const Get& get) {
  uint64_t bytes = 0;
  for (const CopyRun& run : get.runs) bytes += run.bytes;
  gets_[get.token] = {get.peer, bytes};
}

void ReadingWatch::OnGetDone(const GetDone& done) {
  const auto found = gets_.find(done.token);
  if (found == gets_.end()) return;
  const auto [peer, bytes] = found->second;
  gets_.erase(found);
  if (done.status.ok()) AddBytes(peer, bytes);
}

void ReadingWatch::AddBytes(Incarnation peer, uint64_t bytes) {
  Source& source = sources_[peer];
  if (FetchRecord::Stream* stream = OpenStream(peer)) stream->bytes += bytes;
  source.unsaid_bytes += bytes;
  if (!source.way.empty()) Say(source, source.way);
}

// A figure never falls, so that bytes are counted once it is known how they come.
void ReadingWatch::Say(Source& source, const std::string& way) {
  if (source.unsaid_bytes == 0) return;
  tally_.read[{source.tier, way}] += std::exchange(source.unsaid_bytes, 0);
}

void ReadingWatch::OnLane(const PathKnown& lane) {
  Source& source = sources_[lane.peer];
  source.way = lane.way;
  if (FetchRecord::Stream* stream = OpenStream(lane.peer)) stream->way = lane.way;
  if (!lane.way.empty()) Say(source, lane.way);
}

void ReadingWatch::OnDone(const VerbDone& done, int64_t now_us) {
  CountTime(now_us);
  for (auto& [peer, source] : sources_) Say(source, source.way.empty() ? kNotSaid : source.way);
  (done.status.ok() ? tally_.succeeded : tally_.failed) += 1;
  fetch_->end_us = now_us;
  fetch_->status = done.status;
  if (done.status.ok()) fetch_->version = done.fetch.version;
  fetch_->spans.back().end_us = now_us;
  EndStreams(std::nullopt, now_us);
  ended_ = std::move(fetch_);
  fetch_.reset();
}

}  // namespace tensorhub::agent
