// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One worker as the agent's own state machine, its frames on the modelled links. Only the bytes
// themselves are left out. Its transport is that of served reads: a send is done when its last byte
// has left.

#ifndef TENSORHUB_TOOLS_SIM_CORE_WORKER_H_
#define TENSORHUB_TOOLS_SIM_CORE_WORKER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/sim/fleet_worker.h"
#include "tools/sim/frame_network.h"
#include "worker_agent/core/agent_core.h"

namespace tensorhub::sim {

class CoreWorker : public FleetWorker {
 public:
  // Workers by number; outlives them.
  using Register = std::vector<CoreWorker*>;

  CoreWorker(const SimContext& around, WorkerFacts facts, Register& others, FrameNetwork& frames);

  // Holds nothing: the agent believes only what it has done itself.
  void Open(const std::optional<PublicationId>& held, VersionNumber version) override;
  void Publish(VersionNumber version) override;
  void Fetch(VersionNumber newer_than) override;
  void Die() override { gone_ = true; }
  void Leave() override;
  void OnHub(const hub::Effect& effect) override;
  bool gone() const override { return gone_; }

 private:
  void Step(const agent::Event& event);
  void TickLater();
  TimeMs NowMs() const { return around_.world.now() / kMillisecond; }
  void SendFrame(Incarnation peer, const std::string& header, uint64_t payload_bytes,
                 std::optional<uint64_t> token);
  void OnArrived(const std::string& header, uint64_t payload_bytes);

  void CarryOut(const agent::Call& effect);
  void CarryOut(const agent::CancelCall& effect);
  void CarryOut(const agent::SessionSend& effect);
  void CarryOut(const agent::SendMessage& effect);
  void CarryOut(const agent::SendData& effect);
  void CarryOut(const agent::VerbDone& effect);
  // The rest is about memory, connections and logs, which are not modelled.
  template <typename Other>
  void CarryOut(const Other&) {}

  Register& others_;
  FrameNetwork& frames_;
  agent::AgentCore core_;
  std::optional<TimeMs> tick_;
  bool gone_ = false;
  bool fetching_ = false;
  bool leaving_ = false;
  uint32_t assignments_ = 0;  // of this fetch
  VersionNumber publishing_ = 0;
  VersionNumber newer_than_ = 0;
};

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_CORE_WORKER_H_
