// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Follows the fetches of one worker by what goes into its core and what comes out: when each phase
// began, from whom bytes came, and how. Decides nothing, and has no clock: times are given, in
// microseconds.
//
// Thread contract: one thread at a time.

#ifndef TENSORHUB_WORKER_AGENT_SEEN_READING_WATCH_H_
#define TENSORHUB_WORKER_AGENT_SEEN_READING_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"
#include "worker_agent/core/peer_wire.h"
#include "worker_agent/seen/tally.h"

namespace tensorhub::agent {

// A fetch that has ended.
struct FetchRecord {
  struct Span {
    size_t phase = 0;  // of kFetchPhases
    int64_t begin_us = 0;
    int64_t end_us = 0;
  };
  // What was opened at one source.
  struct Stream {
    Incarnation peer = 0;
    uint64_t read = 0;  // the reader's number for it, which the source knows as well
    WorkerKey source = {};
    Tier tier = Tier::kRemote;
    std::string way = {};  // empty: no bytes came
    uint64_t bytes = 0;
    int64_t begin_us = 0;
    int64_t end_us = 0;  // 0: it is open
  };
  int64_t begin_us = 0;
  int64_t end_us = 0;
  std::string traceparent;
  VersionNumber version = 0;  // 0: none was decided
  absl::Status status;
  std::vector<Span> spans;
  std::vector<Stream> streams;  // the first kStreamsMax
};

class ReadingWatch {
 public:
  // A fetch from many sources, or that goes on for hours in an outage, is not remembered whole.
  static constexpr size_t kStreamsMax = 256;
  static constexpr size_t kSpansMax = 64;

  void See(const Event& event, int64_t now_us);
  void See(const Effect& effect, int64_t now_us);
  // Time of the phase under way, up to now.
  void CountTime(int64_t now_us);

  // What was counted since the last call.
  Tally Take() { return std::exchange(tally_, Tally{}); }
  // The fetch that ended since the last call.
  std::optional<FetchRecord> TakeEnded() { return std::exchange(ended_, std::nullopt); }

 private:
  enum Phase : size_t { kJoin, kDrain, kAssign, kRead, kCommit };
  struct Source {
    WorkerKey key;
    Tier tier = Tier::kRemote;
    std::string way = {};
    uint64_t unsaid_bytes = 0;  // came before the way was known
  };

  void OnVerb(const FetchVerb& verb, int64_t now_us);
  void OnAssign(const protocol::Assign& assign, int64_t now_us);
  void OnReply(const CallReply& reply, int64_t now_us);
  void OnLane(const PathKnown& lane);
  void OnCall(const Call& call, int64_t now_us);
  void OnMessage(const SendMessage& message, int64_t now_us);
  void OnSessionSend(const SessionSend& send);
  void OnGet(const Get& get);
  void OnGetDone(const GetDone& done);
  void OnDone(const VerbDone& done, int64_t now_us);
  void EndLost(const Event& event, int64_t now_us);
  // What is read from one peer, or from all.
  void EndStreams(std::optional<Incarnation> peer, int64_t now_us);
  void Turn(Phase phase, int64_t now_us);
  void AddBytes(Incarnation peer, uint64_t bytes);
  void Say(Source& source, const std::string& way);
  FetchRecord::Stream* OpenStream(Incarnation peer);

  Tally tally_;
  std::optional<FetchRecord> fetch_;
  std::optional<FetchRecord> ended_;
  Phase phase_ = kJoin;
  int64_t counted_us_ = 0;  // until when the phase is in the tally
  bool assigned_ = false;   // perhaps before the phase of that name
  std::map<Incarnation, Source> sources_;
  std::map<uint32_t, Incarnation> of_part_;
  std::set<AssignmentNumber> failures_;
  std::map<uint64_t, std::pair<Incarnation, uint64_t>> gets_;  // by token: bytes
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_SEEN_READING_WATCH_H_
