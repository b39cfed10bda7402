// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/core_worker.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "common/check.h"
#include "tools/sim/core_events.h"

namespace tensorhub::sim {
namespace {

constexpr uint64_t kFrameBytes = 256 * 1024;
// Bytes of a message on the wire without its payload.
constexpr double kHeaderBytes = 128;
constexpr TimeMs kVerbTimeoutMs = 600'000;

agent::CoreOptions OptionsOf(const SimContext& around, const WorkerFacts& facts) {
  agent::CoreOptions options;
  options.self = {facts.identity.key, facts.identity.incarnation};
  options.endpoint = "simulated";
  options.seed = facts.number + 1;
  options.world_size = around.shard.world_size;
  options.frame_bytes = kFrameBytes;
  options.silence_ms = around.times.silence / kMillisecond;
  options.alive_ms = std::min<TimeMs>(options.alive_ms, options.silence_ms / 4);
  options.one_sided = false;
  return options;
}

// A payload's bytes are never looked at.
std::string_view PayloadOf(uint64_t bytes) {
  static const auto& zeros = *new std::string(kFrameBytes, '\0');
  TH_CHECK(bytes <= zeros.size());
  return std::string_view(zeros).substr(0, bytes);
}

}  // namespace

CoreWorker::CoreWorker(const SimContext& around, WorkerFacts facts, Register& others,
                       FrameNetwork& frames)
    : FleetWorker(around, std::move(facts)),
      others_(others),
      frames_(frames),
      core_(OptionsOf(around_, facts_)) {
  others_.resize(facts_.number + 1, nullptr);
  others_[facts_.number] = this;
}

void CoreWorker::Open(const std::optional<PublicationId>& /*held*/, VersionNumber /*version*/) {
  agent::Registered registered;
  registered.layout = layout();
  registered.total_bytes = static_cast<uint64_t>(around_.shard.bytes);
  Step(registered);
  around_.hub.Apply(Opening());
}

void CoreWorker::Publish(VersionNumber version) {
  publishing_ = version;
  agent::PublishVerb verb;
  verb.version = version;
  verb.timeout_ms = kVerbTimeoutMs;
  Step(agent::VerbAsked{verb});
}

void CoreWorker::Fetch(VersionNumber newer_than) {
  if (gone_ || leaving_ || fetching_) return;
  if (record_.done != 0 || record_.asked == 0) record_ = FetchRecord{around_.world.now()};
  newer_than_ = newer_than;
  fetching_ = true;
  agent::FetchVerb verb;
  verb.selector = {VersionSelector::Kind::kNewerThan, newer_than};
  verb.timeout_ms = kVerbTimeoutMs;
  Step(agent::VerbAsked{verb});
}

// A verb at a time: whoever is still fetching just goes.
void CoreWorker::Leave() {
  if (gone_) return;
  if (fetching_) return Die();
  leaving_ = true;
  Step(agent::VerbAsked{agent::LeaveVerb{}});
}

void CoreWorker::OnHub(const hub::Effect& effect) {
  if (gone_) return;
  if (const auto* reply = std::get_if<hub::Reply>(&effect)) {
    return Step(ToAgent(*reply, HubPort::OpOf(reply->call)));
  }
  const auto& directive = std::get<hub::Directive>(effect);
  if (std::holds_alternative<protocol::Assign>(directive.body)) ++assignments_;
  Step(ToAgent(directive));
}

void CoreWorker::Step(const agent::Event& event) {
  if (gone_) return;
  agent::Effects effects;
  core_.Step(event, NowMs(), effects);
  for (const agent::Effect& effect : effects) {
    std::visit([this](const auto& body) { CarryOut(body); }, effect);
  }
  TickLater();
}

void CoreWorker::TickLater() {
  const std::optional<TimeMs> next = core_.NextDeadline();
  if (!next || (tick_ && *tick_ <= *next)) return;
  tick_ = next;
  around_.world.At(std::max(around_.world.now(), *next * kMillisecond), [this, at = *next] {
    if (tick_ != at) return;
    tick_.reset();
    Step(agent::Tick{});
  });
}

void CoreWorker::SendFrame(Incarnation peer, const std::string& header, uint64_t payload_bytes,
                           std::optional<uint64_t> token) {
  TH_CHECK(peer - 1 < others_.size());
  CoreWorker* to = others_[peer - 1];
  World::Action sent;
  if (token) sent = [this, token] { Step(agent::SendDone{*token, absl::OkStatus()}); };
  frames_.Send(around_.topology.Between(facts_.gpu, to->facts_.gpu),
               static_cast<double>(payload_bytes) + kHeaderBytes, std::move(sent),
               [to, header, payload_bytes] { to->OnArrived(header, payload_bytes); });
}

void CoreWorker::OnArrived(const std::string& header, uint64_t payload_bytes) {
  Step(agent::MessageArrived{header, PayloadOf(payload_bytes)});
}

void CoreWorker::CarryOut(const agent::Call& effect) {
  const hub::CallId call = HubPort::CallOf(facts_.number, effect.op);
  around_.hub.Send(hub::Asked({call, facts_.identity, effect.op}, effect.request));
}

void CoreWorker::CarryOut(const agent::CancelCall& effect) {
  around_.hub.Send(hub::CallCancelled{HubPort::CallOf(facts_.number, effect.op)});
}

void CoreWorker::CarryOut(const agent::SessionSend& effect) {
  around_.hub.Send(hub::Heard(effect.message, session()));
}

void CoreWorker::CarryOut(const agent::SendMessage& effect) {
  SendFrame(effect.peer, effect.header, 0, std::nullopt);
}

void CoreWorker::CarryOut(const agent::SendData& effect) {
  uint64_t bytes = 0;
  for (const agent::ByteRange& range : effect.ranges) bytes += range.bytes;
  SendFrame(effect.peer, effect.header, bytes, effect.token);
}

void CoreWorker::CarryOut(const agent::VerbDone& effect) {
  if (leaving_) {
    gone_ = true;
    return;
  }
  if (!fetching_) {
    TH_CHECK(effect.status.ok());
    held_ = publishing_;
    return;
  }
  fetching_ = false;
  if (assignments_ > 0) record_.redirects += assignments_ - 1;
  assignments_ = 0;
  if (effect.status.ok()) {
    held_ = effect.fetch.version;
    record_.done = around_.world.now();
    return on_fetched();
  }
  ++record_.failures;
  around_.world.After(around_.times.retry, [this] { Fetch(newer_than_); });
}

}  // namespace tensorhub::sim
