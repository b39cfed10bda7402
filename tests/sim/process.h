// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One worker's process: the real agent core, its memory, and the shells around it (worker_agent's
// progress loop) without their threads. What its owner does with it is the driver's business.

#ifndef TENSORHUB_TESTS_SIM_PROCESS_H_
#define TENSORHUB_TESTS_SIM_PROCESS_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "common/layout.h"
#include "tests/sim/copies.h"
#include "tests/sim/hub_link.h"
#include "tests/sim/memory.h"
#include "tests/sim/place.h"
#include "tests/sim/scene.h"
#include "worker_agent/core/agent_core.h"

namespace tensorhub::fault {

class Process {
 public:
  Process(Scene& scene, const Place& place, uint32_t number);

  Node& node() { return node_; }
  const Node& node() const { return node_; }
  uint32_t number() const { return number_; }
  const WorkerIdentity& identity() const { return identity_; }
  std::string name() const;
  const std::string& endpoint() const { return endpoint_; }
  // R9. Strangers do not know it.
  CapabilityKey key() const { return CapabilityKey::Guessable(identity_.incarnation); }
  size_t place() const { return place_.number; }
  const std::string& host() const { return place_.host; }
  const std::string& datacenter() const { return place_.location.Part(1); }
  Nanos slowness() const { return place_.slowness; }
  bool spot() const { return place_.spot; }
  uint32_t world_size() const { return place_.world_size; }
  const std::shared_ptr<const Layout>& layout() const { return place_.layout; }
  uint32_t sharding() const { return place_.sharding; }
  // Of its model; null: a shard of its rank's own.
  const std::vector<uint32_t>* cells() const { return place_.cells.get(); }
  Memory& memory() { return memory_; }
  const Memory& memory() const { return memory_; }
  HubLink& link() { return link_; }
  const HubLink& link() const { return link_; }
  TimeMs NowMs() const { return node_.LocalMs(scene_.agenda.now()); }
  agent::StateReport Report() const { return core_ ? core_->Report() : agent::StateReport{}; }
  absl::Status Health() const { return core_->Health(); }

  // Begins its life: registers and connects.
  void Begin();
  void JumpClock(Nanos by);
  // Nothing that peers on its host send arrives any more, until it notices.
  void Deafen() { deaf_ = true; }
  bool deaf() const { return deaf_; }
  // A crash: nothing of it runs any more, its memory stays as it is. `told`: its peers hear of it.
  void Kill(bool told);

  // --- the owner ---
  using OnVerbDone = std::function<void(const agent::VerbDone&)>;
  void Ask(const agent::Verb& verb, OnVerbDone done);
  bool idle() const { return on_done_ == nullptr; }
  const agent::Verb& verb() const { return verb_; }
  void AskToLeave(TimeMs drain_ms) { Step(agent::LeaveAsked{drain_ms}); }
  void AskToCancel() { Step(agent::CancelAsked{}); }
  Copies& copies() { return copies_; }
  // Of a copy: the group that keeps it.
  const std::string& copy_of() const { return place_.copy_of; }
  // Hears that nobody wants what this copy holds.
  void SetOnReleased(Action on_released) { on_released_ = std::move(on_released); }
  // Allowed only while the buffers are the owner's: it is checked.
  void WriteContent(ContentId content);
  void Scribble();
  // A cell of its memory, if it holds a version whole and has hashed it, so that no digest that is
  // made of what is there now vouches for it. False: it does not.
  bool Rot();
  // Publishes what the buffers hold already.
  void KeepContent(ContentId content) { publishing_ = content; }
  // What it has written last is not what its group's other ranks have where all have the same.
  void BeUnlike();
  bool unlike() const { return memory_.differs(); }
  ContentId publishing() const { return publishing_; }
  // What a publisher's buffers mean, by generation.
  ContentId Published(Generation generation) const;
  const std::optional<agent::FetchDecision>& decision() const { return decision_; }
  Nanos verb_asked_at() const { return verb_asked_at_; }
  TimeMs verb_asked_ms() const { return verb_asked_ms_; }

  // --- the world around it ---
  hub::SessionOpened Opening() const;
  void Step(const agent::Event& event);
  void OnAnswer(const agent::CallReply& reply);
  void OnPeerFailed(const agent::PeerFailed& event);
  void OnMessage(const std::string& header, const Cells& cells, uint64_t payload_bytes,
                 const std::string& description);
  // A message that is dropped: its bytes are not those that its header tells of.
  void OnDamaged(const Process& from);
  // Before it: who has sent it.
  void OnFrame(const Process& from, const std::string& header) const;
  // By a read.
  void Write(uint64_t begin, uint64_t bytes, const Cell* cells);

 private:
  agent::CoreOptions CoreOptionsOf() const;
  void TickLater();
  bool MayRot() const;
  void CheckOwnersWrite();
  void Move();

  void CarryOut(const agent::Call& effect) { link_.Start(effect); }
  void CarryOut(const agent::CancelCall& effect) { link_.Cancel(effect.op); }
  void CarryOut(const agent::PutDocuments&) { link_.PutDocuments(); }
  void CarryOut(const agent::SessionSend& effect) { link_.Send(effect); }
  void CarryOut(const agent::OpenPeer& effect);
  void CarryOut(const agent::ClosePeer& effect);
  void CarryOut(const agent::PartFrom& effect);
  void CarryOut(const agent::SelfTestReceive&);
  void CarryOut(const agent::MoveSession&) { link_.MoveLater(); }
  void CarryOut(const agent::SendMessage& effect);
  void CarryOut(const agent::SendData& effect);
  void CarryOut(const agent::SendDescription& effect);
  void CarryOut(const agent::CopyIn& effect);
  void CarryOut(const agent::ImportMemory& effect);
  void CarryOut(const agent::Get& effect);
  void CarryOut(const agent::GetWord& effect);
  void CarryOut(const agent::CloseGets& effect);
  void CarryOut(const agent::SetControlWord& effect);
  void CarryOut(const agent::VerbDone& effect);
  void CarryOut(const agent::HashChunks& effect);
  void CarryOut(const agent::CopyWanted& effect);
  void CarryOut(const agent::CopyReleased&);
  void CarryOut(const agent::ReadersAbandoned&) {}
  void CarryOut(const agent::MakeReadPlan& effect);
  void CarryOut(const agent::FetchAdvanced&) {}
  void CarryOut(const agent::LogLine& effect);

  Scene& scene_;
  const Place& place_;
  const uint32_t number_;
  const WorkerIdentity identity_;
  std::string endpoint_;
  bool deaf_ = false;
  bool testing_ = false;  // its hearing
  Node node_;
  Memory memory_;
  HubLink link_;
  Copies copies_;
  Action on_released_ = [] {};  // of a copy
  std::unique_ptr<agent::AgentCore> core_;
  std::optional<TimeMs> tick_;
  agent::Effects effects_;

  agent::Verb verb_;
  OnVerbDone on_done_;
  Nanos verb_asked_at_ = 0;
  TimeMs verb_asked_ms_ = 0;
  ContentId publishing_ = 0;
  std::map<Generation, ContentId> published_;
  std::optional<agent::FetchDecision> decision_;
  // Which chunks were hashed since the generation began, and whether more are being hashed.
  Generation hashed_in_ = 0;
  std::set<uint32_t> hashed_;
  int hashing_ = 0;
  const Cells* arriving_ = nullptr;  // the payload of the message in progress
};

// The next one, which has yet to begin.
Process& AddProcess(Scene& scene, const Place& place);
// nullptr: there never was one.
Process* FindProcess(const Scene& scene, Incarnation incarnation);

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_PROCESS_H_
