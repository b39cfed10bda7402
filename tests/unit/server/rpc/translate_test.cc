// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Messages in: what is right arrives whole, and every wrong field is named (R9).
// Covers: R9.1

#include "server/rpc/translate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "common/limits.h"
#include "common/protocol_level.h"
#include "common/remedy.h"
#include "protocol/codec/field_checks.h"

namespace tensorhub::rpc {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr Id128 kPublication{1, 2}, kTransaction{3, 4}, kLayout{5, 6};

void SetWorker(pb::WorkerId& worker) {
  worker.set_model("actor");
  worker.set_group("rollout/3");
  worker.set_rank(1);
  worker.set_incarnation(77);
}

pb::OpenSession GoodOpen() {
  pb::OpenSession open;
  SetWorker(*open.mutable_worker());
  open.set_session_number(2);
  open.set_world_size(2);
  open.set_location("us/dc1/r1/h1/0");
  open.set_spot(true);
  open.set_endpoint("endpoint");
  open.mutable_group_epoch()->set_hub_epoch(3);
  open.mutable_group_epoch()->set_count(4);
  open.mutable_joined_epoch()->set_hub_epoch(1);
  open.mutable_joined_epoch()->set_count(6);
  open.set_repeats(0);
  pb::Holding& holding = *open.mutable_holding();
  holding.set_publication(ToBytes(kPublication));
  holding.set_version(7);
  holding.set_world_size(2);
  holding.set_chunk_bytes(1 << 20);
  holding.set_layout(ToBytes(kLayout));
  holding.set_generation(9);
  holding.set_valid_chunks(3);
  holding.mutable_group_epoch()->set_hub_epoch(2);
  holding.mutable_group_epoch()->set_count(5);
  pb::OpenFetch& fetch = *open.mutable_open_fetch();
  fetch.set_transaction(ToBytes(kTransaction));
  fetch.set_publication(ToBytes(kPublication));
  SetWorker(*fetch.mutable_source());
  fetch.set_source_generation(5);
  fetch.set_assignment(1);
  return open;
}

TEST(TranslateOpenTest, ArrivesWhole) {
  const auto opened = ToCore(GoodOpen(), 11);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->session, 11u);
  EXPECT_EQ(opened->worker.key, (WorkerKey{"actor", "rollout/3", 1}));
  EXPECT_EQ(opened->worker.incarnation, 77u);
  EXPECT_EQ(opened->number, 2u);
  EXPECT_EQ(opened->location.ToString(), "us/dc1/r1/h1/0");
  EXPECT_FALSE(opened->stable);
  EXPECT_EQ(opened->epoch, (GroupEpoch{3, 4}));
  EXPECT_EQ(opened->joined_epoch, (GroupEpoch{1, 6}));
  EXPECT_EQ(opened->repeats, 0u);
  pb::OpenSession older = GoodOpen();
  older.clear_repeats();
  EXPECT_EQ(ToCore(older, 11)->repeats, std::nullopt);
  ASSERT_TRUE(opened->holding.has_value());
  EXPECT_EQ(opened->holding->publication, kPublication);
  EXPECT_EQ(opened->holding->valid_chunks, 3u);
  EXPECT_EQ(opened->holding->epoch, (GroupEpoch{2, 5}));
  ASSERT_TRUE(opened->open_fetch.has_value());
  EXPECT_EQ(opened->open_fetch->transaction, kTransaction);
  EXPECT_EQ(opened->open_fetch->source->incarnation, 77u);
}

pb::OpenStream& AddStream(pb::OpenSession& open, uint32_t part, AssignmentNumber assignment) {
  pb::OpenStream& stream = *open.mutable_open_fetch()->add_streams();
  stream.set_part(part);
  SetWorker(*stream.mutable_source());
  stream.set_source_generation(5);
  stream.set_assignment(assignment);
  return stream;
}

TEST(TranslateOpenTest, SeveralStreamsArrive) {
  pb::OpenSession open = GoodOpen();
  EXPECT_FALSE(ToCore(open, 11)->knows_streams);
  open.set_features(pb::FEATURE_STREAMS | 64);  // and something of tomorrow
  open.mutable_open_fetch()->set_plan(2);
  AddStream(open, 0, 1);
  AddStream(open, 3, 7);
  const auto opened = ToCore(open, 11);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_TRUE(opened->knows_streams);
  EXPECT_EQ(opened->open_fetch->plan, 2u);
  ASSERT_EQ(opened->open_fetch->streams.size(), 2u);
  EXPECT_EQ(opened->open_fetch->streams[1].part, 3u);
  EXPECT_EQ(opened->open_fetch->streams[1].assignment, 7u);
  EXPECT_EQ(opened->open_fetch->streams[1].source.incarnation, 77u);
}

