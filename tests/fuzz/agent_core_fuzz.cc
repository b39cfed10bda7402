// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// An agent among peers that say anything at all, in any order, while it publishes, fetches from one
// of them and unpublishes. On top of what World checks (R4: every committed byte is the version's;
// no byte is written twice, none that is valid), no frame that leaves carries other bytes than its
// header says, and whatever was said, the agent's own calls end.

#include <algorithm>

#include "common/check.h"
#include "tests/fuzz/agent_world.h"
#include "tests/fuzz/fuzz.h"
#include "worker_agent/core/digests.h"

namespace tensorhub::fuzz {
namespace {

using namespace agent;           // NOLINT: the words of the core
using namespace agent::testing;  // NOLINT: and of its tests' world

constexpr Incarnation kOther = 7778;
constexpr Generation kAssigned = 42;
constexpr size_t kKinds = static_cast<size_t>(PeerKind::kDigests);
constexpr size_t kStepsMax = 400;

class Play {
 public:
  explicit Play(std::string_view input)
      : in_(input),
        world_({.workers = 1,
                .one_sided = in_.OneIn(3),
                .guarded = in_.OneIn(4),
                .digests = in_.Of({DigestMode::kOff, DigestMode::kAuto, DigestMode::kOn})}) {
    world_.hub.script = [this](size_t worker, const Call& call) { return Answer(worker, call); };
  }

  void Run() {
    for (size_t step = 0; step < kStepsMax && !in_.empty(); ++step) {
      Step();
      CheckSent();
    }
    End();
  }

 private:
  // --- the hub: whatever is asked succeeds ---

  bool Answer(size_t worker, const Call& call) {
    decltype(CallReply::payload) payload;
    absl::Status status;
    if (std::holds_alternative<protocol::Publish>(call.request)) {
      payload = PublishReply{world_.hub.PublicationOf(kPublished), kChunkBytes, true};
    } else if (std::holds_alternative<protocol::Unpublish>(call.request)) {
      payload = UnpublishReply{.begun = in_.OneIn(2)};
    } else if (std::holds_alternative<protocol::JoinFetch>(call.request)) {
      transaction_ = {1, ++transaction_.lo};
      payload =
          FetchDecision{transaction_, world_.hub.PublicationOf(kFetched), kFetched, 1, kChunkBytes};
    } else if (const auto* finish = std::get_if<protocol::FinishRead>(&call.request)) {
      status = finish->result;
      if (status.ok()) payload = FinishReadReply{kFetched};
    }
    world_.hub.Reply(worker, call.op, status, payload);
    return true;
  }

  // --- one thing that happens ---

  void Step() {
    switch (in_.Below(14)) {
      case 0:
        return world_.RunFor(TimeMs{in_.Byte()});
      case 1:
        return Assign();
      case 2:
        return AskVerb();
      case 3:
        return world_.Deliver(0, PeerFailed{Peer(), absl::UnavailableError("gone")});
      case 4:
        return world_.Deliver(0, PathKnown{Peer(), in_.Number() * 512});
      case 5:
        return world_.Deliver(
            0, protocol::Probe{Near(world_.at(0).word.generation), /*verify=*/in_.OneIn(2)});
      case 6:
        return SayRaw();
      case 7:
      case 8:
        return SayGoodData();
      case 9:
        return SayGoodDigests();
      default:
        return Say();
    }
  }

