// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Follows what others read from one worker, by what goes into its core and what comes out. Who
// reads one-sidedly takes the bytes without a word of them: of those it has the reads alone.
// Decides nothing, and has no clock: times are given, in microseconds.
//
// Thread contract: one thread at a time.

#ifndef TENSORHUB_WORKER_AGENT_SEEN_SERVING_WATCH_H_
#define TENSORHUB_WORKER_AGENT_SEEN_SERVING_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"
#include "worker_agent/core/peer_wire.h"
#include "worker_agent/seen/tally.h"

namespace tensorhub::agent {

// A read of another worker's that has ended.
struct ServeRecord {
  Incarnation reader = 0;
  uint64_t read = 0;  // the reader's number for it
  int64_t begin_us = 0;
  int64_t end_us = 0;
  uint64_t bytes = 0;  // that were sent; not those that the reader took itself
  // "closed" by the reader, "gone", "connected anew" (it goes on as another read), or the code with
  // which it was ended here.
  std::string outcome;
};

class ServingWatch {
 public:
  // Reads that are remembered at a time, R9.
  static constexpr size_t kReadsMax = 4096;

  // `way_to`: how bytes go to a peer; empty: not known yet. `reads`: each read is followed as well.
  ServingWatch(std::function<std::string(Incarnation)> way_to, bool reads)
      : way_to_(std::move(way_to)), follows_reads_(reads) {}

  void See(const Event& event, int64_t now_us);
  void See(const Effect& effect, int64_t now_us);

  // Nothing follows: ends the reads that are open.
  void End(int64_t now_us) { EndAll("worker ended", now_us); }

  // What was counted, and which reads ended, since the last call.
  Tally Take() { return std::exchange(tally_, Tally{}); }
  std::vector<ServeRecord> TakeEnded() { return std::exchange(ended_, {}); }

 private:
  using Key = std::pair<Incarnation, uint64_t>;

  void OnArrived(const MessageArrived& arrived, int64_t now_us);
  void OnRefusal(Incarnation peer, const PeerMessage& sent, int64_t now_us);
  void OnData(const SendData& data);
  void OnSent(const SendDone& done);
  void End(const Key& key, const std::string& outcome, int64_t now_us);
  void EndAll(const std::string& outcome, int64_t now_us);
  void EndAllOf(Incarnation peer, const std::string& outcome, int64_t now_us);

  const std::function<std::string(Incarnation)> way_to_;
  const bool follows_reads_;
  Tally tally_;
  std::map<Key, ServeRecord> reads_;
  std::vector<ServeRecord> ended_;
  std::map<Incarnation, std::string> ways_;
  std::map<uint64_t, std::pair<Incarnation, uint64_t>> sends_;  // by token: bytes
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_SEEN_SERVING_WATCH_H_
