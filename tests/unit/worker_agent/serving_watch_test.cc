// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/seen/serving_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorhub::agent {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::string Header(PeerKind kind, Incarnation from, uint64_t read,
                   absl::StatusCode code = absl::StatusCode::kOk) {
  PeerMessage message;
  message.kind = kind;
  message.from = from;
  message.read = read;
  message.code = static_cast<uint16_t>(code);
  return Encode(message);
}

class ServingWatchTest : public testing::Test {
 protected:
  void Arrive(PeerKind kind, Incarnation from, uint64_t read) {
    const std::string header = Header(kind, from, read);
    watch_.See(MessageArrived{header, {}}, ++now_us_);
  }
  void Send(Incarnation peer, uint64_t bytes, absl::Status status = absl::OkStatus()) {
    SendData data;
    data.peer = peer;
    data.ranges = {{0, bytes}};
    data.token = ++token_;
    watch_.See(data, ++now_us_);
    watch_.See(SendDone{token_, std::move(status)}, ++now_us_);
  }
  void Refuse(Incarnation peer, uint64_t read, absl::StatusCode code) {
    watch_.See(SendMessage{peer, Header(PeerKind::kRefuse, 1, read, code)}, ++now_us_);
  }

  int64_t now_us_ = 0;
  uint64_t token_ = 0;
  std::string way_;
  ServingWatch watch_{[this](Incarnation) { return way_; }, /*reads=*/true};
};

// A worker or its reader that found itself deaf: the read goes on as another one.
TEST_F(ServingWatchTest, WhatIsConnectedAnewIsAnotherRead) {
  Arrive(PeerKind::kOpen, 5, 1);
  Arrive(PeerKind::kOpen, 6, 1);
  Arrive(PeerKind::kHello, 5, 0);
  Arrive(PeerKind::kOpen, 5, 2);
  std::vector<ServeRecord> ended = watch_.TakeEnded();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].reader, 5u);
  EXPECT_EQ(ended[0].outcome, "connected anew");
  watch_.See(TransportReplaced{"elsewhere"}, ++now_us_);
  ended = watch_.TakeEnded();
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(ended[0].read, 2u);
  EXPECT_EQ(ended[1].reader, 6u);
  EXPECT_EQ(ended[1].end_us, now_us_);
}

TEST_F(ServingWatchTest, BytesThatHaveLeft) {
  Send(5, 100);
  way_ = "tcp/eth0";
  Send(5, 10);
  way_ = "another";  // of the same connection it is not asked again
  Send(5, 20, absl::UnavailableError("gone"));
  Send(5, 1);
  EXPECT_THAT(watch_.Take().served, ElementsAre(Pair("not said", 100), Pair("tcp/eth0", 11)));
  watch_.See(ClosePeer{5}, ++now_us_);
  Send(5, 2);
  EXPECT_THAT(watch_.Take().served, ElementsAre(Pair("another", 2)));
}

TEST_F(ServingWatchTest, ReadsAndHowTheyEnd) {
  for (uint64_t read = 1; read <= 3; ++read) Arrive(PeerKind::kOpen, 5, read);
  Arrive(PeerKind::kOpenRanges, 6, 1);
  Send(6, 40);
  Refuse(5, 1, absl::StatusCode::kFailedPrecondition);
  Refuse(7, 1, absl::StatusCode::kResourceExhausted);  // was never open
  Arrive(PeerKind::kClose, 6, 1);
  watch_.See(PeerFailed{5, absl::UnavailableError("silent")}, ++now_us_);
  EXPECT_THAT(watch_.Take().ended,
              ElementsAre(Pair("FAILED_PRECONDITION", 1), Pair("RESOURCE_EXHAUSTED", 1)));
  const std::vector<ServeRecord> ended = watch_.TakeEnded();
  std::vector<std::string> outcomes;
  for (const ServeRecord& record : ended) {
    outcomes.push_back(record.outcome);
    EXPECT_GT(record.end_us, record.begin_us);
  }
  EXPECT_THAT(outcomes, ElementsAre("FAILED_PRECONDITION", "closed", "gone", "gone"));
  EXPECT_EQ(ended[1].bytes, 40u);
}

TEST_F(ServingWatchTest, RemembersNoMoreThanItsBounds) {
  for (uint64_t read = 0; read < 2 * ServingWatch::kReadsMax; ++read) {
    Arrive(PeerKind::kOpen, 5, read);
  }
  Arrive(PeerKind::kBye, 5, 0);
  EXPECT_EQ(watch_.TakeEnded().size(), ServingWatch::kReadsMax);
  watch_.See(MessageArrived{"nonsense", {}}, ++now_us_);
}

}  // namespace
}  // namespace tensorhub::agent