TEST(TranslateOpenTest, AKeyArrives) {
  pb::OpenSession open = GoodOpen();
  EXPECT_FALSE(ToCore(open, 11)->read_key);
  open.set_read_key(ToBytes(CapabilityKey::Guessable(5)));
  EXPECT_EQ(ToCore(open, 11)->read_key, CapabilityKey::Guessable(5));
}

TEST(TranslateOpenTest, AnotherShardingArrives) {
  pb::OpenSession open = GoodOpen();
  open.set_features(pb::FEATURE_RESHARDING);
  EXPECT_FALSE(ToCore(open, 11)->knows_resharding);  // without streams it is of no use
  open.set_features(pb::FEATURE_STREAMS | pb::FEATURE_RESHARDING);
  open.mutable_open_fetch()->set_sharding(ToBytes(Id128{5, 6}));
  open.mutable_holding()->set_sharding(ToBytes(Id128{5, 6}));
  open.mutable_holding()->set_full(true);
  open.mutable_holding()->set_published(false);
  const auto opened = ToCore(open, 11);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_TRUE(opened->knows_resharding);
  EXPECT_EQ(opened->open_fetch->sharding, (ShardingRef{{5, 6}, false}));
  EXPECT_EQ(opened->holding->sharding, (ShardingRef{{5, 6}, true}));
  open.mutable_holding()->set_published(true);
  EXPECT_THAT(std::string(ToCore(open, 11).status().message()), HasSubstr("holding.sharding"));
}

TEST(TranslateOpenTest, NamesTheBadField) {
  using Spoil = std::function<void(pb::OpenSession&)>;
  const std::pair<const char*, Spoil> kCases[] = {
      {"worker: ", [](auto& open) { open.clear_worker(); }},
      {"worker.model: ", [](auto& open) { open.mutable_worker()->set_model(""); }},
      {"worker.group: ", [](auto& open) { open.mutable_worker()->set_group("a b"); }},
      {"worker.rank: ", [](auto& open) { open.mutable_worker()->set_rank(2); }},
      {"worker.rank: ", [](auto& open) { open.mutable_worker()->set_rank(4000000000u); }},
      {"worker.incarnation: ", [](auto& open) { open.mutable_worker()->set_incarnation(0); }},
      {"session_number: ", [](auto& open) { open.set_session_number(0); }},
      {"world_size: ", [](auto& open) { open.set_world_size(kWorldSizeMax + 1); }},
      {"location: ", [](auto& open) { open.set_location("a/b/c/d/e/f"); }},
      {"endpoint: ", [](auto& open) { open.set_endpoint(std::string(100000, 'x')); }},
      {"known_store_id: ", [](auto& open) { open.set_known_store_id("short"); }},
      {"read_key: ", [](auto& open) { open.set_read_key(std::string(31, 'x')); }},
      {"holding.publication: ", [](auto& open) { open.mutable_holding()->clear_publication(); }},
      {"holding.layout: ", [](auto& open) { open.mutable_holding()->set_layout("x"); }},
      {"holding.attachment: ", [](auto& open) { open.mutable_holding()->set_attachment("x"); }},
      {"holding.world_size: ", [](auto& open) { open.mutable_holding()->set_world_size(0); }},
      {"holding.chunk_bytes: ", [](auto& open) { open.mutable_holding()->set_chunk_bytes(0); }},
      {"holding.generation: ", [](auto& open) { open.mutable_holding()->set_generation(0); }},
      {"holding.generation: ",
       [](auto& open) { open.mutable_holding()->set_generation(kGenerationMax + 1); }},
      {"holding.valid_chunks: ",
       [](auto& open) { open.mutable_holding()->set_valid_chunks(1u << 24); }},
      {"open_fetch.transaction: ",
       [](auto& open) { open.mutable_open_fetch()->set_transaction(std::string(16, '\0')); }},
      {"open_fetch.source.model: ",
       [](auto& open) { open.mutable_open_fetch()->mutable_source()->set_model("/"); }},
      {"open_fetch.assignment: ", [](auto& open) { open.mutable_open_fetch()->set_assignment(0); }},
      {"open_fetch.streams.source: ", [](auto& open) { AddStream(open, 0, 1).clear_source(); }},
      {"open_fetch.streams.assignment: ", [](auto& open) { AddStream(open, 0, 0); }},
      {"open_fetch.streams.part: ", [](auto& open) { AddStream(open, kReadStreamsMax, 1); }},
      {"open_fetch.streams.source_generation: ",
       [](auto& open) { AddStream(open, 0, 1).set_source_generation(0); }},
      {"open_fetch.streams.part: ",
       [](auto& open) {
         AddStream(open, 1, 1);
         AddStream(open, 1, 2);
       }},
      {"open_fetch.streams.assignment: ",
       [](auto& open) {
         AddStream(open, 0, 1);
         AddStream(open, 1, 1);
       }},
      {"open_fetch.streams: ",
       [](auto& open) {
         for (uint32_t i = 0; i <= kReadStreamsMax; ++i) AddStream(open, i, i + 1);
       }},
      {"open_fetch.assignment: ",
       [](auto& open) { open.mutable_open_fetch()->set_assignment((uint64_t{1} << 40) + 1); }},
  };
  for (const auto& [field, spoil] : kCases) {
    pb::OpenSession open = GoodOpen();
    spoil(open);
    const absl::Status status = ToCore(open, 1).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << field;
    EXPECT_THAT(std::string(status.message()), StartsWith(field));
  }
}

