// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R9: who reaches a worker's data port, by UCX of his own and knowing all but the worker's key,
// reads nothing there. Who was sent there does, by the same messages.
// Covers: R9.8

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/capability.h"
#include "common/chunking.h"
#include "tensorhub/v1/hub.grpc.pb.h"
#include "tests/integration/harness/eventually.h"
#include "tests/integration/harness/server_process.h"
#include "worker_agent/agent.h"
#include "worker_agent/core/peer_wire.h"
#include "worker_agent/memory/memory.h"
#include "worker_agent/seen/tally.h"
#include "worker_agent/ways/host_ways.h"

namespace tensorhub::harness {
namespace {

using agent::Agent;
using agent::PeerKind;
using agent::PeerMessage;

constexpr size_t kSecretBytes = 1 << 20;
constexpr Incarnation kSpy = 4711;
constexpr Incarnation kStranger = 4712;

// A data plane without an agent.
class Stranger : private agent::MessageTransport::Sink {
 public:
  Stranger() : ways_(agent::Ways::Create(this, *agent::WaysOfThisHost("")).value()) {}

  struct Heard {
    PeerMessage message;
    size_t payload = 0;
  };
  // What is said about a read that is opened, and asked to send everything.
  std::vector<Heard> Try(const v1::Assign& assign, PeerMessage open, Incarnation from) {
    heard_.clear();
    open.from = from;
    open.to = assign.source().incarnation();
    open.read = ++reads_;
    open.generation = assign.generation();
    open.publication = *FromBytes(assign.publication());
    open.text = ways_->Address();
    PeerMessage request = open;
    request.kind = PeerKind::kRequest;
    request.flags = 0;
    request.chunk = 1;
    const agent::PeerId peer = ways_->Connect(assign.endpoint()).value();
    ways_->Send(peer, Encode(open), {}, 0);
    ways_->Send(peer, Encode(request), {}, 0);
    const auto over = [&] {
      while (ways_->Progress()) {
      }
      return Refused() || Confirmed();
    };
    EXPECT_TRUE(Eventually(seconds(30), over));
    ways_->Close(peer);
    return heard_;
  }

 private:
  bool Refused() const {
    return !heard_.empty() && heard_.back().message.kind == PeerKind::kRefuse;
  }
  bool Confirmed() const {
    return !heard_.empty() && heard_.back().message.kind == PeerKind::kConfirm &&
           heard_.back().message.confirmed == 1;
  }
  void OnMessage(std::string_view header, std::string_view payload) override {
    const std::optional<PeerMessage> message = agent::DecodePeerMessage(header);
    if (message && message->read == reads_) heard_.push_back({*message, payload.size()});
  }
  void OnSent(uint64_t /*token*/, const absl::Status& /*status*/) override {}
  void OnPeerFailed(agent::PeerId peer, const absl::Status& status) override {
    ADD_FAILURE() << peer << ": " << status;
  }
  void OnDeaf(std::string_view why) override { ADD_FAILURE() << why; }

  std::unique_ptr<agent::Ways> ways_;
  uint64_t reads_ = 0;
  std::vector<Heard> heard_;
};

// A worker that the hub takes for one, and that tells what it was told.
class Spy {
 public:
  explicit Spy(const std::string& server)
      : stub_(v1::Hub::NewStub(grpc::CreateChannel(server, grpc::InsecureChannelCredentials()))) {}

  ~Spy() {
    context_.TryCancel();
    if (stream_) static_cast<void>(stream_->Finish());
  }

