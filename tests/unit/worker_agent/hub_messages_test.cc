// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Covers: R9.7

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "absl/status/status.h"
#include "common/ids.h"
#include "common/remedy.h"
#include "protocol/codec/calls.h"
#include "protocol/codec/directives.h"
#include "protocol/codec/reports.h"
#include "worker_agent/hub/messages.h"

namespace tensorhub::agent {
namespace {

TEST(HubMessagesTest, CapabilitiesArrive) {
  v1::HubMessage message;
  v1::Assign& assign = *message.mutable_assign();
  assign.set_transaction(std::string(16, 't'));
  assign.set_publication(std::string(16, 'p'));
  EXPECT_FALSE(std::get<protocol::Assign>(**protocol::Decode(message)).capability);
  assign.set_capability(ToBytes(Capability{7, 8}));
  EXPECT_EQ(std::get<protocol::Assign>(**protocol::Decode(message)).capability, (Capability{7, 8}));
  assign.set_capability("short");
  EXPECT_TRUE(absl::IsInvalidArgument(protocol::Decode(message).status()));
  v1::PublishResponse response;
  response.set_publication(std::string(16, 'p'));
  response.set_holder_capability(ToBytes(Capability{9, 10}));
  CallReply reply;
  ASSERT_TRUE(FromProto(response, reply).ok());
  EXPECT_EQ(std::get<PublishReply>(reply.payload).with.capability, (Capability{9, 10}));
  response.set_holder_capability("short");
  EXPECT_TRUE(absl::IsInvalidArgument(FromProto(response, reply)));
}

TEST(HubMessagesTest, EachSessionTellsTheKey) {
  WorkerFacts facts;
  EXPECT_EQ(protocol::Encode(OpeningOf(facts, {})).read_key(), "");
  facts.read_key = CapabilityKey::Guessable(3);
  EXPECT_EQ(CapabilityKeyFromBytes(protocol::Encode(OpeningOf(facts, {})).read_key()),
            facts.read_key);
}

TEST(HubMessagesTest, AnOutcomeIsAnAnswerAlsoIfItIsAnError) {
  v1::FinishReadResponse response;
  response.set_version(7);
  response.set_code(14);
  response.set_reason("every source failed");
  CallReply reply;
  EXPECT_EQ(FromProto(response, reply), absl::UnavailableError("every source failed"));
  EXPECT_EQ(std::get<FinishReadReply>(reply.payload).version, 7u);
  response.set_outage(true);
  EXPECT_TRUE(IsOutage(FromProto(response, reply)));
}

TEST(HubMessagesTest, OutagesTravelBothWays) {
  const absl::Status silent = absl::UnavailableError("it has been silent");
  for (const bool outage : {false, true}) {
    const absl::Status reason = AsOutage(silent, outage);
    const protocol::SourceFailed failed{{1, 1}, 2, reason};
    EXPECT_EQ(protocol::Encode(failed).source_failed().outage(), outage);
    EXPECT_EQ(protocol::Encode(protocol::FinishRead{{1, 1}, reason, {}}).outage(), outage);
    v1::HubMessage message;
    message.mutable_abort_read()->set_transaction(ToBytes(Id128{1, 1}));
    message.mutable_abort_read()->set_code(14);
    message.mutable_abort_read()->set_reason(std::string(silent.message()));
    message.mutable_abort_read()->set_outage(outage);
    EXPECT_EQ(std::get<protocol::AbortRead>(**protocol::Decode(message)).reason, reason);
  }
}

}  // namespace
}  // namespace tensorhub::agent