TEST(TranslateOpenTest, ANewerLevelOfTheProtocolIsRefused) {
  pb::OpenSession open;
  EXPECT_TRUE(CheckLevel(open).ok()) << "of before there were levels";
  open.set_level(kProtocolLevel);
  EXPECT_TRUE(CheckLevel(open).ok());
  open.set_level(kProtocolLevel + 1);
  open.set_agent_version("9.8.7");
  const absl::Status newer = CheckLevel(open);
  EXPECT_EQ(newer.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(newer.message()),
              testing::AllOf(testing::HasSubstr("version 9.8.7) speaks level 2"),
                             testing::HasSubstr("version " TENSORHUB_VERSION ") knows 1"),
                             testing::HasSubstr("upgrade the server")));
}

TEST(TranslateOpenTest, AWorkerThatKnowsALaterLifeIsRefused) {
  const ServerIdentity mine{.store_id = {1, 1}, .epoch = 5};
  pb::OpenSession open;
  EXPECT_TRUE(CheckIdentity(open, mine).ok());
  open.set_known_store_id(ToBytes(Id128{1, 1}));
  open.set_known_epoch(5);
  EXPECT_TRUE(CheckIdentity(open, mine).ok());
  open.set_known_epoch(6);
  const absl::Status stale = CheckIdentity(open, mine);
  EXPECT_EQ(stale.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(stale.message()), testing::HasSubstr("stale"));
  open.set_known_store_id(ToBytes(Id128{2, 2}));
  EXPECT_TRUE(CheckIdentity(open, mine).ok()) << "that is the hub's to judge (R8)";
  EXPECT_TRUE(CheckIdentity(open, {.store_id = {}, .epoch = 1}).ok());
}

TEST(TranslateMessageTest, EachKind) {
  pb::WorkerMessage message;
  message.mutable_heartbeat();
  EXPECT_EQ(std::get<hub::Heartbeat>(*ToCore(message, 4)).session, 4u);
  message.mutable_heartbeat()->set_abandoned_join_op(7);
  EXPECT_EQ(std::get<hub::Heartbeat>(*ToCore(message, 4)).abandoned_join_op, 7u);
  message.mutable_progress()->set_publication(ToBytes(kPublication));
  message.mutable_progress()->set_generation(8);
  message.mutable_progress()->set_valid_chunks(2);
  EXPECT_EQ(std::get<hub::Progress>(*ToCore(message, 4)).valid_chunks, 2u);
  message.mutable_source_released()->set_transaction(ToBytes(kTransaction));
  message.mutable_source_released()->set_assignment(3);
  EXPECT_EQ(std::get<hub::SourceReleased>(*ToCore(message, 4)).assignment, 3u);
  message.mutable_source_released()->set_assignment(kAllAssignments);
  EXPECT_EQ(std::get<hub::SourceReleased>(*ToCore(message, 4)).assignment, kAllAssignments);
  message.mutable_source_silent()->set_transaction(ToBytes(kTransaction));
  message.mutable_source_silent()->set_assignment(5);
  EXPECT_EQ(std::get<hub::SourceSilent>(*ToCore(message, 4)).assignment, 5u);
  message.mutable_probe_answer()->set_generation(6);
  message.mutable_probe_answer()->set_holds(true);
  EXPECT_TRUE(std::get<hub::ProbeAnswer>(*ToCore(message, 4)).holds);
  EXPECT_FALSE(std::get<hub::ProbeAnswer>(*ToCore(message, 4)).verified);
  message.mutable_probe_answer()->set_verified(true);
  EXPECT_TRUE(std::get<hub::ProbeAnswer>(*ToCore(message, 4)).verified);
}

