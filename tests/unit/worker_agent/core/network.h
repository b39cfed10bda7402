// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Time, processes and the wires between them, for the agent core's tests: everything happens in an
// order that a seed decides. Messages of one pair arrive in order; a link can break; a process can
// stop (and go on) or die. Memory that a transport reads is read in two pieces, at any moment
// between the request and its completion (zero copy), and by one-sided gets even of a process that
// has stopped or died.

#ifndef TENSORHUB_TESTS_UNIT_WORKER_AGENT_CORE_NETWORK_H_
#define TENSORHUB_TESTS_UNIT_WORKER_AGENT_CORE_NETWORK_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/random.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"

namespace tensorhub::agent::testing {

using TimeUs = int64_t;
// The owner of what happens whether or not some process runs.
inline constexpr size_t kNobody = std::numeric_limits<size_t>::max();

// Things to happen, by time, each on behalf of one process.
class Schedule {
 public:
  explicit Schedule(uint64_t seed) : random(seed) {}

  Random random;
  TimeUs delay_max_us = 2000;
  // Now and then something is far slower than the rest, and is overtaken by all of it.
  uint64_t slow_percent = 5;

  TimeUs now() const { return now_; }
  TimeUs Delay();
  bool Chance(uint64_t percent) { return random.Below(100) < percent; }
  void At(TimeUs when, size_t owner, std::function<void()> what);
  void Soon(size_t owner, std::function<void()> what) { At(now_ + Delay(), owner, what); }
  bool empty() const { return queue_.empty(); }
  TimeUs next() const { return queue_.begin()->first.first; }
  // Does the first thing, or keeps it for a process that is stopped.
  void DoNext();
  void AdvanceTo(TimeUs when) { now_ = std::max(now_, when); }

  bool running(size_t owner) const { return !paused_.contains(owner) && !dead_.contains(owner); }
  bool dead(size_t owner) const { return dead_.contains(owner); }
  void Pause(size_t owner) { paused_.try_emplace(owner); }
  void Resume(size_t owner);
  void Kill(size_t owner);

 private:
  struct Item {
    size_t owner = kNobody;
    std::function<void()> what;
  };
  TimeUs now_ = 1'000'000;
  uint64_t next_number_ = 0;
  std::map<std::pair<TimeUs, uint64_t>, Item> queue_;
  std::map<size_t, std::vector<Item>> paused_;
  std::map<size_t, bool> dead_;
};

// Hands events to processes and knows their memory.
class Machines {
 public:
  virtual ~Machines() = default;
  virtual size_t size() const = 0;
  virtual void Deliver(size_t process, const Event& event) = 0;
  virtual std::string& MemoryOf(size_t process) = 0;
  virtual uint64_t WordOf(size_t process) const = 0;
};

// Stands for a chunk's digest: which hash it is, is the shell's business. FNV-1a.
uint64_t ChunkHash(const std::string& memory, uint64_t begin, uint64_t bytes);

// What was sent to an incarnation that no process of the world has: a test plays that peer.
struct SentToStranger {
  size_t from = 0;
  Incarnation to = 0;
  std::string header;
  std::string payload;
};

class Network {
 public:
  Network(Schedule& schedule, Machines& machines) : schedule_(schedule), machines_(machines) {}

  uint64_t import_failure_percent = 0;
  uint64_t rendezvous_percent = 60;
  // Of a hundred frames and pieces of gets, so many have a byte changed on their way.
  uint64_t corrupted_percent = 0;
  // Of a hundred chunks whose digests are wanted with them, so many have them.
  uint64_t digests_on_the_way_percent = 0;
  uint64_t digested_on_the_way_bytes = 0;
  bool gets_hang = false;  // gets from now on complete only by CloseGets
  // As between devices: control words cannot be got.
  bool words_are_asked = false;
  std::vector<SentToStranger> strangers;
  uint64_t partings = 0;  // connections that one who goes on living gave up

  static Incarnation IncarnationOf(size_t process) { return 100 + process; }
  static std::string EndpointOf(size_t process) { return "at" + std::to_string(process); }

  void Do(size_t from, const OpenPeer& effect);
  void Do(size_t from, const ClosePeer& effect);
  void Do(size_t from, const PartFrom& effect);
  void Do(size_t from, const SelfTestReceive& effect);
  void Do(size_t from, const SendMessage& effect);
  void Do(size_t from, const SendData& effect);
  void Do(size_t from, const SendDescription& effect);
  void Do(size_t from, const ImportMemory& effect);
  void Do(size_t from, const Get& effect);
  void Do(size_t from, const GetWord& effect);
  void Do(size_t from, const CloseGets& effect);

  void BreakLink(size_t a, size_t b);
  void Kill(size_t process);
  // What is sent on their connections of now is lost, and neither hears of that.
  void Clog(size_t a, size_t b);
  // Nothing that is sent to it arrives any more, until it has tested its hearing.
  void Deafen(size_t process) { deaf_.insert(process); }
  bool HasGets(size_t process) const;
  bool HasGetInto(size_t process, uint64_t begin, uint64_t end) const;

 private:
  using Pair = std::pair<size_t, size_t>;
  struct Frame {
    Pair pair;
    uint64_t connection = 0;
    std::string header;
    std::string payload;
    bool lost = false;
  };
  struct OpenGet {
    size_t reader = 0;
    size_t source = 0;
    std::vector<CopyRun> runs;
    bool closed = false;
    uint64_t digest_every = 0;
  };
  using GetKey = std::pair<size_t, uint64_t>;

  // The process behind an incarnation, or kNobody.
  size_t Find(Incarnation peer) const;
  void Disconnect(Pair pair, const absl::Status& why);
  bool Lost(const Frame& frame) const;
  void MaybeCorrupt(char* bytes, size_t count);
  void Arrive(const std::shared_ptr<Frame>& frame, TimeUs earliest);
  std::string PayloadOf(size_t process, const ByteRanges& ranges) const;
  // The part [begin, end) of what these ranges hold now.
  void Copy(const std::shared_ptr<Frame>& frame, const ByteRanges& ranges, size_t begin,
            size_t end) const;
  void CompleteSend(Pair pair, uint64_t token);
  void MovePieces(GetKey key, uint64_t begin_percent, uint64_t end_percent);
  void CompleteGet(GetKey key, const absl::Status& status);

  Schedule& schedule_;
  Machines& machines_;
  std::map<Pair, uint64_t> open_;  // the connection's number
  uint64_t next_connection_ = 1;
  std::set<size_t> deaf_;
  std::map<size_t, std::string> moved_;  // where it is now
  std::set<uint64_t> orphaned_;          // connections to who does not hear of them any more
  std::map<Pair, TimeUs> last_arrival_;
  std::map<Pair, std::map<uint64_t, uint64_t>> sends_;  // token -> connection
  std::map<GetKey, OpenGet> gets_;
};

}  // namespace tensorhub::agent::testing

#endif  // TENSORHUB_TESTS_UNIT_WORKER_AGENT_CORE_NETWORK_H_