  void AskVerb() {
    if (!world_.Idle(0)) return;
    switch (in_.Below(3)) {
      case 0:
        TH_CHECK(world_.Do(0, UnpublishVerb{.drain_ms = 100}).ok());
        world_.at(0).memory = world_.Content(kPublished);
        return world_.Ask(0, PublishVerb{.version = kPublished});
      case 1:
        world_.Ask(0, FetchVerb{.selector = {}, .timeout_ms = 20'000});
        world_.RunFor(50);
        return Assign();
      default:
        return world_.Ask(0, UnpublishVerb{.drain_ms = TimeMs{in_.Byte()}});
    }
  }

  void Assign() {
    protocol::Assign assign;
    assign.transaction = transaction_;
    assign.assignment = ++assignment_;
    assign.source.key = {"m", "x", 0};
    assign.source.incarnation = in_.OneIn(8) ? kOther : kStranger;
    assign.generation = kAssigned;
    assign.publication = world_.hub.PublicationOf(kFetched);
    assign.tier = in_.OneIn(4) ? Tier::kHost : Tier::kRemote;
    source_ = assign.source.incarnation;
    world_.Deliver(0, assign);
  }

  // --- what the peers say ---

  Incarnation Peer() {
    return in_.Of(
        {kStranger, kStranger, kStranger, kOther, Network::IncarnationOf(0), Incarnation{1}});
  }
  uint64_t Near(uint64_t value) { return in_.OneIn(8) ? value + in_.Number() - 16 : value; }

  PeerMessage Message(PeerKind kind) {
    const bool to_reader = kind == PeerKind::kOpened || kind == PeerKind::kData ||
                           kind == PeerKind::kConfirm || kind == PeerKind::kRefuse ||
                           kind == PeerKind::kDigests;
    PeerMessage message;
    message.kind = kind;
    message.from = Peer();
    message.read = to_reader ? Near(read_) : 1 + in_.Below(4);
    message.generation = Near(to_reader ? kAssigned : world_.at(0).word.generation);
    message.publication = world_.hub.PublicationOf(in_.OneIn(4) ? kFetched : kPublished);
    message.chunk_bytes = in_.OneIn(8) ? in_.Number() : kChunkBytes;
    message.flags = in_.Byte() % 16;
    if (in_.OneIn(2)) {
      Show(Sign(CapabilityKey::Guessable(Network::IncarnationOf(0)),
                {message.from, Network::IncarnationOf(0), message.publication, message.generation,
                 ReadUse::kChunks}),
           ReadUse::kChunks, message);
    }
    message.code = static_cast<uint16_t>(in_.Below(17));
    message.chunk = static_cast<uint32_t>(in_.Number());
    message.valid = static_cast<uint32_t>(in_.Number());
    message.confirmed = static_cast<uint32_t>(in_.Number());
    message.begin = in_.OneIn(4) ? in_.Number() : in_.Below(64) * 1024;
    if (kind == PeerKind::kHello) message.text = in_.OneIn(8) ? "" : "somewhere";
    if (kind == PeerKind::kDigests) message.text = in_.Bytes(in_.Below(64));
    return message;
  }

  void Say() {
    const PeerMessage message = Message(static_cast<PeerKind>(1 + in_.Below(kKinds)));
    if (message.kind == PeerKind::kData) return SayData(message, in_.Number() * 256);
    world_.Hear(0, message, in_.OneIn(4) ? "description" : "");
  }

  // What a sound source would say first: the digests of what is fetched, all or some or none.
  void SayGoodDigests() {
    Digests right;
    for (uint32_t chunk = 0; chunk < world_.chunks(); ++chunk) {
      right.Append({HashOf(
          std::string_view(world_.Content(kFetched)).substr(chunk * kChunkBytes, kChunkBytes))});
    }
    PeerMessage digests;
    digests.kind = PeerKind::kDigests;
    digests.from = source_;
    digests.read = read_;
    digests.generation = kAssigned;
    digests.chunk = in_.OneIn(4) ? static_cast<uint32_t>(in_.Below(world_.chunks())) : 0;
    digests.text =
        EncodeDigests(right, digests.chunk,
                      static_cast<uint32_t>(in_.Below(world_.chunks() - digests.chunk + 1)));
    digests.flags = in_.OneIn(2) ? kFlagNoMoreDigests : 0;
    world_.Hear(0, digests);
  }

  // As World hashes.
  static uint64_t HashOf(std::string_view chunk) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const char byte : chunk) {
      hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    }
    return hash;
  }

