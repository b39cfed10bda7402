// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// An agent and a server that says anything at all: directives and answers as bytes, plausible ones
// among hostile and damaged ones, through their translation into the core. On top of what World
// checks, a refusal is one line, and whatever was said, the agent's own calls end.

#include <google/protobuf/stubs/logging.h>

#include <algorithm>

#include "common/check.h"
#include "protocol/codec/directives.h"
#include "tests/fuzz/agent_world.h"
#include "tests/fuzz/fuzz.h"
#include "worker_agent/hub/messages.h"

namespace tensorhub::fuzz {
namespace {

using namespace agent;           // NOLINT: the words of the core
using namespace agent::testing;  // NOLINT: and of its tests' world

constexpr size_t kStepsMax = 300;

class Play {
 public:
  explicit Play(std::string_view input)
      : in_(input), world_({.workers = 1, .one_sided = in_.OneIn(3)}) {
    world_.hub.script = [this](size_t worker, const Call& call) { return Answer(worker, call); };
  }

  void Run() {
    for (size_t step = 0; step < kStepsMax && !in_.empty(); ++step) Step();
    End();
  }

 private:
  void Step() {
    switch (in_.Below(8)) {
      case 0:
        return world_.RunFor(TimeMs{in_.Byte()});
      case 1:
        return world_.RunFor(TimeMs{in_.Byte()} * 40);
      case 2:
      case 3:
        return AskVerb();
      default:
        return Say();
    }
  }