TEST(TranslateMessageTest, AFailureCarriesItsReason) {
  pb::WorkerMessage message;
  pb::SourceFailed& failed = *message.mutable_source_failed();
  failed.set_transaction(ToBytes(kTransaction));
  failed.set_assignment(1);
  failed.set_code(14);
  failed.set_reason(std::string(5000, 'r'));
  const auto event = ToCore(message, 4);
  ASSERT_TRUE(event.ok()) << event.status();
  const absl::Status reason = std::get<hub::SourceFailed>(*event).reason;
  EXPECT_EQ(reason.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(reason.message().size(), kReasonBytesMax);
  EXPECT_FALSE(IsOutage(reason));
  failed.set_outage(true);
  EXPECT_TRUE(IsOutage(std::get<hub::SourceFailed>(*ToCore(message, 4)).reason));
  // It is sent on, in messages that take UTF-8 only.
  failed.set_reason(std::string(kReasonBytesMax - 1, 'r') + "\xc3\xa9");
  EXPECT_EQ(std::get<hub::SourceFailed>(*ToCore(message, 4)).reason.message(),
            std::string(kReasonBytesMax - 1, 'r'));
}

TEST(TranslateMessageTest, NamesTheBadField) {
  pb::WorkerMessage message;
  EXPECT_THAT(std::string(ToCore(message, 1).status().message()), StartsWith("body: "));
  message.mutable_open();
  EXPECT_THAT(std::string(ToCore(message, 1).status().message()), StartsWith("open: "));
  message.mutable_progress();
  EXPECT_THAT(std::string(ToCore(message, 1).status().message()),
              StartsWith("progress.publication: is 0 bytes, not 16"));
  message.mutable_source_failed()->set_code(99);
  message.mutable_source_failed()->set_transaction(ToBytes(kTransaction));
  message.mutable_source_failed()->set_assignment(1);
  EXPECT_THAT(std::string(ToCore(message, 1).status().message()),
              StartsWith("source_failed.code: "));
}

TEST(TranslateCallTest, PublishArrivesWhole) {
  pb::PublishRequest request;
  SetWorker(*request.mutable_worker());
  request.set_op(3);
  request.set_version(7);
  request.set_layout(ToBytes(kLayout));
  request.set_chunk_bytes(1 << 20);
  request.set_generation(9);
  request.set_wait_for_group(true);
  request.set_timeout_ms(~uint64_t{0});
  request.set_supersede(true);
  const auto event = ToCore(request, 21);
  ASSERT_TRUE(event.ok()) << event.status();
  const auto& op = std::get<hub::PublishOp>(*event);
  EXPECT_EQ(op.call, 21u);
  EXPECT_EQ(op.op, 3u);
  EXPECT_EQ(op.version, 7u);
  EXPECT_EQ(op.timeout_ms, protocol::kTimeMsMax);
  EXPECT_TRUE(op.wait_for_group && op.supersede);
  request.set_op(0);
  EXPECT_THAT(std::string(ToCore(request, 1).status().message()), StartsWith("op: "));
}

TEST(TranslateCallTest, Selectors) {
  pb::JoinFetchRequest request;
  SetWorker(*request.mutable_worker());
  request.set_op(1);
  request.set_layout(ToBytes(kLayout));
  EXPECT_THAT(std::string(ToCore(request, 1).status().message()),
              StartsWith("selector: is missing"));
  request.mutable_selector();
  EXPECT_THAT(std::string(ToCore(request, 1).status().message()),
              StartsWith("selector: names none"));
  request.mutable_selector()->set_latest(false);
  EXPECT_THAT(std::string(ToCore(request, 1).status().message()), StartsWith("selector.latest: "));
  request.mutable_selector()->set_newer_than(6);
  const auto event = ToCore(request, 1);
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(std::get<hub::JoinFetchOp>(*event).selector,
            (VersionSelector{VersionSelector::Kind::kNewerThan, 6}));
  request.mutable_selector()->set_any(true);
  EXPECT_THAT(std::string(ToCore(request, 1).status().message()), StartsWith("selector.any: "));
}

TEST(TranslateCallTest, FinishCarriesItsResult) {
  pb::FinishReadRequest request;
  SetWorker(*request.mutable_worker());
  request.set_op(1);
  request.set_transaction(ToBytes(kTransaction));
  EXPECT_TRUE(std::get<hub::FinishReadOp>(*ToCore(request, 1)).result.ok());
  request.set_code(10);
  request.set_reason("lost");
  EXPECT_EQ(std::get<hub::FinishReadOp>(*ToCore(request, 1)).result, absl::AbortedError("lost"));
  request.set_outage(true);
  EXPECT_TRUE(IsOutage(std::get<hub::FinishReadOp>(*ToCore(request, 1)).result));
  request.set_code(17);
  EXPECT_THAT(std::string(ToCore(request, 1).status().message()), StartsWith("code: "));
}

TEST(TranslateCallTest, DocumentsAreCheckedAndFingerprinted) {
  const Layout layout =
      Layout::Make({{.name = "w", .dtype = DType::kF32, .shape = {4}, .slice = {}}}).value();
  pb::PutLayoutRequest put;
  put.set_encoded(layout.Encode());
  EXPECT_EQ(std::get<hub::PutLayoutOp>(*ToCore(put, 1)).layout->fingerprint(),
            layout.fingerprint());
  put.set_encoded("rubbish");
  EXPECT_THAT(std::string(ToCore(put, 1).status().message()), StartsWith("encoded: "));
  pb::PutAttachmentRequest attachment;
  attachment.set_content("config");
  EXPECT_EQ(std::get<hub::PutAttachmentOp>(*ToCore(attachment, 1)).fingerprint,
            FingerprintOf("config"));
  attachment.set_content(std::string(kAttachmentBytesMax + 1, 'x'));
  EXPECT_THAT(std::string(ToCore(attachment, 1).status().message()), StartsWith("content: "));
}

TEST(TranslateCallTest, UnpublishMayBeginARead) {
  pb::UnpublishRequest request;
  SetWorker(*request.mutable_worker());
  request.set_op(7);
  request.set_generation(40);
  EXPECT_FALSE(std::get<hub::UnpublishOp>(*ToCore(request, 1)).then_read.has_value());
  pb::ReadStart& start = *request.mutable_then_read();
  EXPECT_THAT(std::string(ToCore(request, 1).status().message()),
              StartsWith("then_read.transaction: "));
  start.set_transaction(ToBytes(kTransaction));
  start.set_generation(42);
  start.set_medium("host memory");
  const auto op = std::get<hub::UnpublishOp>(*ToCore(request, 1));
  EXPECT_EQ(op.then_read->generation, 42u);
  EXPECT_EQ(op.then_read->medium, "host memory");
  EXPECT_EQ(op.then_read->transaction, kTransaction);
}

TEST(TranslateCallTest, EmptyRequestsAreRefused) {
  EXPECT_FALSE(ToCore(pb::PublishRequest(), 1).ok());
  EXPECT_FALSE(ToCore(pb::UnpublishRequest(), 1).ok());
  EXPECT_FALSE(ToCore(pb::JoinFetchRequest(), 1).ok());
  EXPECT_FALSE(ToCore(pb::BeginReadRequest(), 1).ok());
  EXPECT_FALSE(ToCore(pb::FinishReadRequest(), 1).ok());
  EXPECT_FALSE(ToCore(pb::WaitForVersionRequest(), 1).ok());
  EXPECT_FALSE(ToCore(pb::LeaveRequest(), 1).ok());
  EXPECT_FALSE(ToCore(pb::PutLayoutRequest(), 1).ok());
  EXPECT_FALSE(ToCore(pb::RetainRequest(), 1).ok());
  EXPECT_FALSE(ToCore(pb::PinRequest(), 1).ok());
  EXPECT_FALSE(ToCore(pb::UnpinRequest(), 1).ok());
  EXPECT_FALSE(ToCore(pb::SupersedeRequest(), 1).ok());
}

}  // namespace
}  // namespace tensorhub::rpc
