// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/worker_agent/tcp/connection_storm.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "worker_agent/tcp/tcp_messages.h"

namespace tensorhub::agent {
namespace {

constexpr size_t kReaders = 2;
constexpr size_t kSources = 2;
constexpr size_t kUnsentMax = 8;  // messages of one worker
constexpr uint64_t kSaidInCalm = 20;
constexpr uint64_t kConnectionsInCalmMax = 4 * 2 * kReaders * kSources;
constexpr std::chrono::seconds kCalmMax{60};

// A message's header.
struct Said {
  uint64_t from = 0;  // workers, by their places
  uint64_t to = 0;
  uint64_t connection = 0;  // of the sender's, one after the other
  uint64_t number = 0;      // in it
  uint64_t seed = 0;        // of the payload
  uint64_t bytes = 0;
};

std::string Payload(uint64_t seed, size_t bytes) {
  Random random(seed);
  std::string payload;
  while (payload.size() < bytes) {
    const uint64_t word = random.Next();
    payload.append(reinterpret_cast<const char*>(&word), sizeof(word));
  }
  payload.resize(bytes);
  return payload;
}

}  // namespace

class ConnectionStorm::Worker : public MessageTransport::Sink {
 public:
  Worker(uint64_t self, uint64_t seed) : self_(self), random_(seed) {
    auto made = TcpMessages::Create(this, {"lo", kHere, kHere, {}});
    TH_CHECK(made.ok());
    transport_ = *std::move(made);
  }

  uint64_t self() const { return self_; }
  TcpMessages& transport() { return *transport_; }
  const std::string& complaint() const { return complaint_; }
  uint64_t delivered() const { return delivered_; }
  bool IsQuiet() const { return unsent_.empty() && failed_.empty(); }
  bool HasPeerAt(uint64_t other) const { return ConnectionTo(other) != 0; }

  // 0: none.
  uint64_t ConnectionTo(uint64_t other) const {
    for (const auto& [id, peer] : peers_) {
      if (peer.other == other) return peer.connection;
    }
    return 0;
  }
  // How many messages.
  uint64_t Heard(uint64_t from, uint64_t connection) const {
    const auto found = heard_.find({from, connection});
    return found == heard_.end() ? 0 : found->second;
  }

  void Connect(uint64_t other, const std::string& address, uint64_t connection) {
    const auto id = transport_->Connect(address);
    if (id.ok()) peers_[*id] = {other, connection};
  }

  void SayTo(uint64_t other) {
    for (auto& [id, peer] : peers_) {
      if (peer.other == other) Say(id, peer);
    }
  }
  void SaySomething() {
    if (peers_.empty() || unsent_.size() >= kUnsentMax) return;
    auto& [id, peer] = *std::next(peers_.begin(), Draw(peers_.size()));
    Say(id, peer);
  }
  void CloseOne() {
    if (!peers_.empty()) Close(std::next(peers_.begin(), Draw(peers_.size()))->first);
  }
  void CloseAll() {
    while (!peers_.empty()) Close(peers_.begin()->first);
  }
  void CloseFailed() {
    for (const PeerId id : std::exchange(failed_, {})) {
      if (peers_.contains(id)) Close(id);
    }
  }

  void OnMessage(std::string_view header, std::string_view payload) override {
    Said said;
    if (header.size() != sizeof(said)) return Complain("a header of another size");
    std::memcpy(&said, header.data(), sizeof(said));
    if (said.to != self_) return Complain(absl::StrCat("heard what was meant for ", said.to));
    const uint64_t due = ++heard_[{said.from, said.connection}];
    if (said.number != due) Complain(absl::StrCat("heard message ", said.number, ", not ", due));
    if (payload != Payload(said.seed, said.bytes)) Complain("a payload that was not sent");
    ++delivered_;
  }
  void OnHeard(PeerId peer, bool /*lossy*/) override {
    if (!peers_.contains(peer)) Complain("life of somebody who was closed");
  }
  void OnSent(uint64_t token, const absl::Status& /*status*/) override {
    const auto found = unsent_.find(token);
    if (found == unsent_.end()) return Complain("a send that ends twice");
    found->second.assign(found->second.size(), '!');  // the owner writes into it
    written_.push_back(std::move(found->second));
    if (written_.size() > kUnsentMax) written_.erase(written_.begin());
    unsent_.erase(found);
  }
  void OnPeerFailed(PeerId peer, const absl::Status& /*status*/) override {
    if (!peers_.contains(peer)) Complain("somebody who was closed fails");
    if (std::count(failed_.begin(), failed_.end(), peer) > 0) Complain("a peer fails twice");
    failed_.push_back(peer);
  }
  void OnDeaf(std::string_view /*why*/) override { Complain("deaf"); }

 private:
  struct Peer {
    uint64_t other = 0;
    uint64_t connection = 0;
    uint64_t said = 0;
  };

  ptrdiff_t Draw(size_t bound) { return static_cast<ptrdiff_t>(random_.Below(bound)); }

