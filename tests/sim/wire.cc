// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/wire.h"

#include <algorithm>

#include "tests/sim/process.h"
#include "worker_agent/core/peer_wire.h"

namespace tensorhub::fault {
namespace {

constexpr Nanos kWireLatencyMin = 20 * kMicrosecond;
constexpr Nanos kWireLatencyMax = 400 * kMicrosecond;

uint64_t CellsIn(const agent::ByteRanges& ranges) {
  uint64_t cells = 0;
  for (const agent::ByteRange& range : ranges) cells += Memory::CellsIn(range.begin, range.bytes);
  return cells;
}

// Of all cells that these ranges touch, one after the other, those from `from` to before `to`.
void Read(const Process& process, const agent::ByteRanges& ranges, uint64_t from, uint64_t to,
          Cells& out) {
  for (uint64_t first = 0; const agent::ByteRange& range : ranges) {
    const uint64_t end = first + Memory::CellsIn(range.begin, range.bytes);
    const uint64_t begin = std::clamp(from, first, end) - first;
    process.memory().Read(range.begin, begin, std::clamp(to, first, end) - first, out);
    first = end;
  }
}

absl::Status Broken() { return absl::UnavailableError("the connection broke"); }

}  // namespace

Wire::Connection* Wire::Find(const Process& from, Incarnation peer) const {
  const auto found = open_.find({from.number(), peer});
  return found == open_.end() ? nullptr : found->second;
}

bool Wire::IsOpen(const Process& from, Incarnation peer) const {
  return Find(from, peer) != nullptr;
}

Process* Wire::Resolve(const std::string& endpoint) const {
  for (auto it = scene_.processes.rbegin(); it != scene_.processes.rend(); ++it) {
    if ((*it)->endpoint() == endpoint) return it->get();
  }
  return nullptr;
}

bool Wire::Blocked(const Connection& connection) const {
  return !blocked_.empty() && connection.to != nullptr &&
         blocked_.contains({connection.from->place(), connection.to->place()});
}

Nanos Wire::Latency(const Connection& connection) {
  Nanos latency = scene_.dice.Time(kWireLatencyMin, scene_.plan.data_latency_max);
  if (scene_.Happens(scene_.plan.data_delay)) {
    latency += scene_.dice.Time(0, scene_.plan.data_delay_max);
  }
  return latency + connection.from->slowness() + (connection.to ? connection.to->slowness() : 0);
}

void Wire::Pass(Connection& connection, Action action) {
  if (Blocked(connection) || !connection.parked.empty()) {
    connection.parked.push_back(std::move(action));
  } else {
    action();
  }
}

void Wire::Release(Connection& connection) {
  if (connection.parked.empty() || Blocked(connection)) return;
  scene_.agenda.After(Latency(connection), nullptr, [this, &connection] {
    if (Blocked(connection)) return;
    for (Action& action : std::exchange(connection.parked, {})) action();
  });
}

// --- connections ---------------------------------------------------------------------------------

void Wire::Open(Process& from, const agent::OpenPeer& effect) {
  Close(from, effect.peer);
  Connection& connection = connections_.emplace_back();
  connection.from = &from;
  connection.to = Resolve(effect.endpoint);
  connection.peer = effect.peer;
  open_[{from.number(), effect.peer}] = &connection;
  const bool nobody = connection.to == nullptr || connection.to->node().dead();
  if (nobody || scene_.Happens(scene_.plan.connect_fails)) {
    Fail(connection, scene_.dice.Time(kMillisecond, 1500 * kMillisecond));
  }
}

void Wire::Close(Process& from, Incarnation peer) {
  Connection* connection = Find(from, peer);
  if (connection == nullptr) return;
  open_.erase({from.number(), peer});
  if (connection->open) End(*connection, absl::CancelledError("closed"));
}

// What was sent arrives.
void Wire::Part(Process& from, const agent::PartFrom& effect) {
  Send(from, agent::SendMessage{effect.peer, effect.header});
  open_.erase({from.number(), effect.peer});
}

// Of what is under way, a part arrives: all that comes before some moment.
void Wire::End(Connection& connection, const absl::Status& why) {
  connection.open = false;
  connection.cut = scene_.agenda.now() + scene_.dice.Time(0, 2 * kWireLatencyMax);
  for (const uint64_t token : std::exchange(connection.sends, {})) {
    scene_.agenda.After(scene_.dice.Time(0, kMillisecond), &connection.from->node(),
                        [from = connection.from, token, why] {
                          from->Step(agent::SendDone{token, why});
                        });
  }
}

// A failure that arrives after the connection was replaced concerns nobody.
void Wire::Fail(Connection& connection, Nanos notice) {
  if (!connection.open) return;
  End(connection, Broken());
  scene_.agenda.After(notice, &connection.from->node(), [this, &connection] {
    if (Find(*connection.from, connection.peer) != &connection) return;
    open_.erase({connection.from->number(), connection.peer});
    connection.from->OnPeerFailed({connection.peer, Broken()});
  });
}

// --- messages ------------------------------------------------------------------------------------

void Wire::Arrive(const FramePtr& frame, Nanos earliest) {
  Connection& connection = *frame->connection;
  connection.last_arrival = std::max(connection.last_arrival + 1, earliest);
  scene_.agenda.At(connection.last_arrival, nullptr,
                   [this, frame] { Pass(*frame->connection, [this, frame] { Hand(frame); }); });
}

void Wire::Hand(const FramePtr& frame) {
  Connection& connection = *frame->connection;
  if (connection.to == nullptr || scene_.agenda.now() >= connection.cut) return;
  if (connection.to->deaf() && connection.to->host() == connection.from->host()) return;
  const bool damaged = scene_.Damage(frame->cells);
  scene_.agenda.Do(connection.to->node(), [frame, damaged] {
    if (frame->connection->to == nullptr) return;  // it was stopped, and has connected anew since
    // As MessagePeers::OnMessage finds it.
    if (damaged && agent::IsHashedPart(frame->header)) {
      return frame->connection->to->OnDamaged(*frame->connection->from);
    }
    frame->connection->to->OnFrame(*frame->connection->from, frame->header);
    frame->connection->to->OnMessage(frame->header, frame->cells, frame->payload_bytes,
                                     frame->description);
  });
}

void Wire::Send(Process& from, const agent::SendMessage& effect) {
  Connection* connection = Find(from, effect.peer);
  if (connection == nullptr || !connection->open) return;
  const auto frame = std::make_shared<Frame>(Frame{connection, effect.header, {}, 0, {}});
  Arrive(frame, scene_.agenda.now() + Latency(*connection));
}

void Wire::Complete(Connection& connection, uint64_t token, const absl::Status& status,
                    Nanos delay) {
  scene_.agenda.After(delay, &connection.from->node(), [&connection, token, status] {
    if (std::erase(connection.sends, token) == 0) return;  // its connection ended, and told so
    connection.from->Step(agent::SendDone{token, status});
  });
}

void Wire::Send(Process& from, const agent::SendData& effect) {
  Connection* connection = Find(from, effect.peer);
  if (connection == nullptr || !connection->open) {
    scene_.agenda.After(0, &from.node(), [&from, token = effect.token] {
      from.Step(agent::SendDone{token, Broken()});
    });
    return;
  }
  const auto frame = std::make_shared<Frame>(Frame{connection, effect.header, {}, 0, {}});
  for (const agent::ByteRange& range : effect.ranges) frame->payload_bytes += range.bytes;
  connection->sends.push_back(effect.token);
  SendParts(frame, effect.ranges, effect.token);
}

// Eagerly, or when the receiver is ready: then the memory is read later and in two parts.
void Wire::SendParts(const FramePtr& frame, const agent::ByteRanges& ranges, uint64_t token) {
  Connection& connection = *frame->connection;
  const uint64_t cells = CellsIn(ranges);
  if (!scene_.Happens(scene_.plan.rendezvous)) {
    Read(*connection.from, ranges, 0, cells, frame->cells);
    Complete(connection, token, absl::OkStatus(), scene_.dice.Time(0, kWireLatencyMax));
    return Arrive(frame, scene_.agenda.now() + Latency(connection));
  }
  const uint64_t half = scene_.dice.Below(cells + 1);
  const Nanos first = scene_.agenda.now() + Latency(connection);
  const Nanos second = std::max(first + Latency(connection), connection.last_arrival + 1);
  const auto touches = [frame] {
    return frame->connection->open && !frame->connection->from->node().dead();
  };
  // What follows on the connection waits for this one.
  connection.last_arrival = second;
  scene_.agenda.At(first, nullptr, [frame, touches, ranges, half] {
    if (touches()) Read(*frame->connection->from, ranges, 0, half, frame->cells);
  });
  scene_.agenda.At(second, nullptr, [this, frame, touches, ranges, half, cells, token] {
    Pass(*frame->connection, [this, frame, touches, ranges, half, cells, token] {
      if (!touches() || frame->cells.size() != half) return;
      Connection& link = *frame->connection;
      Read(*link.from, ranges, half, cells, frame->cells);
      Complete(link, token, absl::OkStatus(), scene_.dice.Time(0, kWireLatencyMax));
      Hand(frame);
    });
  });
}

void Wire::Send(Process& from, const agent::SendDescription& effect) {
  Connection* connection = Find(from, effect.peer);
  if (connection == nullptr || !connection->open) {
    scene_.agenda.After(0, &from.node(), [&from, token = effect.token] {
      from.Step(agent::SendDone{token, Broken()});
    });
    return;
  }
  const auto frame = std::make_shared<Frame>(Frame{connection, effect.header, {}, 0, "described"});
  connection->sends.push_back(effect.token);
  Complete(*connection, effect.token, absl::OkStatus(), scene_.dice.Time(0, kWireLatencyMax));
  Arrive(frame, scene_.agenda.now() + Latency(*connection));
}

// --- faults --------------------------------------------------------------------------------------

// Some connections notice it after a while, others wait for as long as it takes.
void Wire::Block(size_t from_place, size_t to_place) {
  blocked_.insert({from_place, to_place});
  for (const auto& [key, connection] : open_) {
    if (!connection->open || !Blocked(*connection) || scene_.dice.Below(2) == 0) continue;
    scene_.agenda.After(scene_.dice.Time(100 * kMillisecond, 5 * kSecond), nullptr,
                        [this, link = connection] {
                          if (Blocked(*link)) Fail(*link, 0);
                        });
  }
}

void Wire::Unblock(size_t from_place, size_t to_place) {
  if (blocked_.erase({from_place, to_place}) == 0) return;
  for (Connection& connection : connections_) Release(connection);
}

void Wire::UnblockAll() {
  if (blocked_.empty()) return;
  blocked_.clear();
  for (Connection& connection : connections_) Release(connection);
}

void Wire::Break(Process& a, Process& b) {
  for (const auto& [from, to] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
    Connection* connection = Find(*from, to->identity().incarnation);
    if (connection == nullptr) continue;
    Fail(*connection, scene_.dice.Time(0, scene_.dice.Below(2) == 0 ? kMillisecond : kSecond));
  }
}

void Wire::Forget(Process& process) {
  for (Connection& connection : connections_) {
    if (connection.to == &process) connection.to = nullptr;
    if (connection.from != &process) continue;
    if (connection.open) End(connection, absl::CancelledError("given up"));
    const auto found = open_.find({process.number(), connection.peer});
    if (found != open_.end() && found->second == &connection) open_.erase(found);
  }
}

void Wire::OnKilled(Process& process, bool told) {
  std::vector<Connection*> to_it;
  for (const auto& [key, connection] : open_) {
    if (connection->to == &process) to_it.push_back(connection);
  }
  for (Connection* connection : to_it) {
    Process& peer = *connection->from;
    const bool local =
        peer.host() == process.host() && IsOpen(process, peer.identity().incarnation);
    if (local && scene_.Happens(scene_.plan.deafened)) peer.Deafen();
    const Nanos notice = told ? scene_.dice.Time(0, 1500 * kMillisecond)
                              : scene_.dice.Time(2 * kSecond, 20 * kSecond);
    scene_.agenda.After(notice, nullptr, [this, connection] { Fail(*connection, 0); });
  }
}

}  // namespace tensorhub::fault
