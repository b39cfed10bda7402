// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/hub/client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "common/remedy.h"
#include "protocol/codec/directives.h"
#include "protocol/codec/fields.h"
#include "protocol/codec/reports.h"
#include "worker_agent/core/refusal.h"
#include "worker_agent/hub/status.h"
#include "worker_agent/runtime/log.h"

namespace tensorhub::agent {
namespace {

constexpr TimeMs kFirstBackOffMs = 100;
constexpr TimeMs kLongestBackOffMs = 1000;
// A crashed predecessor is noticed after moments; nobody gains by waiting longer between tries.
constexpr TimeMs kConnectBackOffMs = 400;
// Documents that an overloaded hub did not take.
constexpr TimeMs kPutAgainMs = 2000;
// A session that was lost and is not had again for so long wants another channel, which begins to
// connect at once; and less and less often, so that a hub that is slow is left alone.
constexpr TimeMs kFirstRenewMs = 5000;
constexpr TimeMs kLongestRenewMs = 30'000;
// How often a channel that is to be used once it is connected is asked whether it is.
constexpr TimeMs kMoveMs = 200;
// TCP's, HTTP's, and the session's.
constexpr TimeMs kConnectingRoundTrips = 3;

// The earlier of those that there are.
std::optional<TimeMs> Earlier(std::optional<TimeMs> one, std::optional<TimeMs> other) {
  if (one && other) return std::min(*one, *other);
  return one ? one : other;
}

}  // namespace

HubClient::HubClient(Options options, std::shared_ptr<HubChannel> channel,
                     std::shared_ptr<Inbox> inbox, Owner owner)
    : options_(std::move(options)),
      endpoint_(options_.facts.endpoint),
      inbox_(std::move(inbox)),
      owner_(std::move(owner)),
      channel_(std::move(channel)),
      in_use_(channel_->Get()),
      stub_(v1::Hub::NewStub(in_use_)),
      calls_(stub_, inbox_, options_.facts.self,
             [this](const CallReply& reply) { owner_.on_event(reply); }),
      witness_(channel_, inbox_, [this](const HubWitness::Testimony& said) { OnTestimony(said); }),
      random_(options_.seed) {}

HubClient::~HubClient() {
  if (session_) session_->Cancel();
}

void HubClient::Connect(TimeMs now) {
  now_ = now;
  connect_until_ = now + options_.connect_timeout_ms;
  Open();
}

void HubClient::Tick(TimeMs now) {
  now_ = now;
  if (state_ == State::kEnded) return;
  if (!connected_ && now >= connect_until_) return FailConnect(TimedOut());
  if (opened_by_ && now >= *opened_by_) {
    opened_by_.reset();
    open_patience_ms_ = std::min(2 * open_patience_ms_, kLongestOpenPatienceMs);
    if (session_) session_->Cancel();  // its end follows, and the next server
  }
  BeatWhileOpening();
  if (renew_at_ && now >= *renew_at_) {
    RenewChannel();
  } else if (open_at_ && now >= *open_at_) {
    Open();
  }
  if (move_at_ && now_ >= *move_at_) MoveToPatientChannel();
  PutMissingDocuments();
  if (ask_others_at_ && now >= *ask_others_at_) AskOthers();
}

// R8: the lease is not to end before the worker has heard that it has one.
void HubClient::BeatWhileOpening() {
  if (!beat_at_ || now_ < *beat_at_) return;
  beat_at_ = now_ + OpeningBeatMs();
  session_->Send(protocol::Encode(protocol::Heartbeat{}));
}

// Half of the time at random: thousands of workers do so.
void HubClient::AskOthers() {
  ask_others_at_.reset();
  if (state_ != State::kUp || !channel_->several()) return;
  witness_.Ask(heartbeat_ms_);
  const TimeMs half = std::max<TimeMs>(heartbeat_ms_ / 2, 1);
  ask_others_at_ = now_ + half + static_cast<TimeMs>(random_.Below(static_cast<uint64_t>(half)));
}

// R8: the hub of this session has been followed by another, and may not know it.
void HubClient::OnTestimony(const HubWitness::Testimony& said) {
  if (state_ != State::kUp || said.leader.empty() || leaving_) return;
  if (!hub_.IsFollowedBy(said.store_id, said.epoch)) return;
  Log().warn("{} leaves the server at {}: the one at {} leads now (epoch {})",
             ToString(options_.facts.self.key), at_, said.leader, said.epoch);
  channel_->Note(at_, WithLeader(absl::UnavailableError("replaced"), said.leader));
  OpenAnew();
}

// Before the next call they are put anyhow; but whoever only holds a version makes none.
void HubClient::PutMissingDocuments() {
  if (state_ != State::kUp || !calls_.documents_missing()) return put_at_.reset();
  if (!put_at_) put_at_ = now_ + kPutAgainMs;
  if (now_ < *put_at_) return;
  put_at_.reset();
  calls_.PutDocuments();
}

std::optional<TimeMs> HubClient::NextDeadline() const {
  if (state_ == State::kEnded) return std::nullopt;
  const std::optional<TimeMs> next = Earlier(Earlier(open_at_, opened_by_), beat_at_);
  if (connected_) {
    const std::optional<TimeMs> session = Earlier(next ? next : put_at_, renew_at_);
    return Earlier(Earlier(session, ask_others_at_), move_at_);
  }
  return Earlier(connect_until_, next);
}

// The channel is another one where its credentials have changed.
void HubClient::UseChannel(const std::shared_ptr<grpc::Channel>& channel) {
  if (channel == in_use_) return;
  in_use_ = channel;
  stub_ = v1::Hub::NewStub(channel);
  calls_.Use(stub_);
}

void HubClient::UseWay() {
  const HubChannel::Way way = channel_->GetWay();
  at_ = way.server;
  UseChannel(way.channel);
}

void HubClient::Open() {
  open_at_.reset();
  pulse_.Drop();
  UseWay();
  opened_by_.reset();
  if (channel_->several()) opened_by_ = now_ + open_patience_ms_;
  asked_ = std::chrono::steady_clock::now();
  asked_at_once_ = in_use_->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_READY;
  move_at_.reset();
  state_ = State::kOpening;
  protocol::OpenSession opening = OpeningOf(options_.facts, owner_.report());
  opening.endpoint = endpoint_;
  opening.number = ++number_;
  opening.resumed = connected_;
  opening.known_store = FromBytes(hub_.store_id()).value_or(Id128{});
  opening.known_hub_epoch = hub_.epoch();
  v1::WorkerMessage first;
  *first.mutable_open() = protocol::Encode(opening);
  HubSession::Listener listener;
  listener.on_message = [this, inbox = inbox_, number = number_](const v1::HubMessage& message) {
    inbox->Post([this, number, message] { OnMessage(number, message); });
  };
  listener.on_end = [this, inbox = inbox_, number = number_](const grpc::Status& status) {
    inbox->Post([this, number, status] { OnEnd(number, status); });
  };
  session_ = HubSession::Open(*stub_, std::move(first), std::move(listener));
  beat_at_ = now_ + OpeningBeatMs();
}

// As often as the last hub wanted it, at least, if there was one.
TimeMs HubClient::OpeningBeatMs() const {
  return connected_ ? std::min(kOpeningBeatMs, std::max<TimeMs>(heartbeat_ms_, 1)) : kOpeningBeatMs;
}

void HubClient::Send(const SessionSend& send) {
  if (state_ == State::kUp) session_->Send(protocol::Encode(send.message));
}

void HubClient::MoveTo(const std::string& endpoint) {
  endpoint_ = endpoint;
  inbox_->Post([this] { OpenAnew(); });  // its owner is in the middle of an event
}

void HubClient::OpenAnew() {
  if (leaving_) return;                                           // the hub is to end it, for good
  if (state_ != State::kUp && state_ != State::kOpening) return;  // the next one says it
  if (state_ == State::kUp) LoseSession();
  // In this order the hub sees a session that takes over, and none that ends.
  const std::shared_ptr<HubSession> last = session_;
  Open();
  last->Cancel();
}

// Where being welcome took long, another connection would not be there sooner.
void HubClient::LoseSession() {
  renew_after_ms_ = std::max(kFirstRenewMs, open_patience_ms_);
  renew_at_ = now_ + renew_after_ms_;
  owner_.on_event(SessionDown{});
}

// Calls under way on the last one are repeated when a session is up.
void HubClient::RenewChannel() {
  renew_after_ms_ = std::min(2 * renew_after_ms_, kLongestRenewMs);
  renew_at_ = now_ + renew_after_ms_;
  Log().info("{} tries the server at {} by another connection", ToString(options_.facts.self.key),
             at_);
  channel_->Renew();
  const std::shared_ptr<HubSession> last = session_;
  Open();
  if (last) last->Cancel();
}

void HubClient::OnMessage(SessionNumber number, const v1::HubMessage& message) {
  // A session is welcomed once, before anything else is said.
  const State due = message.has_welcome() ? State::kOpening : State::kUp;
  if (number != number_ || state_ != due) return;
  const absl::StatusOr<std::optional<protocol::HubMessage>> said = protocol::Decode(message);
  if (!said.ok()) {
    Log().warn("{}", std::string(said.status().message()));
    return session_->Cancel();  // and begin anew, with a full report
  }
  if (*said) std::visit([this](const auto& directive) { OnDirective(directive); }, **said);
}

absl::Status HubClient::CheckIdentity(const protocol::Welcome& welcome) {
  const uint64_t known = hub_.epoch();
  const std::string store = protocol::IdBytes(welcome.store);
  switch (hub_.Meet(store, welcome.hub_epoch, protocol::IdBytes(welcome.adopts))) {
    case KnownHub::Verdict::kLeads:
      return absl::OkStatus();
    case KnownHub::Verdict::kAnother:
      return absl::FailedPreconditionError(absl::StrFormat(
          "the server at %s is another one now (store %s, was %s); restart this worker to use it",
          at_, absl::BytesToHexString(store), absl::BytesToHexString(hub_.store_id())));
    case KnownHub::Verdict::kOlder:
      break;
  }
  return WithLeader(absl::FailedPreconditionError(absl::StrFormat(
                        "the server at %s runs on old data (epoch %d, was %d); stop it, or restart "
                        "this worker to use it",
                        at_, welcome.hub_epoch, known)),
                    "");
}

// Another one of several servers leads.
bool HubClient::LeadsNot(const absl::Status& status) const {
  return RemedyOf(status) == Remedy::kAskLeader && channel_->several();
}

void HubClient::OnDirective(const protocol::Welcome& welcome) {
  const std::string before = hub_.store_id();
  const absl::Status status = CheckIdentity(welcome);
  if (LeadsNot(status)) {
    Log().warn("{}", std::string(status.message()));
    return session_->Cancel();  // its end follows, and the next server
  }
  if (!status.ok()) return Refuse(status);
  state_ = State::kUp;
  opened_by_.reset();
  beat_at_.reset();
  channel_->NoteThere(at_, RoundTripMs());
  if (channel_->has_patient()) move_at_ = now_ + kMoveMs;
  open_patience_ms_ = std::max(kOpenPatienceMs, 2 * AskedForMs());
  heartbeat_ms_ = welcome.heartbeat_ms;
  if (channel_->several()) ask_others_at_ = now_ + heartbeat_ms_;
  renew_at_.reset();
  pulse_.Use(session_, heartbeat_ms_);
  failures_ = 0;
  last_failure_ = absl::OkStatus();
  Log().info("{} {} the server at {} (version {}, epoch {})", ToString(options_.facts.self.key),
             connected_ ? "reconnected to" : "connected to", at_, welcome.server_version,
             welcome.hub_epoch);
  const bool moved = !before.empty() && hub_.store_id() != before;
  if (moved)
    Log().warn("{} belongs to another hub now, which has adopted it",
               ToString(options_.facts.self.key));
  awaits_adoption_ = false;
  const bool first = !std::exchange(connected_, true);
  owner_.on_event(SessionUp{welcome, moved});
  if (first) owner_.on_connected(absl::OkStatus());
}

void HubClient::OnEnd(SessionNumber number, const grpc::Status& ended) {
  if (number != number_ || state_ == State::kEnded) return;
  const bool was_up = state_ == State::kUp;
  pulse_.Drop();
  session_.reset();
  opened_by_.reset();
  beat_at_.reset();
  state_ = leaving_ && ended.ok() ? State::kEnded : State::kIdle;
  if (state_ == State::kEnded) return;
  const absl::Status status =
      ended.ok() ? absl::UnavailableError("the server ended the session") : WhyEnded(ended);
  if (was_up) {
    Log().warn("{} lost the server at {} ({}); reconnecting", ToString(options_.facts.self.key),
               at_, std::string(status.message()));
    LoseSession();
  }
  channel_->Note(at_, status);
  if (!was_up && absl::IsUnavailable(status)) channel_->NoteNoAnswer(AskedForMs());
  if (RemedyOf(status) == Remedy::kAskLeader) failures_ = 0;  // somebody knows where to go
  if (!connected_) return OnFirstFailure(status);
  if (LeadsNot(status)) return RetryLater();
  if (RemedyOf(status) == Remedy::kAwaitAdoption) return AwaitAdoption(status);
  // A certificate or token that has ended may be renewed: the next try looks at the files again.
  if (IsRefusal(status) && !absl::IsUnauthenticated(status)) return Refuse(status);
  RetryLater();
}

// R8: with what it holds, as often as it would send heartbeats.
void HubClient::AwaitAdoption(const absl::Status& status) {
  if (!std::exchange(awaits_adoption_, true)) {
    Log().warn("{} waits: {}", ToString(options_.facts.self.key), std::string(status.message()));
  }
  owner_.on_event(SessionDown{status});
  open_at_ = now_ + heartbeat_ms_;
  // The server is reached. That is no promise for the next try.
  renew_after_ms_ = kFirstRenewMs;
  renew_at_ = *open_at_ + renew_after_ms_;
}

// gRPC says nothing of a service that is not there. Where it was there before, a proxy may stand in
// for a server that restarts.
absl::Status HubClient::WhyEnded(const grpc::Status& ended) const {
  if (ended.error_code() != grpc::StatusCode::UNIMPLEMENTED) return HubStatus(ended);
  const std::string text = absl::StrFormat(
      "the server at %s is no tensorhub-server, or of another version; correct the address", at_);
  return connected_ ? absl::UnavailableError(text) : absl::FailedPreconditionError(text);
}

void HubClient::OnFirstFailure(const absl::Status& status) {
  last_failure_ = status;
  if (LeadsNot(status)) return RetryLater();
  if (IsRefusal(status) && !absl::IsAlreadyExists(status)) return FailConnect(status);
  RetryLater();
}

void HubClient::Refuse(const absl::Status& status) {
  const bool was_connected = connected_;
  state_ = State::kEnded;
  if (session_) session_->Cancel();
  if (!was_connected) return FailConnect(status);
  const absl::Status reason =
      absl::IsAlreadyExists(status)
          ? absl::AbortedError("this worker was replaced: " + std::string(status.message()))
          : status;
  Log().warn("{} is refused by the server at {}: {}", ToString(options_.facts.self.key), at_,
             std::string(reason.message()));
  owner_.on_event(SessionRefused{reason});
}

void HubClient::FailConnect(const absl::Status& status) {
  state_ = State::kEnded;
  if (session_) session_->Cancel();
  owner_.on_connected(status);
}

absl::Status HubClient::TimedOut() const {
  const bool answered =
      absl::IsAlreadyExists(last_failure_) || absl::IsResourceExhausted(last_failure_);
  if (answered) return last_failure_;
  const std::string why = last_failure_.ok() ? "no answer" : std::string(last_failure_.message());
  return absl::UnavailableError(absl::StrFormat(
      "no TensorHub server answered at %s within %.3g s (%s); start tensorhub-server there, or "
      "correct the address",
      options_.server, static_cast<double>(options_.connect_timeout_ms) / 1000, why));
}

TimeMs HubClient::AskedForMs() const {
  const auto asked_for = std::chrono::steady_clock::now() - asked_;
  return std::chrono::duration_cast<std::chrono::milliseconds>(asked_for).count();
}

TimeMs HubClient::RoundTripMs() const {
  return AskedForMs() / (asked_at_once_ ? 1 : kConnectingRoundTrips);
}

// The session goes over once that is connected, so that calls need not wait for it.
void HubClient::MoveToPatientChannel() {
  move_at_.reset();
  if (state_ != State::kUp || !channel_->has_patient()) return;
  if (!channel_->TakePatient()) {
    move_at_ = now_ + kMoveMs;
    return;
  }
  Log().info("{} goes on with the server at {} by a connection that waits longer for answers",
             ToString(options_.facts.self.key), at_);
  OpenAnew();
}

void HubClient::RetryLater() {
  const bool soon = !connected_ || channel_->several();
  const TimeMs longest = soon ? kConnectBackOffMs : kLongestBackOffMs;
  const TimeMs step = std::min(longest, kFirstBackOffMs << std::min(failures_, 10));
  ++failures_;
  // Half of it at random: thousands of workers lose the hub in the same moment.
  open_at_ = now_ + step / 2 + static_cast<TimeMs>(random_.Below(static_cast<uint64_t>(step / 2)));
}

}  // namespace tensorhub::agent
