// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

// The agent's one thread: owns the core, the transports and the hub's client, feeds events to the
// core and carries its effects out, in order. Decides nothing.
//
// Sleeps on file descriptors when nothing is under way; while bytes are expected it spins for a
// moment before sleeping, since waking up costs more than the bytes take.
//
// Thread contract: created and used on one thread, which Run occupies; destroyed on that one, or on
// any when it has ended.

#ifndef TENSORHUB_WORKER_AGENT_LOOP_PROGRESS_LOOP_H_
#define TENSORHUB_WORKER_AGENT_LOOP_PROGRESS_LOOP_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "worker_agent/core/agent_core.h"
#include "worker_agent/hub/client.h"
#include "worker_agent/memory/chunk_hasher.h"
#include "worker_agent/memory/medium.h"
#include "worker_agent/memory/memory.h"
#include "worker_agent/runtime/inbox.h"
#include "worker_agent/runtime/spin_budget.h"
#include "worker_agent/seen/observer.h"
#include "worker_agent/seen/stall_watch.h"
#include "worker_agent/seen/worker_now.h"
#include "worker_agent/transport/control_word_cell.h"
#include "worker_agent/transport/message_peers.h"
#include "worker_agent/transport/one_sided.h"

namespace tensorhub::agent {

class ProgressLoop {
 public:
  struct Options {
    std::string server;  // for messages
    std::shared_ptr<HubChannel> channel;
    WorkerFacts facts;  // but for the endpoint, which the transport gives
    std::string attachment;
    TimeMs connect_timeout_ms = 5000;
    bool one_sided = true;
    DigestMode digests = DigestMode::kAuto;
    uint64_t seed = 1;
    std::function<absl::StatusOr<std::unique_ptr<MessageTransport>>(MessageTransport::Sink*)>
        make_messages;
    OneSided::Factory make_gets;
    // For tensors on a device; and, by that device, between agents of this process and host.
    OneSided::Factory make_device_gets;
    std::function<OneSided::Factory(int device)> make_local_gets;
    // Tensors on a device are taken also where `make_device_gets` can do nothing for them.
    bool through_host = false;
    bool device_copies = true;  // between processes of this host, by `make_local_gets`
    // Host memory that agents of this process read and write by this device's copies.
    std::optional<int> local_device;
    // The outcome of connecting to the hub, once.
    std::function<void(const absl::Status&)> on_connected;
    // R7, and to be done elsewhere: CopyWanted and CopyReleased. Must not block.
    std::function<void(VersionNumber, TimeMs)> on_copy_wanted = [](VersionNumber, TimeMs) {};
    std::function<void()> on_copy_released = [] {};
    // MakeReadPlan, for a reader of that layout; TellPlanned answers. Must not block.
    std::function<void(const MakeReadPlan&, const Layout&)> on_plan_wanted = [](const MakeReadPlan&,
                                                                                const Layout&) {};
    // What this worker does is told there.
    Observer::Targets observed = {};
    // The registered memory has been lost (Medium); the loop ends.
    std::function<void(const absl::Status&)> on_memory_lost = [](const absl::Status&) {};
  };
  using OnVerbDone = std::function<void(const VerbDone&)>;
  using OnProgress = std::function<void(const FetchAdvanced&)>;

  ProgressLoop(Options options, std::shared_ptr<Inbox> inbox);
  ~ProgressLoop();

  // Makes the transports and starts connecting.
  absl::Status Start();
  // Until Stop. Then closes the inbox, ends what is under way and lets go of the registered memory.
  // What Allocate gave stays until the end of this object.
  void Run();

  // From within the inbox's tasks:
  // FAILED_PRECONDITION the second time, or if UCX cannot read the device that the tensors are on;
  // nothing is registered then.
  absl::Status Register(Memory memory);
  void AskVerb(const Verb& verb, OnVerbDone on_done, OnProgress on_progress);
  void AskToLeave(TimeMs drain_ms);
  void AskToCancel();
  void TellCopyFailed(VersionNumber version, const absl::Status& reason);
  void TellPlanned(const ReadPlanned& planned) { Feed(planned); }
  absl::StatusOr<void*> Allocate(size_t bytes);
  std::optional<VersionNumber> Held() const;
  absl::Status Health() const;
  std::optional<TermNumber> HeldIn(VersionNumber version) const;
  WorkerNow Now() const;
  // Any thread: whether it registers memory, or makes some, which its owner waits for.
  std::shared_ptr<const std::atomic<bool>> at_owners_call() const { return watch_.owners(); }
  void Stop() { stopping_ = true; }

