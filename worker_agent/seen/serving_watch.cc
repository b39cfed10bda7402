// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/seen/serving_watch.h"

#include <iterator>
#include <optional>
#include <variant>

namespace tensorhub::agent {
namespace {

constexpr char kConnectedAnew[] = "connected anew";

}  // namespace

void ServingWatch::See(const Event& event, int64_t now_us) {
  if (const auto* done = std::get_if<SendDone>(&event)) return OnSent(*done);
  if (const auto* failed = std::get_if<PeerFailed>(&event)) {
    return EndAllOf(failed->peer, "gone", now_us);
  }
  if (std::holds_alternative<TransportReplaced>(event)) return EndAll(kConnectedAnew, now_us);
  const auto* arrived = std::get_if<MessageArrived>(&event);
  if (arrived != nullptr && follows_reads_) OnArrived(*arrived, now_us);
}

void ServingWatch::See(const Effect& effect, int64_t now_us) {
  if (const auto* data = std::get_if<SendData>(&effect)) return OnData(*data);
  if (const auto* close = std::get_if<ClosePeer>(&effect)) ways_.erase(close->peer);
  if (const auto* part = std::get_if<PartFrom>(&effect)) ways_.erase(part->peer);
  const auto* message = std::get_if<SendMessage>(&effect);
  if (message == nullptr) return;
  const std::optional<PeerMessage> sent = DecodePeerMessage(message->header);
  if (sent && sent->kind == PeerKind::kRefuse) OnRefusal(message->peer, *sent, now_us);
}

// A payload's header is not looked at: there are many.
void ServingWatch::OnArrived(const MessageArrived& arrived, int64_t now_us) {
  if (!arrived.payload.empty()) return;
  const std::optional<PeerMessage> message = DecodePeerMessage(arrived.header);
  if (!message) return;
  const Key key{message->from, message->read};
  // First on a connection: what was read over an earlier one is begun again.
  if (message->kind == PeerKind::kHello) return EndAllOf(message->from, kConnectedAnew, now_us);
  if (message->kind == PeerKind::kBye) return EndAllOf(message->from, "gone", now_us);
  if (message->kind == PeerKind::kClose) return End(key, "closed", now_us);
  const bool opens = message->kind == PeerKind::kOpen || message->kind == PeerKind::kOpenRanges;
  if (!opens || reads_.size() >= kReadsMax) return;
  reads_.try_emplace(key, ServeRecord{message->from, message->read, now_us, 0, 0, {}});
}

void ServingWatch::OnRefusal(Incarnation peer, const PeerMessage& sent, int64_t now_us) {
  const std::string code = absl::StatusCodeToString(static_cast<absl::StatusCode>(sent.code));
  ++tally_.ended[code];
  End({peer, sent.read}, code, now_us);
}

void ServingWatch::OnData(const SendData& data) {
  uint64_t bytes = 0;
  for (const ByteRange& range : data.ranges) bytes += range.bytes;
  sends_[data.token] = {data.peer, bytes};
}

void ServingWatch::OnSent(const SendDone& done) {
  const auto found = sends_.find(done.token);
  if (found == sends_.end()) return;
  const auto [peer, bytes] = found->second;
  sends_.erase(found);
  if (!done.status.ok()) return;
  std::string& way = ways_[peer];
  if (way.empty()) way = way_to_(peer);
  tally_.served[way.empty() ? "not said" : way] += bytes;
  const auto after = reads_.lower_bound({peer + 1, 0});
  if (after != reads_.begin() && std::prev(after)->first.first == peer) {
    std::prev(after)->second.bytes += bytes;
  }
}

void ServingWatch::End(const Key& key, const std::string& outcome, int64_t now_us) {
  const auto found = reads_.find(Key(key));  // `key` may be the entry's
  if (found == reads_.end()) return;
  found->second.end_us = now_us;
  found->second.outcome = outcome;
  ended_.push_back(std::move(found->second));
  reads_.erase(found);
}

void ServingWatch::EndAll(const std::string& outcome, int64_t now_us) {
  ways_.clear();
  while (!reads_.empty()) End(reads_.begin()->first, outcome, now_us);
}

void ServingWatch::EndAllOf(Incarnation peer, const std::string& outcome, int64_t now_us) {
  ways_.erase(peer);
  for (auto read = reads_.lower_bound({peer, 0});
       read != reads_.end() && read->first.first == peer;) {
    End((read++)->first, outcome, now_us);
  }
}

}  // namespace tensorhub::agent
