// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Effects and views out.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/grpc_status.h"
#include "common/remedy.h"
#include "server/rpc/translate.h"
#include "server/rpc/translate_views.h"

namespace tensorhub::rpc {
namespace {

const ServerIdentity kIdentity{.store_id = {8, 9}, .epoch = 4};

TEST(TranslateOutTest, Welcome) {
  const pb::HubMessage message = ToProto({1, hub::Welcome{5000, 1000, true, {2, 3}}}, kIdentity);
  EXPECT_EQ(message.welcome().lease_ms(), 5000u);
  EXPECT_EQ(message.welcome().heartbeat_ms(), 1000u);
  EXPECT_TRUE(message.welcome().wants_documents());
  EXPECT_EQ(message.welcome().store_id(), ToBytes(Id128{8, 9}));
  EXPECT_EQ(message.welcome().epoch(), 4u);
  EXPECT_EQ(message.welcome().group_epoch().hub_epoch(), 2u);
  EXPECT_EQ(message.welcome().group_epoch().count(), 3u);
  EXPECT_NE(message.welcome().server_version(), "");
  EXPECT_FALSE(message.welcome().guards_reads());
  const hub::Welcome guards{.guards_reads = true};
  EXPECT_TRUE(ToProto({1, guards}, kIdentity).welcome().guards_reads());
}

TEST(TranslateOutTest, GroupChanged) {
  const pb::HubMessage message = ToProto({1, hub::GroupChanged{{2, 3}}}, kIdentity);
  EXPECT_EQ(message.group_changed().group_epoch().hub_epoch(), 2u);
  EXPECT_EQ(message.group_changed().group_epoch().count(), 3u);
}

TEST(TranslateOutTest, Assign) {
  hub::Assign assign;
  assign.transaction = {1, 1};
  assign.assignment = 2;
  assign.source = {{"m", "g", 3}, 99};
  assign.endpoint = "somewhere";
  assign.generation = 5;
  assign.publication = {6, 6};
  assign.tier = Tier::kRack;
  assign.progress_ms = 250;
  const pb::HubMessage message = ToProto({1, assign}, kIdentity);
  EXPECT_EQ(message.assign().transaction(), ToBytes(Id128{1, 1}));
  EXPECT_EQ(message.assign().assignment(), 2u);
  EXPECT_EQ(message.assign().source().group(), "g");
  EXPECT_EQ(message.assign().source().incarnation(), 99u);
  EXPECT_EQ(message.assign().endpoint(), "somewhere");
  EXPECT_EQ(message.assign().generation(), 5u);
  EXPECT_EQ(message.assign().tier(), 1u);
  EXPECT_EQ(message.assign().progress_ms(), 250u);
  EXPECT_FALSE(message.assign().ranges());
  EXPECT_EQ(message.assign().capability(), "");
  assign.capability = {7, 8};
  EXPECT_EQ(ToProto({1, assign}, kIdentity).assign().capability(), ToBytes(Capability{7, 8}));
}

TEST(TranslateOutTest, OneOfSeveralStreams) {
  hub::Assign assign;
  assign.plan = 2;
  assign.part = 3;
  assign.ranges = true;
  const pb::HubMessage message = ToProto({1, assign}, kIdentity);
  EXPECT_EQ(message.assign().plan(), 2u);
  EXPECT_EQ(message.assign().part(), 3u);
  EXPECT_TRUE(message.assign().ranges());
  const pb::HubMessage end = ToProto({1, hub::EndStream{{1, 1}, 4}}, kIdentity);
  EXPECT_EQ(end.end_stream().transaction(), ToBytes(Id128{1, 1}));
  EXPECT_EQ(end.end_stream().assignment(), 4u);
}

TEST(TranslateOutTest, TheShardingOfSources) {
  const hub::SourceSharding sharding{{1, 1}, 2, 4, 1 << 20, {{0, {3, 3}}, {2, {4, 4}}}};
  const pb::HubMessage message = ToProto({1, sharding}, kIdentity);
  const pb::SourceSharding& out = message.source_sharding();
  EXPECT_EQ(out.transaction(), ToBytes(Id128{1, 1}));
  EXPECT_EQ(out.plan(), 2u);
  EXPECT_EQ(out.world_size(), 4u);
  EXPECT_EQ(out.chunk_bytes(), 1u << 20);
  ASSERT_EQ(out.parts_size(), 2);
  EXPECT_EQ(out.parts(1).rank(), 2u);
  EXPECT_EQ(out.parts(1).layout(), ToBytes(Id128{4, 4}));
}

TEST(TranslateOutTest, ReasonsKeepCodeAndText) {
  const pb::HubMessage abort =
      ToProto({1, hub::AbortRead{{1, 1}, absl::AbortedError("rank 2 failed")}}, kIdentity);
  EXPECT_EQ(abort.abort_read().code(), 10u);
  EXPECT_EQ(abort.abort_read().reason(), "rank 2 failed");
  EXPECT_FALSE(abort.abort_read().outage());
  const absl::Status outage = AsOutage(absl::AbortedError("rank 2 was cut off"));
  EXPECT_TRUE(ToProto({1, hub::AbortRead{{1, 1}, outage}}, kIdentity).abort_read().outage());
  const pb::HubMessage dropped =
      ToProto({1, hub::Dropped{7, absl::AlreadyExistsError("other bytes")}}, kIdentity);
  EXPECT_EQ(dropped.dropped().generation(), 7u);
  EXPECT_EQ(dropped.dropped().code(), 6u);
  EXPECT_EQ(ToProto({1, hub::Probe{3}}, kIdentity).probe().generation(), 3u);
  EXPECT_FALSE(ToProto({1, hub::Probe{3}}, kIdentity).probe().verify());
  EXPECT_TRUE(ToProto({1, hub::Probe{3, true}}, kIdentity).probe().verify());
  EXPECT_EQ(ToProto({1, hub::Visible{{2, 2}}}, kIdentity).visible().publication(),
            ToBytes(Id128{2, 2}));
}

TEST(TranslateOutTest, Decision) {
  hub::FetchDecision decision;
  decision.transaction = {1, 2};
  decision.publication = {3, 4};
  decision.version = 7;
  decision.world_size = 2;
  decision.chunk_bytes = 4096;
  decision.already_held = true;
  pb::JoinFetchResponse response;
  ASSERT_TRUE(FillResponse({1, {}, decision}, response).ok());
  EXPECT_EQ(response.transaction(), ToBytes(Id128{1, 2}));
  EXPECT_EQ(response.publication(), ToBytes(Id128{3, 4}));
  EXPECT_EQ(response.version(), 7u);
  EXPECT_EQ(response.attachment(), "");
  EXPECT_TRUE(response.already_held());
}

// R6: that the group failed is what FinishRead was called to learn.
TEST(TranslateOutTest, AnOutcomeIsAnAnswerAlsoIfItIsAnError) {
  const hub::Reply failed{1, absl::UnavailableError("every source failed"),
                          hub::FinishReadReply{7}};
  ASSERT_TRUE(IsAnswer(failed));
  pb::FinishReadResponse response;
  ASSERT_TRUE(FillResponse(failed, response).ok());
  EXPECT_EQ(response.code(), 14u);
  EXPECT_EQ(response.reason(), "every source failed");
  EXPECT_FALSE(response.outage());
  const hub::Reply outage{1, AsOutage(failed.status), hub::FinishReadReply{7}};
  ASSERT_TRUE(FillResponse(outage, response).ok());
  EXPECT_TRUE(response.outage());
  const hub::Reply committed{1, {}, hub::FinishReadReply{7}};
  ASSERT_TRUE(FillResponse(committed, response).ok());
  EXPECT_EQ(response.code(), 0u);
  EXPECT_EQ(response.version(), 7u);
  EXPECT_FALSE(IsAnswer({1, absl::CancelledError("a newer operation"), {}}));
}

TEST(TranslateOutTest, AnotherCallsPayloadIsABug) {
  pb::PublishResponse response;
  EXPECT_EQ(FillResponse({1, {}, hub::WaitReply{1}}, response).code(), absl::StatusCode::kInternal);
}

TEST(TranslateOutTest, ViewsLeaveOutWhatIsNotThere) {
  hub::WorkerView worker;
  worker.stable = false;
  v1::WorkerInfo info;
  Fill(worker, info);
  EXPECT_TRUE(info.spot());
  EXPECT_FALSE(info.has_version());
  hub::TransferView transfer;
  transfer.source.key.group = "not assigned";
  transfer.way = "served over tcp/eth0";
  v1::TransferInfo transfer_info;
  Fill(transfer, transfer_info);
  EXPECT_EQ(transfer_info.source_group(), "");
  EXPECT_EQ(transfer_info.way(), "served over tcp/eth0");
}

// Each code is the same number on both sides.
TEST(GrpcStatusTest, EveryCodeBothWays) {
  for (uint32_t code = 0; code <= 16; ++code) {
    const absl::Status status = StatusFromWire(code, "why");
    EXPECT_EQ(StatusCodeToWire(status), code);
    const grpc::Status wire = ToGrpc(status);
    EXPECT_EQ(static_cast<uint32_t>(wire.error_code()), code);
    EXPECT_EQ(FromGrpc(wire), status);
  }
  EXPECT_EQ(StatusFromWire(17, "odd").code(), absl::StatusCode::kUnknown);
}

TEST(GrpcStatusTest, RemediesTravel) {
  const absl::Status status = absl::FailedPreconditionError("why");
  for (const Remedy remedy :
       {Remedy::kNone, Remedy::kOpenSession, Remedy::kPutDocuments, Remedy::kWaitItOut}) {
    EXPECT_EQ(RemedyOf(FromGrpc(ToGrpc(WithRemedy(status, remedy)))), remedy);
  }
  const grpc::Status newer(grpc::StatusCode::FAILED_PRECONDITION, "why", "77");
  EXPECT_EQ(RemedyOf(FromGrpc(newer)), Remedy::kNone);
}

}  // namespace
}  // namespace tensorhub::rpc
