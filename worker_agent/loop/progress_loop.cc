// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/loop/progress_loop.h"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "worker_agent/runtime/log.h"

namespace tensorhub::agent {
namespace {

// UCX has been seen not to signal its file descriptor.
constexpr TimeMs kSleepMaxMs = 100;
// A descriptor that is readable again and again without work behind it: rest instead.
constexpr int kFruitlessWakesMax = 16;
constexpr TimeMs kRestMs = 2;
// UCX may be busy with itself for so long, which is no work: at the full queue of a peer that is
// stopped 1.13 tries to send a sign of life again and again, and cannot be armed meanwhile.
constexpr int64_t kFruitlessUs = 20'000;
constexpr TimeMs kLongRestMs = 5;
constexpr TimeMs kShutDownMs = 2000;
// Between two looks at the inbox and at the clock.
constexpr int64_t kRoundsMaxUs = 2000;
constexpr int64_t kHeldUpUs = 10 * kRoundsMaxUs;
// For what peers are told when this worker ends. A peer that has stopped takes nothing.
constexpr TimeMs kLastWordsMs = 50;
constexpr uint64_t kLastWord = uint64_t{1} << 62;  // no token of the core's
// Each costs the memory and the descriptors of a transport (R9).
constexpr int kMovesMax = 64;

int64_t NowUs() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

TimeMs NowMs() { return NowUs() / 1000; }

}  // namespace

ProgressLoop::ProgressLoop(Options options, std::shared_ptr<Inbox> inbox)
    : options_(std::move(options)),
      inbox_(std::move(inbox)),
      watch_(ToString(options_.facts.self.key),
             [this](TimeMs stalled_ms) { hub_->BeatWhileStalled(stalled_ms); }),
      peers_([this](const Event& event) { Feed(event); },
             [this](const Event& event) { later_.push_back(event); }),
      one_sided_(
          options_.make_gets, [this](const Event& event) { Feed(event); },
          [this](const Event& event) { later_.push_back(event); }),
      hasher_(
          [this](std::vector<ChunksHashed> hashed) {
            hashed_ = true;
            inbox_->Post([this, hashed = std::move(hashed)] {
              for (const ChunksHashed& each : hashed) Feed(each);
            });
          },
          [this](const absl::Status& why) { inbox_->Post([this, why] { LoseMemory(why); }); }) {}

ProgressLoop::~ProgressLoop() { ShutDown(); }

absl::Status ProgressLoop::Start() {
  if (absl::Status status = watch_.Start(); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<MessageTransport>> made = options_.make_messages(&peers_);
  if (!made.ok()) return made.status();
  messages_ = *std::move(made);
  peers_.Use(messages_.get());
  CoreOptions core;
  core.self = options_.facts.self;
  core.endpoint = messages_->Address();
  core.seed = options_.seed;
  core.world_size = options_.facts.world_size;
  core.frame_bytes = messages_->MaxPayloadBytes();
  core.one_sided = options_.one_sided;
  core.digests = options_.digests;
  core.read_key = options_.facts.read_key;
  core_.emplace(core);
  if (options_.observed) {
    observer_.emplace(options_.facts.self, options_.observed,
                      [this](Incarnation peer) { return peers_.Describe(peer); });
  }
  HubClient::Options hub{options_.server, options_.facts, options_.connect_timeout_ms,
                         options_.seed + 1};
  hub.facts.endpoint = core.endpoint;
  HubClient::Owner owner{[this](const Event& event) { Feed(event); },
                         [this] { return core_->Report(); }, options_.on_connected};
  hub_ = std::make_unique<HubClient>(std::move(hub), options_.channel, inbox_, std::move(owner));
  now_ = NowMs();
  hub_->Connect(now_);
  return absl::OkStatus();
}

void ProgressLoop::Run() {
  while (!stopping_) {
    if (!Turn()) Sleep();
  }
  ShutDown();
}

void ProgressLoop::Feed(const Event& event) {
  if (shut_down_ || !lost_.ok()) return;
  // The core may read anew from then on, also from the same peer.
  if (std::holds_alternative<protocol::Assign>(event)) noted_.reset();
  if (const auto* sent = std::get_if<SendDone>(&event)) {
    if (memory_) memory_->medium().Conceal(sent->token);
  }
  if (const auto* got = std::get_if<GetDone>(&event)) {
    if (absl::IsAborted(got->status)) return LoseMemory(got->status);  // no fault of the source's
    if (got->status.ok()) NoteWay(getting_from_, /*one_sided=*/true);
  }
  TH_CHECK(effects_.empty());  // never from within an effect
  fed_ = true;
  now_ = NowMs();  // effects take time: a one-sided get copies inside the call
  if (observer_) observer_->See(event, NowUs());
  core_->Step(event, now_, effects_);
  for (const Effect& effect : effects_) {
    if (observer_) observer_->See(effect, NowUs());
    CarryOutOne(effect);
    if (!lost_.ok()) break;
  }
  effects_.clear();
}

bool ProgressLoop::Turn() {
  const StallWatch::Turn watched(watch_);
  const int64_t turn_began_us = NowUs();
  hashed_ = false;
  fed_ = false;
  bool active = inbox_->RunOnLoop();
  active |= RunLater();
  const bool asked = active;
  active |= Progress();
  // Nobody is to be taken for silent because we were busy ourselves, with a callback, say.
  if (NowUs() - turn_began_us > kHeldUpUs) active |= Progress();
  const bool fruitful = asked || fed_;
  now_ = NowMs();
  Tick();
  const int64_t now_us = NowUs();
  if (observer_) observer_->OnTurn(now_us);
  if (fruitful) fruitful_at_us_ = now_us;
  fruitless_ = now_us - fruitful_at_us_ > kFruitlessUs;
  if (active && !fruitless_) {
    spin_.OnActive(now_us - active_at_us_);
    active_at_us_ = now_us;
    fruitless_wakes_ = 0;
    return true;
  }
  if (!core_->Busy() || !spin_.Allows(now_us - active_at_us_)) return false;
  sched_yield();  // the bytes may be waiting for this very core
  return true;
}

bool ProgressLoop::RunLater() {
  if (later_.empty()) return false;
  running_later_.swap(later_);
  for (const Event& event : running_later_) Feed(event);
  running_later_.clear();
  return true;
}

bool ProgressLoop::ProgressMessages() {
  const StallWatch::Call call(watch_, "UCX's messages");
  return messages_->Progress();
}

bool ProgressLoop::ProgressGets() {
  const StallWatch::Call call(watch_, "UCX's gets, or a device's copies");
  return one_sided_.Progress();
}

bool ProgressLoop::Progress() {
  bool any = false;
  const int64_t until_us = NowUs() + kRoundsMaxUs;
  while (NowUs() < until_us) {
    const bool moved = ProgressMessages();
    const bool got = ProgressGets();
    if (const auto why = peers_.TakeDeaf()) MakeMessagesAnew(*why);
    if (!moved && !got) break;
    any = true;
    // What was hashed may be waited for: by this agent's own readers, or for more credit.
    if (!later_.empty() || hashed_.load(std::memory_order_relaxed)) break;
  }
  return any;
}

// The old transport stays as it is: peers whose answers it cannot hear are in the middle of
// connecting to it (MessageTransport::Abandon). R4: that it may still read what it was to send does
// no harm, since the core drops every read before it hears that the sends have ended, so that
// nothing of them is ever confirmed.
void ProgressLoop::MakeMessagesAnew(const std::string& why) {
  const StallWatch::Call call(watch_, "making UCX's messages anew");
  const std::string self = ToString(options_.facts.self.key);
  absl::StatusOr<std::unique_ptr<MessageTransport>> made =
      moves_ < kMovesMax ? options_.make_messages(&peers_)
                         : absl::ResourceExhaustedError("it has connected anew too often");
  if (!made.ok()) {
    return Log().error("{}: {}, and it cannot connect anew: {}; restart this worker", self, why,
                       std::string(made.status().message()));
  }
  ++moves_;
  messages_->Abandon();
  static_cast<void>(messages_.release());
  messages_ = *std::move(made);
  left_readers_ = false;  // they hang at the old one
  peers_.Use(messages_.get());
  Log().warn("{}: {}; connecting anew", self, why);
  Feed(TransportReplaced{messages_->Address()});
}

void ProgressLoop::Tick() {
  const StallWatch::Call call(watch_, "the session with the server");
  hub_->Tick(now_);
  const std::optional<TimeMs> due = core_->NextDeadline();
  if (due && now_ >= *due) Feed(agent::Tick{});
}

bool ProgressLoop::Arm() { return messages_->Arm() && one_sided_.Arm(); }

int ProgressLoop::SleepMs() const {
  TimeMs until = now_ + kSleepMaxMs;
  if (const auto due = core_->NextDeadline()) until = std::min(until, *due);
  if (const auto due = hub_->NextDeadline()) until = std::min(until, *due);
  return static_cast<int>(std::max<TimeMs>(until - now_, 0));
}

void ProgressLoop::Sleep() {
  if (!later_.empty()) return;
  const bool armed = Arm();
  // Messages wait for a peer to make room, which may need this very core for it.
  if (!armed && !fruitless_) {
    sched_yield();
    return;
  }
  const bool rest = !armed || fruitless_wakes_ > kFruitlessWakesMax;
  const TimeMs rest_ms = armed ? kRestMs : kLongRestMs;
  pollfd fds[3] = {{inbox_->fd(), POLLIN, 0},
                   {messages_->EventFd(), POLLIN, 0},
                   {one_sided_.EventFd(), POLLIN, 0}};
  const int timeout = rest ? std::min(SleepMs(), static_cast<int>(rest_ms)) : SleepMs();
  poll(fds, rest ? 1 : 3, timeout);
  if (fds[1].revents != 0 || fds[2].revents != 0) ++fruitless_wakes_;
}

void ProgressLoop::LoseMemory(const absl::Status& why) {
  if (!lost_.ok()) return;
  lost_ =
      absl::Status(why.code(), absl::StrCat("the registered memory is lost, and this client with "
                                            "it: ",
                                            std::string(why.message())));
  Log().error("{}: {}", ToString(options_.facts.self.key), std::string(lost_.message()));
  options_.on_memory_lost(lost_);
  stopping_ = true;
  if (on_verb_done_) std::exchange(on_verb_done_, nullptr)({lost_, {}});
}

std::optional<VersionNumber> ProgressLoop::Held() const {
  const std::optional<protocol::Holding> holding = core_->Report().holding;
  return holding && holding->complete ? std::optional(holding->version) : std::nullopt;
}

absl::Status ProgressLoop::Health() const { return core_->Health(); }
std::optional<TermNumber> ProgressLoop::HeldIn(VersionNumber version) const {
  return core_->HeldIn(version);
}

WorkerNow ProgressLoop::Now() const {
  WorkerNow now;
  const absl::Status health = core_->Health();
  now.connected = health.ok() || absl::IsOutOfRange(health) || absl::IsDataLoss(health);
  now.held = Held();
  now.readers = core_->Readers();
  const std::optional<protocol::OpenFetch> fetch = core_->Report().open_fetch;
  if (fetch && !fetch->finished) {
    now.sources = fetch->streams.empty() ? fetch->source.has_value() : fetch->streams.size();
  }
  return now;
}

void ProgressLoop::AskVerb(const Verb& verb, OnVerbDone on_done, OnProgress on_progress) {
  TH_CHECK(!on_verb_done_);
  if (!lost_.ok()) return on_done({lost_, {}});
  on_verb_done_ = std::move(on_done);
  on_progress_ = std::move(on_progress);
  noted_.reset();
  Feed(VerbAsked{verb});
}

void ProgressLoop::AskToLeave(TimeMs drain_ms) { Feed(LeaveAsked{drain_ms}); }

void ProgressLoop::AskToCancel() { Feed(CancelAsked{}); }

void ProgressLoop::TellCopyFailed(VersionNumber version, const absl::Status& reason) {
  Feed(protocol::CopyFailed{version, reason});
}

void ProgressLoop::NoteWay(Incarnation peer, bool one_sided) {
  if (noted_ == std::pair(peer, one_sided)) return;
  std::string way = one_sided ? one_sided_.Describe(peer) : peers_.Describe(peer);
  if (way.empty()) return;  // it has gone meanwhile
  noted_ = std::pair(peer, one_sided);
  way.insert(0, one_sided ? "one-sided over " : "served over ");
  if (!one_sided && memory_->cuda_device()) way += ", through host memory";
  later_.emplace_back(
      PathKnown{peer, one_sided ? 0 : peers_.WholePayloadBytes(peer), std::move(way)});
}

// Closing a connection drops what has not left.
void ProgressLoop::SendLastWords() {
  effects_.clear();
  core_->Step(Stopping{}, NowMs(), effects_);
  for (const Effect& effect : effects_) {
    const auto* last = std::get_if<SendMessage>(&effect);
    if (last != nullptr) peers_.Send(last->peer, last->header, {}, kLastWord);
  }
  const TimeMs until = NowMs() + kLastWordsMs;
  while (peers_.outstanding() > 0 && NowMs() < until) {
    if (!Progress()) sched_yield();
  }
}

void ProgressLoop::ShutDown() {
  if (std::exchange(shut_down_, true)) return;
  watch_.Stop();
  inbox_->Close();
  on_verb_done_ = nullptr;  // whoever waits for it hears that there is no answer
  hasher_.Stop();
  hub_.reset();
  if (!messages_) return;
  SendLastWords();
  if (observer_) observer_->End(NowUs());
  peers_.CloseAll();
  one_sided_.CloseAll();
  const TimeMs until = NowMs() + kShutDownMs;
  while (peers_.outstanding() + one_sided_.outstanding() > 0 && NowMs() < until) {
    if (!Progress()) sched_yield();
  }
  if (memory_) {
    one_sided_.StopSharing();
    scope_.reset();
  }
  one_sided_.End();
  if (left_readers_) messages_->Abandon();
  messages_.reset();
}

}  // namespace tensorhub::agent
