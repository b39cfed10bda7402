// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "tests/unit/worker_agent/ucx/ucx_test_peer.h"

namespace tensorhub::agent {
namespace {

// What both kinds of messages keep to. The parameter is UCX_TLS (MakeMessages).
class MessageTransportTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    setenv("UCX_TLS", GetParam(), 1);
    transport_ = MakeMessages(&sink_);
  }
  // Connects to an echo process; the first message tells it where to.
  PeerId ConnectTo(TestPeer& peer) {
    const PeerId id = transport_->Connect(peer.Read()).value();
    address_ = transport_->Address();
    const ConstPiece piece{address_.data(), address_.size()};
    transport_->Send(id, "hello", {&piece, 1}, 1'000'000);
    return id;
  }
  void SendFrames(PeerId peer, uint64_t count) {
    const ConstPiece piece{frame_.data(), frame_.size()};
    for (uint64_t token = 1; token <= count; ++token) {
      transport_->Send(peer, "frame", {&piece, 1}, token);
    }
  }
  bool AllSent(uint64_t count) const {
    return sink_.sent.size() >= count && sink_.sent.rbegin()->first >= count;
  }

  RecordingMessages sink_;
  std::unique_ptr<MessageTransport> transport_;
  std::string address_;
  const std::string frame_ = Pattern(kMaxPayloadBytes, 3);
};

TEST_P(MessageTransportTest, PiecesArriveInOrderBytewise) {
  RecordingMessages other_sink;
  auto other = MakeMessages(&other_sink);
  const PeerId peer = transport_->Connect(other->Address()).value();
  // Few of them fill a message: those that travel from where they lie, and one more.
  for (const size_t count : {0, 1, 2, 3, 4, 5, 6, 7, 17, 300, 1024}) {
    const bool few = count > 0 && count < 8;
    std::vector<ConstPiece> pieces;
    for (size_t i = 0; i < count; ++i) {
      const size_t bytes = few ? kMaxPayloadBytes / count : i % 250;
      pieces.push_back({frame_.data() + (few ? i * bytes : i * 251), bytes});
    }
    std::string expected;
    for (const ConstPiece& piece : pieces) {
      expected.append(static_cast<const char*>(piece.data), piece.bytes);
    }
    other_sink.messages.clear();
    transport_->Send(peer, "header " + std::to_string(count), pieces, count + 1);
    ASSERT_TRUE(ProgressUntil([&] { return !other_sink.messages.empty(); }, *transport_, *other));
    EXPECT_EQ(other_sink.messages[0].first, "header " + std::to_string(count));
    EXPECT_TRUE(other_sink.messages[0].second == expected) << count;
    ASSERT_TRUE(ProgressUntil([&] { return sink_.sent.contains(count + 1); }, *transport_, *other));
    EXPECT_EQ(sink_.sent[count + 1], absl::OkStatus());
  }
}

TEST_P(MessageTransportTest, EchoFromAnotherProcess) {
  TestPeer process("echo", GetParam());
  const PeerId peer = ConnectTo(process);
  SendFrames(peer, 200);
  ASSERT_TRUE(SleepUntil([&] { return sink_.messages.size() == 200; }, *transport_));
  for (const auto& [header, payload] : sink_.messages) {
    EXPECT_EQ(header, "frame");
    EXPECT_TRUE(payload == frame_);
  }
  ASSERT_TRUE(ProgressUntil([&] { return AllSent(201); }, *transport_));
  const char* const way = std::string_view(GetParam()).find("tcp") == 0 ? "tcp/" : "/memory";
  for (const std::string& described : {transport_->Describe(peer), transport_->Summary()}) {
    EXPECT_NE(described.find(way), std::string::npos) << described;
  }
}

TEST_P(MessageTransportTest, CallbacksOnlyFromProgress) {
  const PeerId peer = transport_->Connect(transport_->Address()).value_or(0);
  transport_->Send(peer, "to itself", {}, 1);
  transport_->Close(peer);
  transport_->Send(peer, "too late", {}, 2);
  EXPECT_TRUE(sink_.sent.empty());
  ASSERT_TRUE(ProgressUntil([&] { return sink_.sent.size() == 2; }, *transport_));
  EXPECT_EQ(sink_.sent[2].code(), absl::StatusCode::kCancelled);
}