  v1::Assign BeAssigned(const Fingerprint& layout) {
    const auto until = std::chrono::system_clock::now() + seconds(60);
    context_.set_deadline(until);
    stream_ = stub_->Session(&context_);
    v1::WorkerMessage opening;
    v1::OpenSession& open = *opening.mutable_open();
    *open.mutable_worker() = Self();
    open.set_session_number(1);
    open.set_world_size(1);
    open.set_endpoint("nowhere");
    EXPECT_TRUE(stream_->Write(opening));
    EXPECT_TRUE(Next().welcome().guards_reads());
    v1::JoinFetchRequest join;
    *join.mutable_worker() = Self();
    join.set_op(1);
    join.mutable_selector()->set_latest(true);
    join.set_layout(ToBytes(layout));
    join.set_timeout_ms(10'000);
    v1::JoinFetchResponse decision;
    grpc::ClientContext joining;
    joining.set_deadline(until);
    const grpc::Status joined = stub_->JoinFetch(&joining, join, &decision);
    EXPECT_TRUE(joined.ok()) << joined.error_message();
    v1::BeginReadRequest begin;
    *begin.mutable_worker() = Self();
    begin.set_op(2);
    begin.set_transaction(decision.transaction());
    begin.set_generation(1);
    v1::BeginReadResponse begun;
    grpc::ClientContext beginning;
    beginning.set_deadline(until);
    EXPECT_TRUE(stub_->BeginRead(&beginning, begin, &begun).ok());
    v1::HubMessage message = Next();
    while (!message.has_assign() && !HasFailure()) message = Next();
    return message.assign();
  }

 private:
  static v1::WorkerId Self() {
    v1::WorkerId self;
    self.set_model("m");
    self.set_group("spy");
    self.set_incarnation(kSpy);
    return self;
  }
  static bool HasFailure() { return testing::Test::HasFailure(); }
  v1::HubMessage Next() {
    v1::HubMessage message;
    EXPECT_TRUE(stream_->Read(&message));
    return message;
  }

  std::unique_ptr<v1::Hub::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkerMessage, v1::HubMessage>> stream_;
};

class StrangerTest : public testing::Test {
 protected:
  StrangerTest() : tally_(std::make_shared<agent::SharedTally>()) {
    agent::AgentOptions options;
    options.server = server_.address();
    options.key = {"m", "trainer", 0};
    options.observed.tally = tally_;
    trainer_ = Agent::Start(options).value();
    void* data =
        trainer_->Allocate(kSecretBytes).value();  // so that peers could read it one-sidedly
    std::memset(data, 7, kSecretBytes);
    agent::TensorBuffer tensor;
    tensor.name = "w";
    tensor.dtype = "U8";
    tensor.shape = {kSecretBytes};
    tensor.data = data;
    tensor.bytes = kSecretBytes;
    layout_ = agent::Memory::Make({tensor}).value().layout().fingerprint();
    EXPECT_TRUE(trainer_->Register({tensor}).ok());
    EXPECT_TRUE(trainer_->RunVerb(agent::PublishVerb{.version = 1}).status.ok());
    chunk_bytes_ = DefaultChunkBytes(kSecretBytes);
  }

  PeerMessage Open(const std::string& capability) const {
    PeerMessage open;
    open.kind = PeerKind::kOpen;
    open.chunk_bytes = chunk_bytes_;
    open.flags = agent::kFlagDigests | agent::kFlagOneSided;
    Show(*CapabilityFromBytes(capability), ReadUse::kChunks, open);
    return open;
  }
  void ExpectTurnedAway(const std::vector<Stranger::Heard>& heard) {
    ASSERT_EQ(heard.size(), 1u);
    EXPECT_EQ(heard[0].message.kind, PeerKind::kRefuse);
    EXPECT_EQ(heard[0].message.code, static_cast<uint16_t>(absl::StatusCode::kUnauthenticated));
    EXPECT_EQ(heard[0].payload, 0u);
  }
  uint64_t Served() {
    uint64_t bytes = 0;
    for (const auto& [way, served] : tally_->Sum().served) bytes += served;
    return bytes;
  }
  uint64_t Refused() { return tally_->Sum().ended["UNAUTHENTICATED"]; }

  ServerProcess server_;
  std::shared_ptr<agent::SharedTally> tally_;
  std::unique_ptr<Agent> trainer_;
  Fingerprint layout_;
  uint64_t chunk_bytes_ = 0;
};

TEST_F(StrangerTest, ReadsNothing) {
  Spy spy(server_.address());
  const v1::Assign assign = spy.BeAssigned(layout_);
  ASSERT_EQ(assign.capability().size(), kCapabilityBytes);
  Stranger stranger;
  ExpectTurnedAway(stranger.Try(assign, Open(""), kStranger));
  ExpectTurnedAway(stranger.Try(assign, Open(assign.capability()), kStranger));
  ExpectTurnedAway(stranger.Try(assign, Open(std::string(kCapabilityBytes, 'x')), kSpy));
  EXPECT_TRUE(Eventually(seconds(10), [this] { return Refused() == 3; })) << Refused();
  // The same by who was sent, which shows that nothing else was wrong.
  PeerMessage open = Open(assign.capability());
  open.flags = agent::kFlagCapability;
  const std::vector<Stranger::Heard> heard = stranger.Try(assign, open, kSpy);
  ASSERT_FALSE(heard.empty());
  EXPECT_EQ(heard.back().message.kind, PeerKind::kConfirm);
  EXPECT_TRUE(Eventually(seconds(30), [this] { return Served() >= chunk_bytes_; })) << Served();
  EXPECT_EQ(Refused(), 3u);
}

}  // namespace
}  // namespace tensorhub::harness