 private:
  void Feed(const Event& event);
  // False: nothing more to be done now.
  bool Turn();
  bool RunLater();
  bool Progress();
  bool ProgressMessages();
  bool ProgressGets();
  // Other connections than these, which nothing comes over any more.
  void MakeMessagesAnew(const std::string& why);
  void Tick();
  // Until there is work, or at most until the next deadline.
  void Sleep();
  int SleepMs() const;
  bool Arm();
  void SendLastWords();
  void ShutDown();
  absl::Status ShareMemory();
  void ForgetMemory();
  std::string DescribeMemory() const;
  Registered Facts() const;
  // Fail-stop: nothing of what is held can be said to be valid any more, and whoever held it is
  // told by the end of the session and of the connections.
  void LoseMemory(const absl::Status& why);
  // Tells the core, when bytes have come from this peer.
  void NoteWay(Incarnation peer, bool one_sided);

  // effects.cc
  void CarryOutOne(const Effect& effect);
  void CarryOut(const Call& effect);
  void CarryOut(const CancelCall& effect);
  void CarryOut(const PutDocuments& effect);
  void CarryOut(const SessionSend& effect);
  void CarryOut(const OpenPeer& effect);
  void CarryOut(const ClosePeer& effect);
  void CarryOut(const PartFrom& effect);
  void CarryOut(const SelfTestReceive& effect);
  void CarryOut(const MoveSession& effect);
  void CarryOut(const SendMessage& effect);
  void CarryOut(const SendData& effect);
  void CarryOut(const SendDescription& effect);
  void CarryOut(const CopyIn& effect);
  void CarryOut(const ImportMemory& effect);
  void CarryOut(const Get& effect);
  void CarryOut(const GetWord& effect);
  void CarryOut(const CloseGets& effect);
  void CarryOut(const HashChunks& effect);
  void CarryOut(const MakeReadPlan& effect);
  void CarryOut(const SetControlWord& effect);
  void CarryOut(const ReadersAbandoned& effect);
  void CarryOut(const CopyWanted& effect);
  void CarryOut(const CopyReleased& effect);
  void CarryOut(const VerbDone& effect);
  void CarryOut(const FetchAdvanced& effect);
  void CarryOut(const LogLine& effect);

  const Options options_;
  const std::shared_ptr<Inbox> inbox_;
  StallWatch watch_;
  MessagePeers peers_;
  OneSided one_sided_;
  std::unique_ptr<MessageTransport> messages_;
  std::optional<AgentCore> core_;
  std::optional<Observer> observer_;
  std::unique_ptr<HubClient> hub_;

  std::optional<Memory> memory_;
  std::unique_ptr<Medium::Scope> scope_;  // of the memory's medium; begins and ends on this thread
  absl::Status lost_;                     // not OK: LoseMemory
  std::string description_;  // what peers on this host map the memory by; empty if they cannot
  ControlWordCell word_;
  std::atomic<bool> hashed_{false};  // the hasher has posted since the inbox was looked at
  ChunkHasher hasher_;

  bool stopping_ = false;
  bool shut_down_ = false;
  bool left_readers_ = false;  // ReadersAbandoned: a hung one stays so
  TimeMs now_ = 0;
  int64_t active_at_us_ = 0;
  SpinBudget spin_;
  int fruitless_wakes_ = 0;
  bool fed_ = false;  // the core had an event in this turn
  int64_t fruitful_at_us_ = 0;
  bool fruitless_ = false;    // for a while nobody has had anything of what progress there was
  int moves_ = 0;             // to another transport
  std::vector<Event> later_;  // caused by effects; fed in the next turn
  std::vector<Event> running_later_;  // reused, as the following
  Effects effects_;
  std::vector<Memory::Piece> pieces_;
  std::vector<ConstPiece> const_pieces_;

  OnVerbDone on_verb_done_;
  OnProgress on_progress_;
  // The peer whose way the core knows, and which; since the last assignment.
  std::optional<std::pair<Incarnation, bool>> noted_;
  Incarnation getting_from_ = 0;  // the last Get's; there are no others under way
  bool copied_in_ = false;        // and not made visible since
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_LOOP_PROGRESS_LOOP_H_
