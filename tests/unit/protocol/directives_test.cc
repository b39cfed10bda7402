// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What an agent makes of what a hub leaves out, and of what none can have meant.
//
// Covers: R9.7

#include "protocol/codec/directives.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "absl/status/status.h"
#include "common/remedy.h"

namespace tensorhub::protocol {
namespace {

const std::string& SomeId() {
  static const auto& id = *new std::string(16, 'i');
  return id;
}

template <typename Message>
Message HeardAs(const v1::HubMessage& wire) {
  return std::get<Message>(**Decode(wire));
}

v1::HubMessage EmptyWelcome() {
  v1::HubMessage wire;
  wire.mutable_welcome();
  return wire;
}
v1::HubMessage LeastAssign() {
  v1::HubMessage wire;
  wire.mutable_assign()->set_transaction(SomeId());
  wire.mutable_assign()->set_publication(SomeId());
  return wire;
}
v1::HubMessage LeastMakeCopy() {
  v1::HubMessage wire;
  wire.mutable_make_copy()->set_publication(SomeId());
  return wire;
}

TEST(DirectivesTest, AnEmptyWelcomeIsAnOlderHubs) {
  const auto welcome = HeardAs<Welcome>(EmptyWelcome());
  EXPECT_EQ(welcome.lease_ms, 5000);
  EXPECT_EQ(welcome.heartbeat_ms, 1000);
  EXPECT_TRUE(welcome.refuses_content);
  EXPECT_FALSE(welcome.wants_documents);
  EXPECT_FALSE(welcome.guards_reads);
  EXPECT_FALSE(welcome.store);
  EXPECT_FALSE(welcome.adopts);
  EXPECT_EQ(welcome.hub_epoch, 0u);
}

TEST(DirectivesTest, AnAssignMayNameItsContentAndFetchOnly) {
  const auto assign = HeardAs<Assign>(LeastAssign());
  EXPECT_EQ(assign.progress_ms, 100);
  EXPECT_FALSE(assign.ranges);
  EXPECT_FALSE(assign.parts);
  EXPECT_FALSE(assign.digest);
  EXPECT_FALSE(assign.capability);
}

TEST(DirectivesTest, AMakeCopyMayLeaveItsTimeOut) {
  EXPECT_EQ(HeardAs<MakeCopy>(LeastMakeCopy()).within_ms, 10'000);
}

TEST(DirectivesTest, TimesThatNoHubMeansAreCut) {
  v1::HubMessage welcome = EmptyWelcome();
  welcome.mutable_welcome()->set_lease_ms(3'600'001);
  welcome.mutable_welcome()->set_heartbeat_ms(3'600'001);
  EXPECT_EQ(HeardAs<Welcome>(welcome).lease_ms, 3'600'000);
  EXPECT_EQ(HeardAs<Welcome>(welcome).heartbeat_ms, 3'600'000);
  v1::HubMessage assign = LeastAssign();
  assign.mutable_assign()->set_progress_ms(10'001);
  EXPECT_EQ(HeardAs<Assign>(assign).progress_ms, 10'000);
  v1::HubMessage copy = LeastMakeCopy();
  copy.mutable_make_copy()->set_within_ms(600'001);
  EXPECT_EQ(HeardAs<MakeCopy>(copy).within_ms, 600'000);
}

TEST(DirectivesTest, AnEndWithoutACodeIsARefusal) {
  v1::HubMessage abort;
  abort.mutable_abort_read()->set_transaction(SomeId());
  abort.mutable_abort_read()->set_reason("why");
  EXPECT_EQ(HeardAs<AbortRead>(abort).reason, absl::AbortedError("why"));
  EXPECT_FALSE(IsOutage(HeardAs<AbortRead>(abort).reason));
  v1::HubMessage dropped;
  dropped.mutable_dropped()->set_reason("why");
  EXPECT_EQ(HeardAs<Dropped>(dropped).reason, absl::AbortedError("why"));
  v1::HubMessage superseded;
  superseded.mutable_superseded()->set_publication(SomeId());
  superseded.mutable_superseded()->set_reason("why");
  EXPECT_EQ(HeardAs<Superseded>(superseded).reason, absl::AbortedError("why"));
}

}  // namespace
}  // namespace tensorhub::protocol