TEST_P(MessageTransportTest, KilledPeerFailsAndSendsComplete) {
  TestPeer process("echo", GetParam());
  const PeerId peer = ConnectTo(process);
  SendFrames(peer, 1);
  ASSERT_TRUE(ProgressUntil([&] { return sink_.messages.size() == 1; }, *transport_));
  process.Signal(SIGSTOP);  // so that sends pile up
  SendFrames(peer, 200);
  process.Kill();
  ASSERT_TRUE(SleepUntil([&] { return !sink_.failed.empty(); }, *transport_));
  EXPECT_EQ(sink_.failed[0].first, peer);
  EXPECT_EQ(sink_.failed[0].second.code(), absl::StatusCode::kUnavailable);
  transport_->Close(peer);
  ASSERT_TRUE(SleepUntil([&] { return AllSent(201); }, *transport_));
  transport_->Send(peer, "after", {}, 777);
  ASSERT_TRUE(SleepUntil([&] { return sink_.sent.contains(777); }, *transport_));
  EXPECT_FALSE(sink_.sent[777].ok());
  EXPECT_EQ(sink_.failed.size(), 1u);
}

TEST_P(MessageTransportTest, CloseOfAStoppedPeerCompletesEverySend) {
  TestPeer process("echo", GetParam());
  const PeerId peer = ConnectTo(process);
  SendFrames(peer, 1);
  ASSERT_TRUE(ProgressUntil([&] { return sink_.messages.size() == 1; }, *transport_));
  process.Signal(SIGSTOP);
  sink_.sent.clear();
  sink_.sent_calls.clear();
  SendFrames(peer, 200);
  for (int i = 0; i < 1000; ++i) transport_->Progress();
  EXPECT_LT(sink_.sent.size(), 200u);  // some are stuck
  transport_->Close(peer);
  ASSERT_TRUE(SleepUntil([&] { return AllSent(200); }, *transport_));
  for (const auto& [token, calls] : sink_.sent_calls) EXPECT_EQ(calls, 1) << token;
  EXPECT_FALSE(sink_.sent[200].ok());
  EXPECT_TRUE(sink_.failed.empty());
}

// R9: nothing is kept without bound for a process that is stopped.
TEST_P(MessageTransportTest, APeerThatLetsTooMuchWaitIsGivenUp) {
  TestPeer stopped("echo", GetParam());
  TestPeer other("echo", GetParam());
  const PeerId takes_nothing = ConnectTo(stopped);
  SendFrames(takes_nothing, 1);
  ASSERT_TRUE(ProgressUntil([&] { return sink_.messages.size() == 1; }, *transport_));
  stopped.Signal(SIGSTOP);
  const std::string header(900, 'h');
  uint64_t token = 1000;
  const auto send_some = [&] {
    for (int i = 0; i < 1000; ++i) transport_->Send(takes_nothing, header, {}, ++token);
    return !sink_.failed.empty();
  };
  ASSERT_TRUE(ProgressUntil(send_some, *transport_));
  EXPECT_EQ(sink_.failed[0].first, takes_nothing);
  EXPECT_EQ(sink_.failed[0].second.code(), absl::StatusCode::kUnavailable);
  EXPECT_GT(sink_.sent.size(), 0u);
  transport_->Close(takes_nothing);
  ASSERT_TRUE(ProgressUntil([&] { return sink_.sent.size() >= token - 1000; }, *transport_));
  for (uint64_t each = 1001; each <= token; ++each) ASSERT_EQ(sink_.sent_calls[each], 1) << each;
  EXPECT_EQ(sink_.failed.size(), 1u);
  // Nobody else is.
  sink_.messages.clear();
  SendFrames(ConnectTo(other), 3);
  EXPECT_TRUE(ProgressUntil([&] { return sink_.messages.size() == 3; }, *transport_));
}

TEST_P(MessageTransportTest, DestructionWithSendsUnderWay) {
  TestPeer process("echo", GetParam());
  const PeerId peer = ConnectTo(process);
  process.Signal(SIGSTOP);
  SendFrames(peer, 200);
  transport_.reset();
}

