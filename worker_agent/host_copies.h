// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R7: what a worker is the last to hold, kept in host memory of its process when the worker wants
// its buffers back. A copy is a worker of its own, of the group `GROUP.copy.VERSION`, that fetches
// the version like any other reader and serves it from then on; so nothing else needs to know of
// copies. It leaves when the hub says that nobody wants its version any more.
//
// Thread contract: every method from any thread; Make and Release return at once.

#ifndef TENSORHUB_WORKER_AGENT_HOST_COPIES_H_
#define TENSORHUB_WORKER_AGENT_HOST_COPIES_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "common/mutex.h"
#include "worker_agent/agent.h"
#include "worker_agent/memory/host_memory.h"

namespace tensorhub::agent {

class HostCopies {
 public:
  using OnFailed = std::function<void(VersionNumber, const absl::Status&)>;

  // Copies what the worker with these options holds; options.host_copy_bytes at most. `on_failed`:
  // a copy that was asked for is not made; called on a thread of this object's.
  HostCopies(const AgentOptions& options, OnFailed on_failed);
  ~HostCopies();  // Stop, without a drain
  HostCopies(const HostCopies&) = delete;
  HostCopies& operator=(const HostCopies&) = delete;

  // The tensors of the shard, once; their memory is not touched.
  void SetShard(const std::vector<TensorBuffer>& tensors) ABSL_LOCKS_EXCLUDED(mutex_);
  // Copies this version within that time, unless that has been done.
  void Make(VersionNumber version, TimeMs within_ms) ABSL_LOCKS_EXCLUDED(mutex_);
  // Nobody wants the copy of this version any more.
  void Release(VersionNumber version) ABSL_LOCKS_EXCLUDED(mutex_);
  // All copies leave together: their readers have `drain_ms`, but for those of versions that nobody
  // wants. Blocks. Idempotent.
  void Stop(TimeMs drain_ms) ABSL_LOCKS_EXCLUDED(mutex_, stop_mutex_);

 private:
  using Deadline = std::chrono::steady_clock::time_point;
  struct Copy {
    HostMemory memory;  // outlives the agent, which serves it
    std::shared_ptr<Agent> agent;
    bool released = false;
  };

  void RunMaking() ABSL_LOCKS_EXCLUDED(mutex_);
  void RunReleasing() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status AskToMake(VersionNumber version, TimeMs within_ms) ABSL_LOCKS_EXCLUDED(mutex_);
  // RESOURCE_EXHAUSTED: no thread is left that could do it.
  absl::Status Wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsAskedFor(VersionNumber version) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Add(VersionNumber version, Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  // A new copy, which is empty.
  absl::StatusOr<std::shared_ptr<Agent>> Begin(VersionNumber version, Deadline deadline)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // nullptr: there is no such copy, or not a whole one.
  std::shared_ptr<Agent> HolderOf(VersionNumber version) ABSL_LOCKS_EXCLUDED(mutex_);
  // nullptr: there is no such copy.
  std::shared_ptr<Agent> AgentOf(VersionNumber version) ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<HostMemory> TakeMemory(Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  // Until there is memory of a copy that is gone, or none is on its way out any more.
  void AwaitSpare(Deadline until) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<HostMemory> TakeSpareOrMake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The device that the shard is on, if it is on one.
  std::optional<int> Device() ABSL_LOCKS_EXCLUDED(mutex_);
  void Pin(HostMemory& memory) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::shared_ptr<Agent>> StartAgent(VersionNumber version, std::byte* data,
                                                    TimeMs within_ms);
  absl::Status Keep(VersionNumber version, Copy copy) ABSL_LOCKS_EXCLUDED(mutex_);
  // False: it stays.
  bool GivesUp(VersionNumber version) ABSL_LOCKS_EXCLUDED(mutex_);
  // No drain time at all: it just stops.
  void Drop(VersionNumber version, std::optional<TimeMs> drain_ms) ABSL_LOCKS_EXCLUDED(mutex_);

  const AgentOptions options_;  // of the worker
  const OnFailed on_failed_;

  Mutex stop_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  Mutex mutex_;
  CondVar changed_;
  bool has_shard_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<TensorBuffer> shard_ ABSL_GUARDED_BY(mutex_);
  uint64_t shard_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<VersionNumber, Deadline> to_make_ ABSL_GUARDED_BY(mutex_);
  // Versions to release, but for the one that is being given up: it may be named again meanwhile.
  std::set<VersionNumber> to_release_ ABSL_GUARDED_BY(mutex_);
  bool releasing_now_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<VersionNumber, Copy> copies_ ABSL_GUARDED_BY(mutex_);
  HostMemory spare_ ABSL_GUARDED_BY(mutex_);  // of a copy that is gone, for the next one
  // Two, so that a copy whose readers take their time does not hold up one that is waited for.
  std::thread making_ ABSL_GUARDED_BY(mutex_);
  std::thread releasing_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_HOST_COPIES_H_
