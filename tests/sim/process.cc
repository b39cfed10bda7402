// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/process.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/sim/checkers/checkers.h"
#include "tests/sim/cuts.h"
#include "tests/sim/details.h"
#include "tests/sim/effect_trace.h"
#include "tests/sim/gets.h"
#include "tests/sim/state_watch.h"
#include "tests/sim/wire.h"
#include "worker_agent/core/plan_parts.h"

namespace tensorhub::fault {
namespace {

// Incarnations are random, but say which process they are.
constexpr int kNumberBits = 20;

// After which a worker that hears nothing knows it.
constexpr Nanos kDeafAfter = 500 * kMillisecond;
constexpr Nanos kPlanningMax = 60 * kMillisecond;

Incarnation IncarnationOf(uint64_t random, uint32_t number) {
  return (random >> 1 << kNumberBits) | (number + 1);
}

// A payload's bytes are never looked at.
std::string_view PayloadOf(uint64_t bytes) {
  static const auto& zeros = *new std::string(1 << 20, '\0');
  return std::string_view(zeros).substr(0, bytes);
}

std::string Describe(const agent::Verb& verb) {
  if (const auto* publish = std::get_if<agent::PublishVerb>(&verb)) {
    return absl::StrCat("publish ", publish->version, publish->supersede ? " superseding" : "",
                        publish->wait_for_group ? " waiting" : "", " in ", publish->timeout_ms);
  }
  if (const auto* unpublish = std::get_if<agent::UnpublishVerb>(&verb)) {
    return absl::StrCat("unpublish in ", unpublish->drain_ms);
  }
  if (const auto* fetch = std::get_if<agent::FetchVerb>(&verb)) {
    return absl::StrCat("fetch ", ToString(fetch->selector), " in ", fetch->timeout_ms);
  }
  return "leave";
}

}  // namespace

Process& AddProcess(Scene& scene, const Place& place) {
  const auto number = static_cast<uint32_t>(scene.processes.size());
  return *scene.processes.emplace_back(std::make_unique<Process>(scene, place, number));
}

Process* FindProcess(const Scene& scene, Incarnation incarnation) {
  const uint64_t number = (incarnation & ((uint64_t{1} << kNumberBits) - 1)) - 1;
  if (number >= scene.processes.size()) return nullptr;
  Process* process = scene.processes[number].get();
  return process->identity().incarnation == incarnation ? process : nullptr;
}

Process::Process(Scene& scene, const Place& place, uint32_t number)
    : scene_(scene),
      place_(place),
      number_(number),
      identity_{place.key, IncarnationOf(scene.dice.Next(), number)},
      endpoint_(scene.plan.addresses_reused ? absl::StrCat("place", place.number, place.key.group)
                                            : absl::StrCat("process", number)),
      memory_({place.layout->total_bytes(), DefaultChunkBytes(place.layout->total_bytes())},
              place.cells),
      link_(scene, *this),
      copies_(scene, place, *this) {
  const int64_t drift = scene.plan.drift_ppm_max;
  const int64_t drifts = drift == 0 ? 0 : scene.dice.Time(-drift, drift);
  node_.SetClock(scene.agenda.now(), scene.dice.Time(kSecond, 1000 * kSecond), drifts);
  core_ = std::make_unique<agent::AgentCore>(CoreOptionsOf());
}

std::string Process::name() const { return absl::StrCat(ToString(identity_.key), "#", number_); }

agent::CoreOptions Process::CoreOptionsOf() const {
  agent::CoreOptions options;
  options.self = identity_;
  options.endpoint = endpoint_;
  options.seed = scene_.dice.Next();
  options.world_size = place_.world_size;
  options.frame_bytes = place_.frame_bytes;
  options.window_bytes = (2 + scene_.dice.Below(6)) * memory_.chunking().chunk_bytes;
  options.window_bytes_max = 4 * options.window_bytes;
  options.send_ahead_bytes = (1 + scene_.dice.Below(4)) * place_.frame_bytes;
  options.check_bytes = scene_.dice.Below(4) * memory_.chunking().chunk_bytes;
  options.idle_peers = number_ % 6;
  options.digests = scene_.plan.DrawDigests(scene_.dice);
  options.read_key = key();
  options.scan_bytes = (1 + scene_.dice.Below(8)) * memory_.chunking().chunk_bytes;
  return options;
}

void Process::Begin() {
  agent::Registered registered;
  registered.layout = place_.layout->fingerprint();
  registered.total_bytes = place_.layout->total_bytes();
  if (place_.one_sided) registered.description = "described";
  Step(registered);
  link_.Connect();
}

void Process::Kill(bool told) {
  scene_.Log(name(), " dies");
  scene_.Note(name(), "crashes");
  scene_.agenda.Kill(node_);
  link_.OnKilled(told);
  core_.reset();
  scene_.wire->OnKilled(*this, told);
  copies_.Kill(told);
}

void Process::JumpClock(Nanos by) {
  node_.Jump(scene_.agenda.now(), by);
  tick_.reset();
  TickLater();
}

hub::SessionOpened Process::Opening() const {
  hub::SessionOpened opened;
  opened.worker = identity_;
  opened.world_size = place_.world_size;
  opened.location = place_.location;
  opened.stable = !place_.spot;
  opened.endpoint = endpoint_;
  opened.offers_copies = place_.copies > 0;
  opened.copy_of = place_.copy_of;
  const agent::StateReport report = core_->Report();
  opened.epoch = report.epoch;
  opened.joined_epoch = report.joined_epoch;
  opened.abandoned_join_op = report.abandoned_join_op;
  opened.repeats = report.repeats;
  opened.knows_streams = true;
  opened.knows_resharding = scene_.plan.cuts;
  opened.knows_boxes = scene_.plan.cuts;
  opened.read_key = key();
  opened.holding = report.holding;
  opened.open_fetch = report.open_fetch;
  return opened;
}

void Process::Step(const agent::Event& event) {
  if (!core_) return;
  scene_.agenda.Note(event.index() << 40 | number_);
  // Effects are carried out before the next event, and none of them causes one at once.
  agent::Effects effects = std::exchange(effects_, {});
  core_->Step(event, NowMs(), effects);
  if (scene_.effect_trace != nullptr) scene_.effect_trace->Note(number_, NowMs(), effects);
  if (scene_.states != nullptr) scene_.states->OnAgentStep(number_, event, core_->phases());
  for (const agent::Effect& effect : effects) {
    std::visit([this](const auto& body) { CarryOut(body); }, effect);
    if (!core_) return;  // its owner ended it
  }
  effects.clear();
  effects_ = std::move(effects);
  TickLater();
}

void Process::TickLater() {
  const std::optional<TimeMs> next = core_->NextDeadline();
  if (!next || (tick_ && *tick_ <= *next)) return;
  tick_ = next;
  scene_.agenda.At(node_.WhenLocal(*next, scene_.agenda.now()), &node_, [this, at = *next] {
    if (!core_ || tick_ != at) return;
    tick_.reset();
    const std::optional<TimeMs> due = core_->NextDeadline();
    if (due && *due <= NowMs()) return Step(agent::Tick{});
    TickLater();
  });
}

void Process::OnAnswer(const agent::CallReply& reply) {
  if (const auto* decision = std::get_if<agent::FetchDecision>(&reply.payload)) {
    decision_ = *decision;
  }
  Step(reply);
}

void Process::OnPeerFailed(const agent::PeerFailed& event) {
  scene_.gets->Close(*this, event.peer);
  Step(event);
}

void Process::OnMessage(const std::string& header, const Cells& cells, uint64_t payload_bytes,
                        const std::string& description) {
  arriving_ = &cells;
  Step(agent::MessageArrived{
      header, description.empty() ? PayloadOf(payload_bytes) : std::string_view(description)});
  arriving_ = nullptr;
}

void Process::OnDamaged(const Process& from) {
  OnPeerFailed(
      {from.identity().incarnation, absl::DataLossError("bytes changed on their way here")});
}

void Process::OnFrame(const Process& from, const std::string& header) const {
  scene_.checkers->OnFrame(from, *this, header);
  if (scene_.listener == nullptr) return;
  scene_.Said(from.name(), name(), NameOfPeerMessage(header), DetailOfPeerMessage(header));
}

// --- the owner -----------------------------------------------------------------------------------

void Process::Ask(const agent::Verb& verb, OnVerbDone done) {
  verb_ = verb;
  on_done_ = std::move(done);
  verb_asked_at_ = scene_.agenda.now();
  verb_asked_ms_ = NowMs();
  decision_.reset();
  ++scene_.counts.operations;
  if (scene_.log != nullptr) scene_.Log(name(), " is asked to ", Describe(verb));
  scene_.Note(name(), NameOf(verb));
  Step(agent::VerbAsked{verb});
}

void Process::CheckOwnersWrite() {
  const bool readable = memory_.word().valid_chunks > 0;
  if (readable) scene_.Fail("R3", absl::StrCat(name(), ": its word still calls them valid"));
  if (scene_.gets->HasAny(*this)) {
    scene_.Fail("R4", absl::StrCat(name(), ": the owner has the buffers, and so has a get"));
  }
}

void Process::WriteContent(ContentId content) {
  CheckOwnersWrite();
  publishing_ = content;
  memory_.Fill(content, identity_.key.rank);
}

void Process::BeUnlike() {
  memory_.Differ(CutModel::CommonCellOf(*place_.layout), scene_.dice.Next() >> 24);
}

void Process::Scribble() {
  CheckOwnersWrite();
  memory_.Scribble(scene_.dice.Next() >> 24);
}

bool Process::MayRot() const {
  if (!core_ || !idle() || hashing_ != 0) return false;
  const auto holding = core_->Report().holding;
  const bool whole = holding && holding->complete && memory_.cells() > 0;
  return whole && hashed_in_ == holding->generation &&
         hashed_.size() == memory_.word().valid_chunks;
}

bool Process::Rot() {
  if (!MayRot()) return false;
  ++scene_.counts.rotten;
  const uint64_t cell = scene_.dice.Below(memory_.cells());
  scene_.Log(name(), ": cell ", cell, " of its memory rots");
  memory_.Rot(cell, scene_.dice.Next() >> 24);
  return true;
}

ContentId Process::Published(Generation generation) const {
  const auto found = published_.find(generation);
  return found == published_.end() ? 0 : found->second;
}

// --- effects -------------------------------------------------------------------------------------

void Process::CarryOut(const agent::OpenPeer& effect) { scene_.wire->Open(*this, effect); }
void Process::CarryOut(const agent::ClosePeer& effect) { scene_.wire->Close(*this, effect.peer); }
void Process::CarryOut(const agent::PartFrom& effect) { scene_.wire->Part(*this, effect); }
void Process::CarryOut(const agent::SelfTestReceive&) {
  if (!deaf_ || std::exchange(testing_, true)) return;
  scene_.agenda.After(kDeafAfter, &node_, [this] { Move(); });
}

void Process::Move() {
  scene_.Log(name(), " hears nothing, and connects anew");
  deaf_ = testing_ = false;
  endpoint_ += "'";
  scene_.wire->Forget(*this);
  Step(agent::TransportReplaced{endpoint_});
}

void Process::CarryOut(const agent::SendMessage& effect) { scene_.wire->Send(*this, effect); }
void Process::CarryOut(const agent::SendData& effect) { scene_.wire->Send(*this, effect); }
void Process::CarryOut(const agent::SendDescription& effect) { scene_.wire->Send(*this, effect); }
void Process::CarryOut(const agent::ImportMemory& effect) { scene_.gets->Import(*this, effect); }
void Process::CarryOut(const agent::Get& effect) { scene_.gets->Get(*this, effect); }
void Process::CarryOut(const agent::GetWord& effect) { scene_.gets->GetWord(*this, effect); }
// The layouts are the hub's, which may be away.
void Process::CarryOut(const agent::MakeReadPlan& effect) {
  scene_.agenda.After(scene_.dice.Time(0, kPlanningMax), &node_, [this, effect] {
    agent::ReadPlanned planned{effect.token, absl::UnavailableError("no hub")};
    std::vector<std::shared_ptr<const Layout>> layouts;
    for (const auto& part : effect.parts) {
      auto found = scene_.hub->up() ? scene_.hub->core().FindLayout(part.layout) : nullptr;
      if (found == nullptr) return Step(planned);
      layouts.push_back(std::move(found));
    }
    auto parts = agent::PlanParts(effect, layouts, *place_.layout);
    planned.status = parts.status();
    if (parts.ok()) planned.parts = *std::move(parts);
    Step(planned);
  });
}
void Process::CarryOut(const agent::CloseGets& effect) { scene_.gets->Close(*this, effect.peer); }

void Process::Write(uint64_t begin, uint64_t bytes, const Cell* cells) {
  if (!memory_.MayWrite(begin, bytes)) {
    scene_.Fail("R4", absl::StrCat(name(), ": a read writes byte ", begin, ", which is committed"));
  }
  if (idle()) scene_.Fail("R4", absl::StrCat(name(), ": a read writes after its fetch has ended"));
  memory_.Write(begin, bytes, cells);
}

void Process::CarryOut(const agent::CopyIn& effect) {
  // Where bytes lie in cells of the source, they do here.
  for (const Cell* cells = arriving_->data(); const agent::ByteRange& range : effect.ranges) {
    if (scene_.gets->HasInto(*this, range.begin, range.bytes)) {
      scene_.Fail("R4", absl::StrCat(name(), ": a frame and a get into byte ", range.begin));
    }
    Write(range.begin, range.bytes, cells);
    cells += Memory::CellsIn(range.begin, range.bytes);
  }
}

void Process::CarryOut(const agent::SetControlWord& effect) {
  const ControlWord before = memory_.word();
  memory_.SetWord(effect.word);
  if (std::holds_alternative<agent::PublishVerb>(verb_) && !idle()) {
    published_[effect.word.generation] = publishing_;
    if (published_.size() > 8) published_.erase(published_.begin());
  }
  scene_.checkers->OnWord(*this, before);
}

void Process::CarryOut(const agent::VerbDone& effect) {
  if (effect.status.ok()) ++scene_.counts.succeeded;
  scene_.Log(name(), " done: ", effect.status.ToString());
  scene_.Note(name(),
              absl::StrCat(NameOf(verb_), ": ", absl::StatusCodeToString(effect.status.code())));
  scene_.checkers->OnVerbDone(*this, effect);
  const OnVerbDone done = std::exchange(on_done_, nullptr);
  // The owner asks for the next thing later, never from within.
  scene_.agenda.After(0, &node_, [done, effect] { done(effect); });
}

// Later, with what is there by then.
void Process::CarryOut(const agent::HashChunks& effect) {
  const Nanos within = effect.urgent ? kMillisecond : scene_.plan.hashing_max;
  ++hashing_;
  scene_.agenda.After(scene_.dice.Time(0, within), &node_, [this, effect] {
    --hashing_;
    const Generation generation = memory_.word().generation;
    if (std::exchange(hashed_in_, generation) != generation) hashed_.clear();
    agent::ChunksHashed hashed{effect.token, {}};
    for (uint32_t chunk = effect.first; chunk < effect.first + effect.count; ++chunk) {
      const agent::ByteRange range = effect.at(chunk);
      hashed.digests.push_back(memory_.DigestOf(range.begin, range.bytes));
      if (effect.ranges.empty()) hashed_.insert(chunk);
    }
    Step(hashed);
  });
}

// As threads of their own hear it, later.
void Process::CarryOut(const agent::CopyWanted& effect) {
  scene_.agenda.After(0, &node_,
                      [this, effect] { copies_.Make(effect.version, effect.within_ms); });
}

void Process::CarryOut(const agent::CopyReleased&) {
  scene_.agenda.After(0, &node_, [this] { on_released_(); });
}

void Process::CarryOut(const agent::LogLine& effect) {
  if (scene_.log != nullptr) scene_.Log("  ", name(), ": ", effect.text);
}

}  // namespace tensorhub::fault
