// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/worker_agent/core/network.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "worker_agent/core/peer_wire.h"

namespace tensorhub::agent::testing {

uint64_t ChunkHash(const std::string& memory, uint64_t begin, uint64_t bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (uint64_t at = begin; at < begin + bytes; ++at) {
    hash = (hash ^ static_cast<unsigned char>(memory[at])) * 0x100000001b3;
  }
  return hash;
}

TimeUs Schedule::Delay() {
  const TimeUs delay = 1 + static_cast<TimeUs>(random.Below(uint64_t(delay_max_us)));
  return Chance(slow_percent) ? 20 * delay : delay;
}

void Schedule::At(TimeUs when, size_t owner, std::function<void()> what) {
  queue_[{std::max(when, now_), next_number_++}] = {owner, std::move(what)};
}

void Schedule::DoNext() {
  const auto first = queue_.begin();
  now_ = std::max(now_, first->first.first);
  Item item = std::move(first->second);
  queue_.erase(first);
  if (dead_.contains(item.owner)) return;
  const auto paused = paused_.find(item.owner);
  if (paused != paused_.end()) {
    paused->second.push_back(std::move(item));
  } else {
    item.what();
  }
}

void Schedule::Resume(size_t owner) {
  const auto paused = paused_.find(owner);
  if (paused == paused_.end()) return;
  for (Item& item : paused->second) At(now_, item.owner, std::move(item.what));
  paused_.erase(paused);
}

void Schedule::Kill(size_t owner) {
  dead_[owner] = true;
  paused_.erase(owner);
}

size_t Network::Find(Incarnation peer) const {
  const Incarnation first = IncarnationOf(0);
  return peer >= first && peer - first < machines_.size() ? peer - first : kNobody;
}

void Network::Do(size_t from, const OpenPeer& effect) {
  const Pair pair{from, Find(effect.peer)};
  if (pair.second == kNobody) return;
  Disconnect(pair, absl::CancelledError("opened anew"));
  const auto moved = moved_.find(pair.second);
  if (moved != moved_.end() && effect.endpoint != moved->second) {
    orphaned_.insert(next_connection_);
  }
  open_[pair] = next_connection_++;
  if (!schedule_.dead(pair.second)) return;
  schedule_.Soon(from, [this, pair, peer = effect.peer] {
    machines_.Deliver(pair.first, PeerFailed{peer, absl::UnavailableError("nobody is there")});
  });
}

void Network::Do(size_t from, const ClosePeer& effect) {
  Disconnect({from, Find(effect.peer)}, absl::CancelledError("closed"));
}

// The connection stays until another one takes its place: what is under way arrives.
void Network::Do(size_t from, const PartFrom& effect) {
  ++partings;
  Do(from, SendMessage{effect.peer, effect.header});
}

// What is under way on the connection does not arrive; its sends complete, with an error.
void Network::Disconnect(Pair pair, const absl::Status& why) {
  open_.erase(pair);
  for (const auto& [token, connection] : std::exchange(sends_[pair], {})) {
    schedule_.Soon(pair.first, [this, pair, token = token, why] {
      machines_.Deliver(pair.first, SendDone{token, why});
    });
  }
}

void Network::Do(size_t from, const SelfTestReceive& /*effect*/) {
  if (deaf_.erase(from) == 0) return;
  std::vector<Pair> gone;
  for (const auto& [pair, connection] : open_) {
    if (pair.first == from) gone.push_back(pair);
    if (pair.second == from) orphaned_.insert(connection);
  }
  for (const Pair& pair : gone) Disconnect(pair, absl::CancelledError("given up"));
  const std::string& endpoint = moved_[from] = EndpointOf(from) + "'";
  schedule_.Soon(from,
                 [this, from, endpoint] { machines_.Deliver(from, TransportReplaced{endpoint}); });
}

void Network::Clog(size_t a, size_t b) {
  for (const auto& [pair, connection] : open_) {
    if (pair == Pair{a, b} || pair == Pair{b, a}) orphaned_.insert(connection);
  }
}

bool Network::Lost(const Frame& frame) const {
  const auto open = open_.find(frame.pair);
  return frame.lost || open == open_.end() || open->second != frame.connection ||
         orphaned_.contains(frame.connection) || deaf_.contains(frame.pair.second);
}

void Network::MaybeCorrupt(char* bytes, size_t count) {
  if (count == 0 || corrupted_percent == 0 || !schedule_.Chance(corrupted_percent)) return;
  bytes[schedule_.random.Below(count)] ^= 1;
}

void Network::Arrive(const std::shared_ptr<Frame>& frame, TimeUs earliest) {
  TimeUs& last = last_arrival_[frame->pair];
  last = std::max(last, earliest);
  schedule_.At(last, frame->pair.second, [this, frame] {
    if (Lost(*frame)) return;
    MaybeCorrupt(frame->payload.data(), frame->payload.size());
    machines_.Deliver(frame->pair.second, MessageArrived{frame->header, frame->payload});
  });
}

void Network::Do(size_t from, const SendMessage& effect) {
  const Pair pair{from, Find(effect.peer)};
  if (pair.second == kNobody) {
    strangers.push_back({from, effect.peer, effect.header, ""});
    return;
  }
  const auto open = open_.find(pair);
  if (open == open_.end()) return;
  auto frame = std::make_shared<Frame>(Frame{pair, open->second, effect.header, "", false});
  Arrive(frame, schedule_.now() + schedule_.Delay());
}

std::string Network::PayloadOf(size_t process, const ByteRanges& ranges) const {
  std::string payload;
  for (const ByteRange& range : ranges) {
    payload += machines_.MemoryOf(process).substr(range.begin, range.bytes);
  }
  return payload;
}

void Network::Copy(const std::shared_ptr<Frame>& frame, const ByteRanges& ranges, size_t begin,
                   size_t end) const {
  if (schedule_.dead(frame->pair.first)) frame->lost = true;
  const std::string payload = PayloadOf(frame->pair.first, ranges);
  frame->payload += payload.substr(begin, std::min(end, payload.size()) - begin);
}

void Network::CompleteSend(Pair pair, uint64_t token) {
  schedule_.Soon(pair.first, [this, pair, token] {
    if (sends_[pair].erase(token) == 0) return;  // the connection went, and told so
    machines_.Deliver(pair.first, SendDone{token, absl::OkStatus()});
  });
}

// Eagerly (the bytes leave the memory at once), or by rendezvous: the receiver fetches them, in
// two pieces, when it gets round to it.
void Network::Do(size_t from, const SendData& effect) {
  const Pair pair{from, Find(effect.peer)};
  auto frame = std::make_shared<Frame>(Frame{pair, 0, effect.header, "", false});
  if (effect.hashed) {
    const std::string payload = PayloadOf(from, effect.ranges);
    SetPayloadDigest(ChunkHash(payload, 0, payload.size()), frame->header);
  }
  const auto open = open_.find(pair);
  if (pair.second == kNobody) {
    Copy(frame, effect.ranges, 0, std::string::npos);
    strangers.push_back({from, effect.peer, frame->header, frame->payload});
    sends_[pair][effect.token] = 0;
    return CompleteSend(pair, effect.token);
  }
  if (open == open_.end()) {
    schedule_.Soon(from, [this, from, token = effect.token] {
      machines_.Deliver(from, SendDone{token, absl::UnavailableError("not connected")});
    });
    return;
  }
  frame->connection = open->second;
  sends_[pair][effect.token] = frame->connection;
  if (!schedule_.Chance(rendezvous_percent)) {
    Copy(frame, effect.ranges, 0, std::string::npos);
    CompleteSend(pair, effect.token);
    return Arrive(frame, schedule_.now() + schedule_.Delay());
  }
  const size_t half = PayloadOf(from, effect.ranges).size() / 2;
  const TimeUs first = schedule_.now() + schedule_.Delay();
  const TimeUs second = first + schedule_.Delay();
  schedule_.At(first, pair.second, [this, frame, ranges = effect.ranges, half] {
    if (!Lost(*frame)) Copy(frame, ranges, 0, half);
  });
  schedule_.At(second, pair.second, [this, frame, effect, half] {
    if (Lost(*frame)) return;
    Copy(frame, effect.ranges, half, std::string::npos);
    CompleteSend(frame->pair, effect.token);
  });
  Arrive(frame, second + schedule_.Delay());
}

void Network::Do(size_t from, const SendDescription& effect) {
  const Pair pair{from, Find(effect.peer)};
  const auto open = open_.find(pair);
  sends_[pair][effect.token] = open == open_.end() ? 0 : open->second;
  CompleteSend(pair, effect.token);
  if (pair.second == kNobody) {
    strangers.push_back({from, effect.peer, effect.header, EndpointOf(from)});
  } else if (open != open_.end()) {
    Arrive(std::make_shared<Frame>(Frame{pair, open->second, effect.header, EndpointOf(from)}),
           schedule_.now() + schedule_.Delay());
  }
}

void Network::Do(size_t from, const ImportMemory& effect) {
  const bool failed = schedule_.Chance(import_failure_percent) || Find(effect.peer) == kNobody;
  schedule_.Soon(from, [this, from, failed, peer = effect.peer] {
    const absl::Status status =
        failed ? absl::FailedPreconditionError("cannot map") : absl::OkStatus();
    machines_.Deliver(from, MemoryImported{peer, status, words_are_asked});
  });
}

void Network::Do(size_t from, const Get& effect) {
  const GetKey key{from, effect.token};
  gets_[key] = {from,
                Find(effect.peer),
                {effect.runs.begin(), effect.runs.end()},
                false,
                effect.digest_every};
  TimeUs when = schedule_.now();
  const auto cut_percent = schedule_.random.Below(101);
  schedule_.At(when += schedule_.Delay(), kNobody,
               [this, key, cut_percent] { MovePieces(key, 0, cut_percent); });
  schedule_.At(when += schedule_.Delay(), kNobody,
               [this, key, cut_percent] { MovePieces(key, cut_percent, 100); });
  if (gets_hang) return;
  schedule_.At(when + schedule_.Delay(), from, [this, key] { CompleteGet(key, absl::OkStatus()); });
}

// Of each run.
void Network::MovePieces(GetKey key, uint64_t begin_percent, uint64_t end_percent) {
  const auto found = gets_.find(key);
  if (found == gets_.end() || found->second.source == kNobody) return;
  const OpenGet& get = found->second;
  for (const CopyRun& run : get.runs) {
    const uint64_t begin = run.bytes * begin_percent / 100;
    const uint64_t bytes = run.bytes * end_percent / 100 - begin;
    std::string& mine = machines_.MemoryOf(get.reader);
    mine.replace(run.to + begin, bytes,
                 machines_.MemoryOf(get.source).substr(run.from + begin, bytes));
    MaybeCorrupt(mine.data() + run.to + begin, bytes);
  }
}

void Network::CompleteGet(GetKey key, const absl::Status& status) {
  const auto found = gets_.find(key);
  if (found == gets_.end()) return;
  GetDone done{key.second, status};
  const OpenGet get = found->second;
  gets_.erase(found);
  const CopyRun run = get.runs.empty() ? CopyRun() : get.runs.front();
  const uint64_t end = run.to + run.bytes;
  for (uint64_t at = run.to; get.digest_every > 0 && at < end; at += get.digest_every) {
    std::optional<uint64_t>& digest = done.digests.emplace_back();
    if (!schedule_.Chance(digests_on_the_way_percent)) continue;
    const uint64_t bytes = std::min(get.digest_every, end - at);
    digest = ChunkHash(machines_.MemoryOf(get.reader), at, bytes);
    digested_on_the_way_bytes += bytes;
  }
  machines_.Deliver(key.first, done);
}

void Network::Do(size_t from, const GetWord& effect) {
  EXPECT_FALSE(words_are_asked);
  const size_t source = Find(effect.peer);
  schedule_.Soon(kNobody, [this, from, source, token = effect.token] {
    WordArrived event{token, absl::OkStatus(), 0};
    if (source == kNobody) {
      event.status = absl::UnavailableError("nobody is there");
    } else {
      event.word = machines_.WordOf(source);
    }
    schedule_.Soon(from, [this, from, event] { machines_.Deliver(from, event); });
  });
}

void Network::Do(size_t from, const CloseGets& effect) {
  for (auto& [key, get] : gets_) {
    if (get.reader != from || get.source != Find(effect.peer) || get.closed) continue;
    get.closed = true;
    schedule_.Soon(from, [this, key = key] { CompleteGet(key, absl::CancelledError("closed")); });
  }
}

void Network::BreakLink(size_t a, size_t b) {
  for (const Pair& pair : {Pair{a, b}, Pair{b, a}}) {
    if (!open_.contains(pair)) continue;
    const absl::Status why = absl::UnavailableError("the link broke");
    Disconnect(pair, why);
    schedule_.Soon(pair.first, [this, pair, why] {
      machines_.Deliver(pair.first, PeerFailed{IncarnationOf(pair.second), why});
    });
  }
}

void Network::Kill(size_t process) {
  schedule_.Kill(process);
  std::vector<size_t> others;
  for (const auto& [pair, connection] : open_) {
    if (pair.second == process) others.push_back(pair.first);
  }
  for (const size_t other : others) BreakLink(other, process);
}

bool Network::HasGets(size_t process) const {
  return std::any_of(gets_.begin(), gets_.end(),
                     [&](const auto& entry) { return entry.second.reader == process; });
}

bool Network::HasGetInto(size_t process, uint64_t begin, uint64_t end) const {
  return std::any_of(gets_.begin(), gets_.end(), [&](const auto& entry) {
    const OpenGet& get = entry.second;
    return get.reader == process &&
           std::any_of(get.runs.begin(), get.runs.end(), [&](const CopyRun& run) {
             return run.to < end && begin < run.to + run.bytes;
           });
  });
}

}  // namespace tensorhub::agent::testing
