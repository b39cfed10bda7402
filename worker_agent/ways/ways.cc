// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ways/ways.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/limits.h"
#include "common/remedy.h"
#include "worker_agent/runtime/log.h"
#include "worker_agent/ucx/ucx_envelope.h"

namespace tensorhub::agent {
namespace {

// Tokens of messages that may be sent once more. Those of whoever sends never have both bits.
constexpr uint64_t kMessageTokens = uint64_t{3} << 62;
constexpr size_t kProvenMax = 1024;
constexpr size_t kSaidMax = 64;
constexpr int64_t kProvenMs = 10 * 60 * 1000;
constexpr size_t kEnvelopeBytes = 64;  // more than it takes

std::string NameOf(const WayOffer& offer) {
  if (offer.kind == WayOffer::Kind::kMemory) return "shared memory";
  return absl::StrCat(offer.kind == WayOffer::Kind::kCards ? "RDMA at " : "", offer.network.device,
                      " ", AddressText(offer.network.address));
}

// A peer on this host that may not map our memory says nothing, where any other answers at once.
int64_t SilentMs(const WayOffer& offer) {
  return offer.kind == WayOffer::Kind::kMemory ? Ways::kMemorySilentMs : Ways::kSilentMs;
}

bool IsNetwork(const Ways::Candidate& candidate) {
  return candidate.offer.kind == WayOffer::Kind::kNetwork;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Ways>> Ways::Create(Sink* sink, const Host& host) {
  std::unique_ptr<Ways> ways(new Ways(sink, host));
  absl::Status last = absl::FailedPreconditionError("this host has no network");
  absl::Status exhausted;
  for (const Candidate& candidate : host.candidates) {
    if (ways->ways_.size() == kWaysMax) break;
    const absl::Status added = ways->Add(candidate);
    if (added.ok()) continue;
    last = added;
    if (IsNetwork(candidate) && absl::IsResourceExhausted(added)) exhausted = added;
    Log().warn("{} is not used: {}", NameOf(candidate.offer), std::string(added.message()));
  }
  if (ways->ways_.empty()) return last;
  // With less than the user gives it room for, it would be out of reach of other hosts.
  if (!exhausted.ok() && !ways->Reaches(WayOffer::Kind::kNetwork)) return exhausted;
  ways->address_ = WrapEnvelope(EnvelopeKind::kWays, Encode(ways->mine_));
  ways->OpenEvents();
  return ways;
}

Ways::Ways(Sink* sink, const Host& host)
    : sink_(sink), source_towards_(host.source_towards), now_ms_(host.now_ms) {
  mine_.boot = host.boot;
  mine_.network_space = host.network_space;
}

Ways::~Ways() {
  if (events_ >= 0) close(events_);
  if (alarm_ >= 0) close(alarm_);
}

absl::Status Ways::Add(const Candidate& candidate) {
  auto way = std::make_unique<Way>();
  way->owner = this;
  way->index = ways_.size();
  way->offer = candidate.offer;
  absl::StatusOr<std::unique_ptr<MessageTransport>> made = candidate.make(way.get());
  if (!made.ok()) return made.status();
  way->transport = *std::move(made);
  way->offer.transport = way->transport->Address();
  mine_.ways.push_back(way->offer);
  if (Encode(mine_).size() > kEndpointBytesMax - kEnvelopeBytes) {
    mine_.ways.pop_back();
    return absl::ResourceExhaustedError("the address with it would be too long");
  }
  ways_.push_back(std::move(way));
  return absl::OkStatus();
}

bool Ways::Reaches(WayOffer::Kind kind) const {
  return std::any_of(ways_.begin(), ways_.end(),
                     [&](const auto& way) { return way->offer.kind == kind; });
}

void Ways::OpenEvents() {
  events_ = epoll_create1(EPOLL_CLOEXEC);
  alarm_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  const auto watch = [this](int fd) {
    epoll_event event{.events = EPOLLIN, .data = {}};
    if (fd >= 0) epoll_ctl(events_, EPOLL_CTL_ADD, fd, &event);
  };
  watch(alarm_);
  for (const auto& way : ways_) watch(way->transport->EventFd());
}

absl::StatusOr<PeerId> Ways::Connect(std::string_view address) {
  const absl::StatusOr<std::string_view> content = UnwrapEnvelope(EnvelopeKind::kWays, address);
  if (!content.ok()) return content.status();
  absl::StatusOr<WayOffers> theirs = DecodeWayOffers(*content);
  if (!theirs.ok()) return theirs.status();
  Peer peer;
  peer.address = std::string(address);
  peer.left = OrderWays(mine_, *theirs, source_towards_);
  peer.theirs = *std::move(theirs);
  const auto known = proven_.find(peer.address);
  if (known != proven_.end() && now_ms_() < known->second.until) {
    const auto better = std::find(peer.left.begin(), peer.left.end(), known->second.way);
    if (better != peer.left.end()) std::rotate(peer.left.begin(), better, better + 1);
  }
  std::reverse(peer.left.begin(), peer.left.end());
  const PeerId id = ++last_peer_;
  if (absl::Status status = ConnectNext(id, peer); !status.ok()) return status;
  peers_.emplace(id, std::move(peer));
  trying_.insert(id);
  SetAlarm();
  return id;
}

// The next way that is not refused at once.
absl::Status Ways::ConnectNext(PeerId id, Peer& peer) {
  while (TakeNext(peer)) {
    Way& way = *ways_[peer.way.mine];
    const auto inner = way.transport->Connect(peer.theirs.ways[peer.way.theirs].transport);
    if (!inner.ok()) {
      Refuse(peer, inner.status());
      continue;
    }
    peer.inner = *inner;
    way.peers[*inner] = id;
    peer.silent_at = now_ms_() + SilentMs(way.offer);
    return absl::OkStatus();
  }
  if (!peer.refused.ok()) return peer.refused;
  return absl::UnavailableError("the peer is in no network of this host");
}

bool Ways::TakeNext(Peer& peer) {
  if (peer.left.empty() && !peer.waits && !peer.silent.empty()) {
    peer.left = std::exchange(peer.silent, {});
    std::reverse(peer.left.begin(), peer.left.end());
    peer.waits = true;
  }
  if (peer.left.empty()) return false;
  peer.way = peer.left.back();
  peer.left.pop_back();
  return true;
}

// R8: that there is no route to the peer, for the moment, says nothing of the peer.
void Ways::Refuse(Peer& peer, const absl::Status& why) {
  const WayOffer& way = peer.theirs.ways[peer.way.theirs];
  peer.routed |= way.kind == WayOffer::Kind::kMemory || source_towards_(way.network.address);
  const std::string text = absl::StrCat("over ", NameOf(way), ": ", std::string(why.message()));
  peer.refused = AsOutage(absl::Status(why.code(), text), !peer.routed);
}

// Only now: where no way connects, the error says so.
void Ways::SayWhichWay(const Peer& peer) {
  if (peer.refused.ok()) return;
  const std::string name = NameOf(peer.theirs.ways[peer.way.theirs]);
  const bool first = said_.size() < kSaidMax && said_.insert(name).second;
  Log().log(first ? spdlog::level::warn : spdlog::level::info,
            "a peer is reached over {}, and not {}", name, std::string(peer.refused.message()));
}

void Ways::Leave(Peer& peer) {
  if (peer.inner == 0) return;
  Way& way = *ways_[peer.way.mine];
  way.peers.erase(peer.inner);
  way.transport->Close(std::exchange(peer.inner, 0));
}

void Ways::Send(PeerId id, std::string_view header, std::span<const ConstPiece> pieces,
                uint64_t token) {
  const auto found = peers_.find(id);
  if (found == peers_.end() || found->second.inner == 0) {
    if (token != 0) sent_.emplace_back(token, absl::UnavailableError("the peer is not connected"));
    return;
  }
  Peer& peer = found->second;
  if (peer.proven) return WayOf(peer).transport->Send(peer.inner, header, pieces, token);
  const uint64_t number = ++last_message_;
  Message& message = messages_[number];
  message = {id, token, std::string(header), {pieces.begin(), pieces.end()}, 0, false, {}};
  peer.unsure.push_back(number);
  if (!peer.moves) Start(number, message, peer);
}

void Ways::Start(uint64_t number, Message& message, const Peer& peer) {
  ++message.under_way;
  WayOf(peer).transport->Send(peer.inner, message.header, message.pieces, kMessageTokens | number);
}

void Ways::OnMessageSent(uint64_t number, const absl::Status& status) {
  const auto found = messages_.find(number);
  TH_CHECK(found != messages_.end());
  Message& message = found->second;
  --message.under_way;
  message.delivered |= status.ok();
  message.outcome = message.delivered ? absl::OkStatus() : status;
  const auto peer = peers_.find(message.peer);
  if (status.ok() && peer != peers_.end() && !peer->second.moves) Prove(peer->second);
  const bool again = peer != peers_.end() && !peer->second.proven;
  if (message.under_way == 0 && !again) EndMessage(number);
}

// What else is unsure is under way by this way, too, and ends as it does there.
void Ways::Prove(Peer& peer) {
  if (std::exchange(peer.proven, true)) return;
  SayWhichWay(peer);
  trying_.erase(ways_[peer.way.mine]->peers.at(peer.inner));
  peer.unsure.clear();
  if (proven_.size() >= kProvenMax) proven_.clear();
  proven_[peer.address] = {peer.way, now_ms_() + kProvenMs};
  SetAlarm();
}

void Ways::EndMessage(uint64_t number) {
  const auto found = messages_.find(number);
  const Message message = std::move(found->second);
  messages_.erase(found);
  if (message.token != 0) sent_.emplace_back(message.token, message.outcome);
}

void Ways::Close(PeerId id) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  const std::vector<uint64_t> unsure = std::move(found->second.unsure);
  Leave(found->second);
  peers_.erase(found);
  trying_.erase(id);
  for (const uint64_t number : unsure) {
    Message& message = messages_.at(number);
    message.outcome = absl::CancelledError("the connection to the peer is closed");
    if (message.under_way == 0) EndMessage(number);
  }
}

// Outside of what the ways call: those whose way was refused, or has been silent for too long.
void Ways::MoveOn() {
  const int64_t now = now_ms_();
  const std::set<PeerId> trying = trying_;
  for (const PeerId id : trying) {
    Peer& peer = peers_.at(id);
    const bool limited = !peer.waits && !(peer.left.empty() && peer.silent.empty());
    const bool silent = !peer.moves && limited && now >= peer.silent_at;
    if (!peer.moves && !silent) continue;
    if (silent) {
      peer.silent.push_back(peer.way);
      Refuse(peer, absl::DeadlineExceededError(
                       absl::StrCat("silent for ", SilentMs(WayOf(peer).offer), " ms")));
    }
    Leave(peer);
    peer.moves = false;
    if (absl::Status status = ConnectNext(id, peer); !status.ok()) {
      trying_.erase(id);
      failed_.emplace_back(id, status);
      for (const uint64_t number : std::exchange(peer.unsure, {})) {
        Message& message = messages_.at(number);
        message.outcome = status;
        peer.proven = true;  // what is under way ends as it does
        if (message.under_way == 0) EndMessage(number);
      }
      continue;
    }
    for (const uint64_t number : peer.unsure) Start(number, messages_.at(number), peer);
  }
  SetAlarm();
}

// Wakes whoever waits for events when a way has been silent for long enough.
void Ways::SetAlarm() {
  int64_t next = 0;
  for (const PeerId id : trying_) {
    const Peer& peer = peers_.at(id);
    if (peer.waits || (peer.left.empty() && peer.silent.empty())) continue;
    next = next == 0 ? peer.silent_at : std::min(next, peer.silent_at);
  }
  itimerspec at{};
  if (next != 0) {
    const int64_t ms = std::max<int64_t>(1, next - now_ms_());
    at.it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1'000'000};
  }
  timerfd_settime(alarm_, 0, &at, nullptr);
}

bool Ways::Progress() {
  bool any = false;
  for (const auto& way : ways_) any = way->transport->Progress() || any;
  if (!trying_.empty()) MoveOn();
  const auto sent = std::exchange(sent_, {});
  for (const auto& [token, status] : sent) sink_->OnSent(token, status);
  const auto failed = std::exchange(failed_, {});
  for (const auto& [peer, status] : failed) {
    if (peers_.contains(peer)) sink_->OnPeerFailed(peer, status);
  }
  return any || !sent.empty() || !failed.empty();
}

bool Ways::Arm() {
  if (!sent_.empty() || !failed_.empty()) return false;
  bool armed = true;
  for (const auto& way : ways_) armed = way->transport->Arm() && armed;
  return armed;
}

size_t Ways::WholePayloadBytes(PeerId peer) const {
  const auto found = peers_.find(peer);
  if (found == peers_.end() || found->second.inner == 0) return MaxPayloadBytes();
  return WayOf(found->second).transport->WholePayloadBytes(found->second.inner);
}

std::string Ways::Describe(PeerId peer) const {
  const auto found = peers_.find(peer);
  if (found == peers_.end() || found->second.inner == 0) return "closed";
  return WayOf(found->second).transport->Describe(found->second.inner);
}

std::string Ways::Summary() const {
  std::string text;
  for (const auto& way : ways_) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", way->transport->Summary());
  }
  return text;
}