  void AskVerb() {
    if (!world_.Idle(0)) return;
    switch (in_.Below(3)) {
      case 0:
        if (!world_.Do(0, UnpublishVerb{.drain_ms = 100, .force = true}).ok()) return;
        world_.at(0).memory = world_.Content(kPublished);
        return world_.Ask(0, PublishVerb{.version = kPublished, .wait_for_group = in_.OneIn(4)});
      case 1:
        return world_.Ask(0, FetchVerb{.selector = {}, .timeout_ms = 20'000});
      default:
        return world_.Ask(0, UnpublishVerb{.drain_ms = TimeMs{in_.Byte()}});
    }
  }

  // --- fields: right ones, mostly ---

  std::string Id(const Id128& right) {
    if (in_.OneIn(16)) return std::string(in_.Bytes(in_.Below(20)));
    return ToBytes(in_.OneIn(16) ? Id128{in_.Number(), in_.Number()} : right);
  }
  std::string Publication() {
    return Id(world_.hub.PublicationOf(in_.OneIn(4) ? kPublished : kFetched));
  }
  std::string Transaction() { return Id({1, transaction_}); }
  uint64_t Generation() {
    return in_.OneIn(8) ? in_.Number() : world_.at(0).word.generation + in_.Byte() % 3 - 1;
  }
  uint64_t Version() { return in_.OneIn(8) ? in_.Number() : kFetched; }
  uint64_t ChunkBytes() { return in_.OneIn(8) ? in_.Number() * 512 : kChunkBytes; }
  // ASCII: of other bytes the parser of messages says no, aloud.
  std::string Text() {
    std::string text(in_.Bytes(in_.Below(24)));
    for (char& byte : text) byte &= 0x7f;
    return text;
  }

  // What travels: the bytes of a message, of which some may have been altered.
  template <typename Message>
  bool Travel(Message& message) {
    std::string bytes = message.SerializeAsString();
    if (!bytes.empty() && in_.OneIn(16)) {
      bytes[in_.Below(std::min<size_t>(bytes.size(), 256))] ^= static_cast<char>(in_.Byte());
    }
    return message.ParseFromString(bytes);
  }

  // --- directives ---

  void Say() {
    v1::HubMessage message;
    Fill(message);
    if (!Travel(message)) return;
    const auto said = protocol::Decode(message);
    if (!said.ok()) return CheckRefusal(said.status());
    if (*said) std::visit([this](const auto& directive) { Deliver(directive); }, **said);
  }

  void Deliver(const protocol::Welcome& welcome) { world_.Deliver(0, SessionUp{welcome}); }
  template <typename Directive>
  void Deliver(const Directive& directive) {
    world_.Deliver(0, directive);
  }

  void Fill(v1::HubMessage& message) {
    switch (in_.Below(9)) {
      case 0: {
        v1::AbortRead& abort = *message.mutable_abort_read();
        abort.set_transaction(Transaction());
        abort.set_code(in_.Byte());
        abort.set_outage(in_.OneIn(2));
        return abort.set_reason(Text());
      }
      case 1:
        message.mutable_probe()->set_verify(in_.OneIn(2));
        return message.mutable_probe()->set_generation(Generation());
      case 2: {
        v1::Dropped& dropped = *message.mutable_dropped();
        dropped.set_generation(Generation());
        dropped.set_code(in_.Byte());
        return dropped.set_reason(Text());
      }
      case 3:
        return message.mutable_visible()->set_publication(Publication());
      case 4:
        message.mutable_make_copy()->set_publication(Publication());
        message.mutable_make_copy()->set_version(Version());
        return message.mutable_make_copy()->set_within_ms(in_.Number());
      case 5:
        return message.mutable_release_copy()->set_generation(Generation());
      case 6:
        return message.mutable_group_changed()->mutable_group_epoch()->set_hub_epoch(in_.Number());
      default:
        return Fill(*message.mutable_assign());
    }
  }

  void Fill(v1::Assign& assign) {
    assign.set_transaction(Transaction());
    assign.set_assignment(in_.OneIn(8) ? in_.Number() : ++assignment_);
    v1::WorkerId& source = *assign.mutable_source();
    source.set_model(in_.OneIn(8) ? Text() : "m");
    source.set_group("x");
    source.set_rank(static_cast<uint32_t>(in_.Below(3)));
    source.set_incarnation(in_.OneIn(8) ? Network::IncarnationOf(0) : kStranger);
    assign.set_endpoint(in_.OneIn(4) ? Text() : "somewhere");
    assign.set_generation(in_.OneIn(8) ? in_.Number() : 42);
    assign.set_publication(Publication());
    assign.set_tier(static_cast<uint32_t>(in_.Below(6)));
    assign.set_progress_ms(in_.Number());
  }

  // --- answers ---

  bool Answer(size_t worker, const Call& call) {
    if (in_.OneIn(16)) return true;  // none
    CallReply reply;
    std::visit([&](const auto& request) { Reply(request, reply); }, call.request);
    if (in_.OneIn(8)) reply.status = absl::Status(static_cast<absl::StatusCode>(in_.Below(17)), "");
    world_.hub.Reply(worker, call.op, reply.status, reply.payload);
    return true;
  }

  template <typename Response>
  void Read(Response& response, CallReply& reply) {
    if (!Travel(response)) return;
    reply.status = FromProto(response, reply);
    CheckRefusal(reply.status);
  }
  void Reply(const protocol::Publish&, CallReply& reply) {
    v1::PublishResponse response;
    response.set_publication(Id(world_.hub.PublicationOf(kPublished)));
    response.set_chunk_bytes(ChunkBytes());
    response.set_visible(in_.OneIn(2));
    Read(response, reply);
  }
  void Reply(const protocol::Unpublish&, CallReply& reply) {
    v1::UnpublishResponse response;
    response.set_readers_left(static_cast<uint32_t>(in_.Number()));
    response.set_begun(in_.OneIn(2));
    Read(response, reply);
  }
  void Reply(const protocol::JoinFetch&, CallReply& reply) {
    v1::JoinFetchResponse response;
    ++transaction_;
    response.set_transaction(Transaction());
    response.set_publication(Publication());
    response.set_version(Version());
    response.set_world_size(static_cast<uint32_t>(in_.Number()));
    response.set_chunk_bytes(ChunkBytes());
    response.set_already_held(in_.OneIn(8));
    Read(response, reply);
  }
  void Reply(const protocol::FinishRead&, CallReply& reply) {
    v1::FinishReadResponse response;
    response.set_version(Version());
    response.set_code(in_.OneIn(2) ? in_.Byte() : 0);
    response.set_reason(Text());
    response.set_outage(in_.OneIn(2));
    if (Travel(response)) reply.status = FromProto(response, reply);  // an outcome, no refusal
  }
  void Reply(const protocol::BeginRead&, CallReply& reply) {
    v1::BeginReadResponse response;
    Read(response, reply);
  }
  void Reply(const protocol::Leave&, CallReply& reply) {
    v1::LeaveResponse response;
    Read(response, reply);
  }

  // --- what must hold ---

  static void CheckRefusal(const absl::Status& status) {
    if (!absl::IsInvalidArgument(status)) return;
    TH_CHECK(!status.message().empty() && status.message().find('\n') == std::string::npos);
  }

  void End() {
    if (world_.at(0).asked > 0) static_cast<void>(world_.Finish(0));
    TH_CHECK(world_.Idle(0));
  }

  Choices in_;
  World world_;
  uint64_t transaction_ = 0;
  AssignmentNumber assignment_ = 0;
};

}  // namespace

std::vector<std::string> Seeds() { return RandomSeeds(12, 400); }

void Run(std::string_view input) {
  google::protobuf::SetLogHandler(nullptr);  // damaged ones are refused silently
  RunInWorld<Play>(input);
}

}  // namespace tensorhub::fuzz