// What dies in the middle of its copy leaves a place in the queue of a shared memory that is never
// filled. Over TCP each peer has a queue of its own.
TEST_P(MessageTransportTest, KnowsThatAPeerThatDiedSendingHasLeftItDeaf) {
  TestPeer witness("echo", GetParam());
  const PeerId heard = ConnectTo(witness);
  SendFrames(heard, 1);
  ASSERT_TRUE(ProgressUntil([&] { return sink_.messages.size() == 1; }, *transport_));
  TestPeer process("echo", GetParam());
  const PeerId peer = ConnectTo(process);
  SendFrames(peer, 1);
  ASSERT_TRUE(ProgressUntil([&] { return sink_.messages.size() == 2; }, *transport_));
  transport_->SelfTestReceive();
  ASSERT_TRUE(SleepUntil([&] { return transport_->Arm(); }, *transport_));  // it has ended
  EXPECT_EQ(sink_.deaf, 0);
  const ConstPiece byte{frame_.data(), 1};
  transport_->Send(peer, kDie, {&byte, 1}, 500);
  ASSERT_TRUE(ProgressUntil([&] { return sink_.sent.contains(500); }, *transport_));
  EXPECT_EQ(process.Read(), "") << "it lives";
  process.Kill();
  transport_->Close(peer);
  SendFrames(heard, 1);
  transport_->SelfTestReceive();
  if (std::string_view(GetParam()).starts_with("tcp")) {
    ASSERT_TRUE(SleepUntil([&] { return sink_.messages.size() == 3; }, *transport_));
    ASSERT_TRUE(SleepUntil([&] { return transport_->Arm(); }, *transport_));
    EXPECT_EQ(sink_.deaf, 0);
  } else {
    ASSERT_TRUE(SleepUntil([&] { return sink_.deaf == 1; }, *transport_));
    EXPECT_EQ(sink_.messages.size(), 2u) << "the witness was heard";
  }
}

TEST_P(MessageTransportTest, RefusesMalformedAddresses) {
  const std::string good = transport_->Address();
  EXPECT_EQ(transport_->Connect("").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(transport_->Connect("nonsense").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(transport_->Connect(good.substr(0, good.size() - 1)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(MessageTransportTest, EventFdWakes) {
  RecordingMessages other_sink;
  auto other = MakeMessages(&other_sink);
  const PeerId peer = transport_->Connect(other->Address()).value();
  transport_->Send(peer, "first", {}, 1);  // connects
  ASSERT_TRUE(ProgressUntil([&] { return !other_sink.messages.empty(); }, *transport_, *other));
  while (other->Progress() || transport_->Progress() || !other->Arm()) {
  }
  transport_->Send(peer, "second", {}, 2);
  for (int i = 0; i < 100; ++i) transport_->Progress();
  pollfd fd = {other->EventFd(), POLLIN, 0};
  ASSERT_EQ(poll(&fd, 1, 10'000), 1);
  ASSERT_TRUE(ProgressUntil([&] { return other_sink.messages.size() == 2; }, *other));
}

INSTANTIATE_TEST_SUITE_P(Transports, MessageTransportTest,
                         ::testing::Values("tcp", "posix,self", "shm"));

class UcxRendezvousTest : public MessageTransportTest {};

// The environment may ask for rendezvous; nothing breaks then.
TEST_P(UcxRendezvousTest, ArrivesBytewise) {
  setenv("TENSORHUB_UCX_RNDV_THRESH", "16k", 1);
  transport_ = MakeMessages(&sink_);
  TestPeer process("echo", GetParam());
  SendFrames(ConnectTo(process), 50);
  ASSERT_TRUE(ProgressUntil([&] { return sink_.messages.size() == 50; }, *transport_));
  for (const auto& [header, payload] : sink_.messages) EXPECT_TRUE(payload == frame_);
  unsetenv("TENSORHUB_UCX_RNDV_THRESH");
}

INSTANTIATE_TEST_SUITE_P(Transports, UcxRendezvousTest, ::testing::Values("posix,self", "shm"));

}  // namespace
}  // namespace tensorhub::agent

int main(int argc, char** argv) {
  if (tensorhub::agent::RunPeerRole(argc, argv)) return 0;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