  void Say(PeerId id, Peer& peer) {
    constexpr std::array<uint64_t, 4> kBytesMax = {1, 20'000, kMaxPayloadBytes, kMaxPayloadBytes};
    Said said{self_, peer.other, peer.connection, ++peer.said, random_.Next(), 0};
    said.bytes = random_.Below(kBytesMax[random_.Below(kBytesMax.size())] + 1);
    const std::string header(reinterpret_cast<const char*>(&said), sizeof(said));
    const uint64_t token = said.bytes == 0 ? 0 : ++last_token_;
    std::vector<ConstPiece> pieces;
    if (token != 0) {
      const std::string& payload = unsent_[token] = Payload(said.seed, said.bytes);
      size_t at = 0;
      while (at < payload.size()) {
        const size_t left = payload.size() - at;
        const bool last = pieces.size() + 1 == kPiecesInPlace;
        const size_t bytes = last ? left : random_.Below(left) + 1;
        pieces.push_back({payload.data() + at, bytes});
        at += bytes;
      }
    }
    transport_->Send(id, header, pieces, token);
  }
  void Close(PeerId id) {
    peers_.erase(id);
    std::erase(failed_, id);
    transport_->Close(id);
  }
  void Complain(const std::string& what) {
    if (complaint_.empty()) complaint_ = absl::StrCat("worker ", self_, ": ", what);
  }

  const uint64_t self_;
  Random random_;
  std::unique_ptr<TcpMessages> transport_;
  std::map<PeerId, Peer> peers_;
  std::vector<PeerId> failed_;
  std::map<uint64_t, std::string> unsent_;                   // by token
  std::vector<std::string> written_;                         // memory that is not freed yet
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> heard_;  // by sender and connection
  uint64_t last_token_ = 0;
  uint64_t delivered_ = 0;
  std::string complaint_;
};

ConnectionStorm::ConnectionStorm(uint64_t seed) : random_(seed) {
  std::vector<uint16_t> ports;
  for (size_t index = 0; index < kReaders + kSources; ++index) {
    workers_.push_back(std::make_unique<Worker>(index, random_.Next()));
    const auto address = DecodeTcpAddress(workers_.back()->transport().Address());
    if (index >= kReaders) ports.push_back(address->port);
  }
  relay_ = std::make_unique<CuttingRelay>(random_.Next(), ports);
}

ConnectionStorm::~ConnectionStorm() = default;

ConnectionStorm::Worker& ConnectionStorm::Any() {
  return *workers_[random_.Below(workers_.size())];
}

// Sources are reached by way of the relay. A source that is told to connect to a reader has that
// one's connection, or dials it where nothing is cut.
std::string ConnectionStorm::AddressOf(size_t to) const {
  TcpAddress address = *DecodeTcpAddress(workers_[to]->transport().Address());
  if (to >= kReaders) address.port = relay_->port();
  return Encode(address);
}

void ConnectionStorm::Step() {
  const uint64_t draw = random_.Below(1000);
  Worker& worker = Any();
  if (draw < 2) return worker.CloseOne();
  if (draw < 300) return worker.SaySomething();
  if (draw < 400) {
    const bool reads = worker.self() < kReaders;
    const uint64_t other = reads ? kReaders + random_.Below(kSources) : random_.Below(kReaders);
    if (worker.HasPeerAt(other)) return;
    return worker.Connect(other, AddressOf(other), ++last_connection_);
  }
  if (draw < 700) return relay_->Pump();
  worker.transport().Progress();
  if (random_.Below(2) == 0) worker.CloseFailed();
}

void ConnectionStorm::PumpAll() {
  relay_->Pump();
  for (const auto& worker : workers_) {
    worker->transport().Progress();
    worker->CloseFailed();
  }
}

bool ConnectionStorm::PumpUntilQuiet() {
  const auto deadline = std::chrono::steady_clock::now() + kCalmMax;
  const auto quiet = [](const auto& worker) { return worker->IsQuiet(); };
  while (!std::all_of(workers_.begin(), workers_.end(), quiet)) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    PumpAll();
  }
  return true;
}

// A worker whose connection has failed says it all anew: it may have been one of the storm's.
void ConnectionStorm::SayInCalm(Worker& from, const Worker& to) {
  if (from.HasPeerAt(to.self())) return;
  from.Connect(to.self(), AddressOf(to.self()), ++last_connection_);
  for (uint64_t times = 0; times < kSaidInCalm; ++times) from.SayTo(to.self());
}

// True: all of them have heard all that was said on the connections that there are.
bool ConnectionStorm::TalkInCalm() {
  bool heard = true;
  for (size_t reader = 0; reader < kReaders; ++reader) {
    for (size_t source = kReaders; source < workers_.size(); ++source) {
      for (const auto& [from, to] : {std::pair{reader, source}, {source, reader}}) {
        SayInCalm(*workers_[from], *workers_[to]);
        const uint64_t connection = workers_[from]->ConnectionTo(to);
        heard = heard && workers_[to]->Heard(from, connection) == kSaidInCalm;
      }
    }
  }
  PumpAll();
  return heard;
}

std::string ConnectionStorm::Run(int steps) {
  for (int step = 0; step < steps && Complaint().empty(); ++step) Step();
  for (const auto& worker : workers_) worker->CloseAll();
  relay_->CalmDown();
  if (Complaint().empty() && !PumpUntilQuiet()) return "a send does not end";
  const uint64_t connections_max = last_connection_ + kConnectionsInCalmMax;
  const auto deadline = std::chrono::steady_clock::now() + kCalmMax;
  while (Complaint().empty() && !TalkInCalm()) {
    if (last_connection_ > connections_max) return "in the calm connections fail";
    if (std::chrono::steady_clock::now() > deadline) return "in the calm a message does not arrive";
  }
  return Complaint();
}

uint64_t ConnectionStorm::delivered() const {
  return std::accumulate(
      workers_.begin(), workers_.end(), uint64_t{0},
      [](uint64_t sum, const auto& worker) { return sum + worker->delivered(); });
}

std::string ConnectionStorm::Complaint() const {
  for (const auto& worker : workers_) {
    if (!worker->complaint().empty()) return worker->complaint();
  }
  return "";
}

}  // namespace tensorhub::agent