void Ways::SelfTestReceive() {
  for (const auto& way : ways_) way->transport->SelfTestReceive();
}

void Ways::Abandon() {
  for (const auto& way : ways_) way->transport->Abandon();
}

void Ways::Way::OnMessage(std::string_view header, std::string_view payload) {
  owner->sink_->OnMessage(header, payload);
}

void Ways::Way::OnHeard(PeerId inner, bool lossy) {
  const auto found = peers.find(inner);
  if (found != peers.end()) owner->sink_->OnHeard(found->second, lossy);
}

void Ways::Way::OnSent(uint64_t token, const absl::Status& status) {
  const bool ours = (token & kMessageTokens) == kMessageTokens;
  ours ? owner->OnMessageSent(token & ~kMessageTokens, status)
       : owner->sink_->OnSent(token, status);
}

void Ways::Way::OnPeerFailed(PeerId inner, const absl::Status& status) {
  const auto found = peers.find(inner);
  if (found == peers.end()) return;
  Peer& peer = owner->peers_.at(found->second);
  if (peer.proven) return owner->sink_->OnPeerFailed(found->second, status);
  owner->Refuse(peer, status);
  peer.moves = true;
}

void Ways::Way::OnDeaf(std::string_view why) { owner->sink_->OnDeaf(why); }

}  // namespace tensorhub::agent
