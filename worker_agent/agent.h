// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

// One worker's agent: its memory, its place in the hub, its peers. What libros and the daemon use.
//
// Thread contract: every method from any thread; they block until their result is known. Verbs
// exclude one another, later ones wait. Callbacks run on the progress thread; what they
// call is refused.

#ifndef TENSORHUB_WORKER_AGENT_AGENT_H_
#define TENSORHUB_WORKER_AGENT_AGENT_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"
#include "common/mutex.h"
#include "common/tls/client_security.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"
#include "worker_agent/cuda/cuda_access.h"
#include "worker_agent/hub/queries.h"
#include "worker_agent/loop/progress_loop.h"
#include "worker_agent/loop/read_planner.h"
#include "worker_agent/memory/medium.h"
#include "worker_agent/memory/memory.h"
#include "worker_agent/runtime/answer.h"
#include "worker_agent/runtime/inbox.h"
#include "worker_agent/seen/observer.h"
#include "worker_agent/seen/worker_now.h"

namespace tensorhub::agent {

struct AgentOptions {
  std::string server;  // HOST:PORT
  tls::ClientSecurity security = {};
  WorkerKey key;
  uint32_t world_size = 1;
  std::string location;
  // The ones of this host's networks to use (ChooseNetworks); empty: all that lead anywhere.
  std::string data_address;
  bool spot = false;
  TimeMs connect_timeout_ms = 5000;
  // Travels with what is published.
  std::string attachment;
  // Read peers on this host without their help where both sides can.
  bool one_sided = true;
  DigestMode digests = DigestMode::kAuto;
  // R7: memory of this host that copies of what this worker is the last to hold may take; 0: none.
  uint64_t host_copy_bytes = 0;
  // Tensors on a GPU are taken also where UCX cannot read them; peers read through host memory
  // then.
  bool through_host = false;
  // Device memory of other processes of this host is read by the device's copies, not by UCX.
  bool device_copies = true;
  CudaAccess cuda = {};
  // For host memory: agents of this process read and write it by this device's copies.
  std::optional<int> local_device = {};
  // R7: it is such a copy, of what that group holds; called on the progress thread, must not block.
  std::string copy_of = {};
  std::function<void()> on_copy_released = [] {};
  std::stop_token cancel = {};  // of Start
  // Who counts what this worker does, and writes it down.
  Observer::Targets observed = {};
};

class HostCopies;

class Agent {
 public:
  using OnProgress = std::function<void(const FetchAdvanced&)>;
  using Tick = std::function<void()>;

  // Returns when the hub has accepted the worker. INVALID_ARGUMENT: the location is none;
  // UNAVAILABLE: the hub did not answer in time; CANCELLED; ALREADY_EXISTS: the rank is taken; else
  // what the hub refused, or UCX.
  static absl::StatusOr<std::unique_ptr<Agent>> Start(const AgentOptions& options);
  ~Agent();  // Stop
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Memory::Make's and UseRightMedium's errors; FAILED_PRECONDITION the second time, and where UCX
  // cannot read the device that the tensors are on. The memory outlives the agent.
  absl::Status Register(const std::vector<TensorBuffer>& tensors) ABSL_LOCKS_EXCLUDED(verb_mutex_);
  // R3: Medium::Await, for the verb that follows; returns what is left of its time. Medium::ShowTo.
  absl::StatusOr<TimeMs> Await(const DeviceWork& work, TimeMs timeout_ms)
      ABSL_LOCKS_EXCLUDED(verb_mutex_);
  absl::Status ShowTo(const DeviceWork& work) ABSL_LOCKS_EXCLUDED(verb_mutex_);
  // Ends with CANCELLED soon after `cancel` is asked; only a Publish or Fetch does once it runs.
  // `tick` is called in this thread, twenty times a second while it waits; it may call the agent.
  VerbDone RunVerb(const Verb& verb, OnProgress on_progress = nullptr,
                   const std::stop_token& cancel = {}, const Tick& tick = nullptr)
      ABSL_LOCKS_EXCLUDED(verb_mutex_);
  // LeaveVerb, without waiting for what others asked before: their verbs and waits end with
  // CANCELLED or FAILED_PRECONDITION.
  absl::Status Leave(TimeMs drain_ms) ABSL_LOCKS_EXCLUDED(verb_mutex_);
  // RESOURCE_EXHAUSTED names the size. The memory lives as long as the agent.
  absl::StatusOr<void*> Allocate(size_t bytes);
  // The version that the registered memory holds whole, and that peers may read.
  std::optional<VersionNumber> Held();
  // AgentCore::Health; FAILED_PRECONDITION after Stop.
  absl::Status Health();
  absl::StatusOr<VersionNumber> WaitForVersion(const VersionWait& wait);
  absl::StatusOr<std::vector<ListedVersion>> List();

