// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Agent cores with memory of their own, a hub and a network, and the checks that hold in every run
// whatever the seed: the control word's rules, whole bytes at every commit (R4), no byte with two
// operations, no operation left when a verb ends, one VerbDone per verb.

#ifndef TENSORHUB_TESTS_UNIT_WORKER_AGENT_CORE_WORLD_H_
#define TENSORHUB_TESTS_UNIT_WORKER_AGENT_CORE_WORLD_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/worker_agent/core/fake_hub.h"
#include "tests/unit/worker_agent/core/network.h"
#include "worker_agent/core/agent_core.h"
#include "worker_agent/core/peer_wire.h"

namespace tensorhub::agent::testing {

struct WorldOptions {
  uint64_t seed = 1;
  size_t workers = 2;
  uint64_t chunk_bytes = 4096;
  uint64_t total_bytes = 9 * 4096 + 100;
  bool one_sided = false;
  // One-sided, as between devices: words are asked for, and a process's memory dies with it.
  bool devices = false;
  bool connect = true;
  bool guarded = false;  // R9: readers show capabilities
  DigestMode digests = DigestMode::kOff;
  // Of a hundred chunks whose digests are wanted with their gets, so many have them.
  uint64_t digests_on_the_way_percent = 0;
};

struct Worker {
  CoreOptions options;
  std::unique_ptr<AgentCore> core;
  std::string memory;
  ControlWord word;
  VersionNumber means = 0;  // which version the bytes of the present generation ought to be
  int asked = 0;
  std::vector<VerbDone> done;
  std::vector<std::string> log;
  uint64_t hashed_bytes = 0;
  uint64_t hashed_beside_bytes = 0;          // of them
  std::vector<VersionNumber> copies_wanted;  // R7
  int copy_released = 0;
  int readers_left = 0;  // was said so often
  // The owner overwrites the memory the moment a verb gives it back.
  bool scribbles = true;
  uint64_t written_bytes = 0;  // by reads
};

class World : public Machines {
 public:
  explicit World(const WorldOptions& options);

  Schedule schedule;
  Network network;
  FakeHub hub;
  // Hashing gets no further while it is set.
  bool hashing_hangs = false;

  Worker& at(size_t index) { return workers_[index]; }
  size_t size() const override { return workers_.size(); }
  TimeMs now_ms() const { return schedule.now() / 1000; }
  uint32_t chunks() const;
  // The bytes of a version; the same for every worker.
  const std::string& Content(VersionNumber version);
  // This version is as that one, but for one byte in each of these chunks.
  void Derive(VersionNumber version, VersionNumber from, const std::vector<uint32_t>& changed);

  void Ask(size_t index, const Verb& verb);
  bool Idle(size_t index) { return at(index).asked == static_cast<int>(at(index).done.size()); }
  // Runs until the verb is done and returns its status; a verb that hangs fails the test.
  absl::Status Do(size_t index, const Verb& verb);
  absl::Status Publish(size_t index, VersionNumber version);
  absl::Status Fetch(size_t index) { return Do(index, FetchVerb{}); }
  absl::Status Finish(size_t index);
  // Begins a fetch, and runs until this rank has all it needs and waits for the others (R6): for
  // the answer to this call, which is the test's to give.
  OpId FetchUntilItWaits(size_t index);
  // Runs until the condition holds; false if it never does within the time.
  bool Run(const std::function<bool()>& until, TimeMs limit_ms = 120'000);
  void RunFor(TimeMs duration_ms);
  bool RunToValid(size_t index, uint32_t chunks);
  // A byte of that worker's memory changes without anybody having written it.
  void Damage(size_t index, uint32_t chunk) {
    at(index).memory[chunk * options_.chunk_bytes + 17] ^= 4;
  }

  void SetHubAway(bool away);
  void Kill(size_t index);
  // A core with other options takes the place of one that has done nothing yet.
  void Restart(size_t index, const CoreOptions& options);
  bool Holds(size_t index, VersionNumber version);
  // A message from a peer that a test plays.
  void Hear(size_t index, PeerMessage message, std::string_view payload = "");
  // What was sent to such a peer since the last call, decoded.
  std::vector<PeerMessage> Heard(Incarnation peer);

  void Deliver(size_t index, const Event& event) override;
  std::string& MemoryOf(size_t index) override { return workers_[index].memory; }
  uint64_t WordOf(size_t index) const override { return Pack(workers_[index].word); }

 private:
  void Hash(size_t index, const HashChunks& effect);
  void Step(TimeUs end);
  TimeUs NextTick(size_t& index);
  void CarryOut(size_t index, const Effect& effect);
  void Do(size_t index, const SetControlWord& effect);
  void Do(size_t index, const CopyIn& effect);
  void Do(size_t index, const VerbDone& effect);
  void Do(size_t index, const HashChunks& effect);
  void CheckWrite(size_t index, uint64_t begin, uint64_t bytes);

  const WorldOptions options_;
  std::vector<Worker> workers_;
  std::vector<Verb> verbs_;
  std::map<VersionNumber, std::string> contents_;
};

// The hub hears the call and never answers.
template <typename Request>
void Swallow(World& world) {
  world.hub.script = [](size_t, const Call& call) {
    return std::holds_alternative<Request>(call.request);
  };
}

}  // namespace tensorhub::agent::testing

#endif  // TENSORHUB_TESTS_UNIT_WORKER_AGENT_CORE_WORLD_H_