  // What a sound source would send next is said as well.
  void SayGoodData() {
    PeerMessage data;
    data.kind = PeerKind::kData;
    data.from = source_;
    data.read = read_;
    data.generation = kAssigned;
    data.begin = received_;
    data.valid = world_.chunks();
    data.confirmed = in_.OneIn(2) ? world_.chunks() : static_cast<uint32_t>(in_.Number());
    const uint64_t before = world_.at(0).written_bytes;
    SayData(data, (1 + in_.Below(32)) * 256);
    received_ += world_.at(0).written_bytes - before;
  }

  // The right bytes for its place if it is the read that runs; else rubbish, which nobody may take.
  void SayData(const PeerMessage& data, uint64_t bytes) {
    const std::string& content = world_.Content(kFetched);
    const bool current = data.from == source_ && data.read == read_ && data.generation == kAssigned;
    std::string payload(std::min<uint64_t>(bytes, 2 * content.size()), '!');
    if (current && data.begin < content.size()) {
      const std::string right = content.substr(data.begin, payload.size());
      payload.replace(0, right.size(), right);
    }
    world_.Hear(0, data, payload);
  }

  void SayRaw() {
    std::string header = Encode(Message(static_cast<PeerKind>(1 + in_.Below(kKinds))));
    const size_t at = in_.Below(std::min<size_t>(header.size(), 256));
    const std::string_view bytes = in_.Bytes(1 + in_.Below(16));
    header.replace(at, std::min(bytes.size(), header.size() - at), bytes);
    if (in_.OneIn(4)) header.resize(at);
    const auto message = DecodePeerMessage(header);
    if (message && message->kind == PeerKind::kData) return SayData(*message, bytes.size());
    world_.Deliver(0, MessageArrived{header, bytes});
  }

  // --- what must hold ---

  void CheckSent() {
    for (const SentToStranger& sent : world_.network.strangers) {
      const auto message = DecodePeerMessage(sent.header);
      TH_CHECK(message.has_value());
      TH_CHECK(message->from == Network::IncarnationOf(0) && message->to == sent.to);
      if (message->kind == PeerKind::kOpen) {
        read_ = message->read;
        received_ = message->chunk * kChunkBytes;
      }
      if (message->kind == PeerKind::kData) CheckFrame(*message, sent.payload);
    }
    world_.network.strangers.clear();
  }

  void CheckFrame(const PeerMessage& data, const std::string& payload) {
    const auto is = [&](VersionNumber version) {
      const std::string& content = world_.Content(version);
      return data.begin <= content.size() && payload.size() <= content.size() - data.begin &&
             content.compare(data.begin, payload.size(), payload) == 0;
    };
    TH_CHECK(is(kPublished) || is(kFetched));
  }

  void End() {
    world_.Deliver(0, protocol::AbortRead{transaction_, absl::AbortedError("enough")});
    if (world_.at(0).asked > 0) static_cast<void>(world_.Finish(0));
    CheckSent();
    TH_CHECK(world_.Do(0, UnpublishVerb{.drain_ms = 100}).ok());
    CheckSent();
    TH_CHECK(!world_.at(0).core->Report().holding);
  }

  Choices in_;
  World world_;
  TransactionId transaction_;
  AssignmentNumber assignment_ = 0;
  Incarnation source_ = kStranger;
  uint64_t read_ = 0;
  uint64_t received_ = 0;  // of the read that runs: where its next byte belongs
};

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds = RandomSeeds(8, 300);
  // Whole fetches: good data follow the verb, all of it confirmed; and the same behind digests.
  std::string frames;
  for (int frame = 0; frame < 40; ++frame) frames += std::string("\7\1\37", 3);
  seeds.push_back(std::string("\0\0\2\1\0\0", 6) + frames);
  seeds.push_back(std::string("\0\2\2\1\0\0\11\0\12\1", 10) + frames);
  return seeds;
}

void Run(std::string_view input) { RunInWorld<Play>(input); }

}  // namespace tensorhub::fuzz