  // For the page of this process (worker_page.h); outlives the agent.
  AskWorker Asker();

  // FAILED_PRECONDITION on the progress thread, whose callbacks every method refuses.
  absl::Status CheckCaller() const;

  // Stops serving at once; whatever is called from now on fails with FAILED_PRECONDITION. The
  // hub learns of it by the session's end. Idempotent.
  void Stop() ABSL_LOCKS_EXCLUDED(stop_mutex_);

 private:
  Agent(const AgentOptions& options, const std::shared_ptr<HubChannel>& channel);

  absl::Status Ended() ABSL_LOCKS_EXCLUDED(verb_mutex_);
  std::shared_ptr<Medium> medium() ABSL_LOCKS_EXCLUDED(verb_mutex_);
  // Nothing to be done without a device.
  absl::Status CheckMemory(const Verb& verb) ABSL_LOCKS_EXCLUDED(verb_mutex_);
  absl::Status TakeMemory(const std::vector<TensorBuffer>& tensors)
      ABSL_LOCKS_EXCLUDED(verb_mutex_);
  // A turn at the registered memory: one after the other. It ends with the object, or
  // before.
  class Turn {
   public:
    Turn(Agent& agent, uint64_t number) : agent_(agent), number_(number) {}
    ~Turn() { End(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    uint64_t number() const { return number_; }
    void End() { agent_.EndTurn(number_); }

   private:
    Agent& agent_;
    const uint64_t number_;
  };
  // Null, and it is nobody's turn, if that was cancelled first.
  std::shared_ptr<Turn> TakeTurn(const std::stop_token& cancel = {}, const Tick& tick = nullptr)
      ABSL_LOCKS_EXCLUDED(verb_mutex_);
  // The turn's number; 0 if there was none in that time.
  uint64_t WaitForTurn(std::chrono::milliseconds time, const std::stop_token& cancel)
      ABSL_LOCKS_EXCLUDED(verb_mutex_);
  void EndTurn(uint64_t number) ABSL_LOCKS_EXCLUDED(verb_mutex_);
  void RunLoop(ProgressLoop::Options options,
               const std::shared_ptr<Answer<absl::Status>>& connected);
  // Runs `task` on the progress thread. FAILED_PRECONDITION if that has ended, or is the caller.
  template <class T>
  T OnLoop(std::function<T(ProgressLoop&)> task);

  const CudaAccess cuda_;
  const std::shared_ptr<Inbox> inbox_;
  HubQueries queries_;
  const std::unique_ptr<HostCopies> copies_;
  ReadPlanner planner_;
  // Used on the progress thread only; goes with the agent, and with it the memory of Allocate.
  std::unique_ptr<ProgressLoop> loop_;

  // The turn whose verb the loop runs, or ran last. On the progress thread only.
  uint64_t running_ = 0;
  std::atomic<std::thread::id> progress_thread_;

  Mutex verb_mutex_;
  CondVar verb_ended_;
  uint64_t turns_ ABSL_GUARDED_BY(verb_mutex_) = 0;              // given so far
  uint64_t turn_ ABSL_GUARDED_BY(verb_mutex_) = 0;               // whose it is; 0: nobody's
  std::shared_ptr<Medium> medium_ ABSL_GUARDED_BY(verb_mutex_);  // once registered
  // A tensor that cannot be fetched into; empty: there is none.
  std::string read_only_ ABSL_GUARDED_BY(verb_mutex_);
  absl::Status ended_ ABSL_GUARDED_BY(verb_mutex_);  // what calls hear once the loop has ended
  Mutex stop_mutex_;
  std::thread thread_ ABSL_GUARDED_BY(stop_mutex_);
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_AGENT_H_
