// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R9: workers that do not keep to the protocol.
// Covers: R9.4

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/core/hub.h"
#include "server/core/planning.h"

namespace tensorhub::hub {
namespace {

template <typename Op>
Op OperationOf(CallId call, OpId op) {
  Op out;
  out.call = call;
  out.worker = {{"m", "a", 0}, 7};
  out.op = op;
  return out;
}

SessionOpened Opening(SessionNumber number, uint32_t world_size) {
  SessionOpened open;
  open.session = number;
  open.worker = {{"m", "a", 0}, 7};
  open.number = number;
  open.world_size = world_size;
  return open;
}

// Of this kind, those that follow the event.
template <typename Kind>
std::vector<Kind> EffectsOf(Hub& hub, const Event& event) {
  Effects effects;
  hub.Apply(event, 1000, effects);
  hub.CheckInvariants();
  std::vector<Kind> found;
  for (const Effect& effect : effects) {
    if (const auto* one = std::get_if<Kind>(&effect)) found.push_back(*one);
  }
  return found;
}

std::vector<Reply> RepliesTo(Hub& hub, const Event& event) { return EffectsOf<Reply>(hub, event); }

// What all of them hold.
std::shared_ptr<const Layout> PutLayout(Hub& hub) {
  auto layout = std::make_shared<const Layout>(
      Layout::Make({{.name = "w", .dtype = DType::kU8, .shape = {8192}, .slice = {}}}).value());
  RepliesTo(hub, PutLayoutOp{100, layout});
  return layout;
}

// R9: the server's memory is bounded by what it keeps of layouts. What those of a group have in
// common counts once, so that large groups fit.
TEST(HostileWorkerTest, LayoutsOfOneGroupShareWhatTheyHaveInCommon) {
  const auto rank = [](const std::string& name, uint64_t begin) {
    std::vector<TensorSpec> tensors;
    for (int i = 0; i < 100; ++i) {
      tensors.push_back({.name = absl::StrCat(name, std::string(200, 'x'), i),
                         .dtype = DType::kU8,
                         .shape = {1},
                         .slice = SliceSpec{{1000}, {begin}}});
    }
    return std::make_shared<const Layout>(Layout::Make(tensors).value());
  };
  const auto first = rank("w", 0);
  const uint64_t own = first->BytesKept(), common = first->table()->BytesKept();
  ASSERT_GT(common, 10 * own);
  HubOptions options;
  options.limits.layouts = {100, 2 * common + 9 * own};
  Hub hub(options, 1000);
  CallId call = 0;
  const auto kept = [&](uint64_t number) {
    return hub.FindLayout(rank("w", number)->fingerprint());
  };
  for (uint64_t i = 0; i < 9; ++i) RepliesTo(hub, PutLayoutOp{++call, rank("w", i)});
  for (uint64_t i = 0; i < 9; ++i) ASSERT_NE(kept(i), nullptr) << i;
  EXPECT_EQ(kept(8)->table(), kept(0)->table());
  EXPECT_EQ(kept(8)->Encode(), rank("w", 8)->Encode());
  // Other groups' do not fit beside nine ranks: unused ones make room, tables with their last ones.
  for (const char* group : {"v", "u", "t"}) {
    for (uint64_t i = 0; i < 9; ++i) {
      const auto layout = rank(group, i);
      RepliesTo(hub, PutLayoutOp{++call, layout});
      EXPECT_NE(hub.FindLayout(layout->fingerprint()), nullptr) << group << i;
    }
  }
}

// The answer of the one would be no answer to the other.
TEST(HostileWorkerTest, ANumberIsNotUsedForTwoKindsOfCalls) {
  Hub hub({}, 1000);
  EXPECT_TRUE(RepliesTo(hub, Opening(1, 1)).empty());
  auto join = OperationOf<JoinFetchOp>(1, 3);
  join.layout = PutLayout(hub)->fingerprint();
  join.selector = {VersionSelector::Kind::kNewerThan, 5};
  join.timeout_ms = 5000;
  EXPECT_TRUE(RepliesTo(hub, join).empty()) << "it waits";
  std::vector<Reply> replies = RepliesTo(hub, OperationOf<UnpublishOp>(2, 3));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].call, 2u);
  EXPECT_EQ(replies[0].status.code(), absl::StatusCode::kInvalidArgument);
  // Also once it is answered.
  ASSERT_EQ(RepliesTo(hub, OperationOf<UnpublishOp>(3, 4)).size(), 2u);
  replies = RepliesTo(hub, OperationOf<PublishOp>(4, 4));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].status.code(), absl::StatusCode::kInvalidArgument);
}

// Its group's open transaction rests on it.
TEST(HostileWorkerTest, AWorldSizeDoesNotChange) {
  Hub hub({}, 1000);
  EXPECT_TRUE(EffectsOf<CloseSession>(hub, Opening(1, 1)).empty());
  const auto refused = EffectsOf<CloseSession>(hub, Opening(2, 2));
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].session, 2u);
  EXPECT_EQ(refused[0].status.code(), absl::StatusCode::kInvalidArgument);
  for (const CloseSession& closed : EffectsOf<CloseSession>(hub, Opening(3, 1))) {
    EXPECT_EQ(closed.session, 1u) << "its predecessor, at most";
  }
}

// R8: what a worker reports to a hub that comes back is not taken for more than it can be.
TEST(HostileWorkerTest, AReportMakesNoReadOfWhatIsWhole) {
  Hub hub({}, 1000);
  const auto layout = PutLayout(hub);
  RepliesTo(hub, Opening(1, 1));
  auto publish = OperationOf<PublishOp>(2, 1);
  publish.version = 1;
  publish.layout = layout->fingerprint();
  publish.chunk_bytes = 4096;
  publish.generation = 1;
  const std::vector<Reply> replies = RepliesTo(hub, publish);
  ASSERT_EQ(replies.size(), 1u);
  ASSERT_TRUE(replies[0].status.ok()) << replies[0].status;
  SessionOpened other = Opening(9, 1);
  other.worker.key.group = "b";
  other.resumed = true;  // from here on the hub recovers
  RepliesTo(hub, other);
  SessionOpened again = Opening(2, 1);
  again.resumed = true;
  again.holding = {.publication = std::get<PublishReply>(replies[0].payload).publication,
                   .version = 1,
                   .world_size = 1,
                   .chunk_bytes = 4096,
                   .layout = layout->fingerprint(),
                   .attachment = {},
                   .generation = 1};
  again.open_fetch.emplace();
  again.open_fetch->transaction = {5, 5};
  again.open_fetch->publication = again.holding->publication;
  again.open_fetch->version = 1;
  RepliesTo(hub, again);  // CheckInvariants
  EXPECT_TRUE(hub.Transfers(1000).empty());
}

// R6: nor does it make a fetch that was kept one of a larger group.
TEST(HostileWorkerTest, AReportDoesNotJoinTheFetchOfAnotherWorldSize) {
  HubOptions options;
  GroupRow row;
  row.transaction = {5, 5};
  row.publication = {6, 6};
  row.version = 1;
  row.world_size = 2;
  row.members[1].incarnation = 9;
  options.durable.groups[{"m", "a"}] = row;
  Hub hub(options, 1000);
  SessionOpened open = Opening(1, 3);
  open.resumed = true;
  OpenFetch& fetch = open.open_fetch.emplace();
  fetch.transaction = row.transaction;
  fetch.publication = row.publication;
  fetch.version = row.version;
  const auto told = EffectsOf<Directive>(hub, open);  // CheckInvariants
  const bool aborted = std::any_of(told.begin(), told.end(), [](const Directive& one) {
    return std::holds_alternative<AbortRead>(one.body);
  });
  EXPECT_TRUE(aborted);
}

// R6, R9: who reports a sharding under the id of another one keeps nobody from that one for good,
// and no rank of it is taken for one of theirs.
TEST(HostileWorkerTest, AShardingUnderTheIdOfAnotherIsNotRead) {
  Hub hub({}, 1000);
  const auto layout = PutLayout(hub);
  RepliesTo(hub, Opening(1, 1));
  auto publish = OperationOf<PublishOp>(2, 1);
  publish.version = 1;
  publish.layout = layout->fingerprint();
  publish.chunk_bytes = 4096;
  publish.generation = 1;
  const PublicationId publication =
      std::get<PublishReply>(RepliesTo(hub, publish).at(0).payload).publication;
  TensorSpec half{
      .name = "w", .dtype = DType::kU8, .shape = {4096}, .slice = SliceSpec{{8192}, {0}}};
  const auto cut = std::make_shared<const Layout>(Layout::Make({half}).value());
  RepliesTo(hub, PutLayoutOp{101, cut});

  SessionOpened liar = Opening(9, 5);
  liar.worker = {{"m", "liar", 4}, 8};
  liar.knows_streams = liar.knows_resharding = true;
  liar.holding = {.publication = publication,
                  .version = 1,
                  .world_size = 5,
                  .chunk_bytes = 4096,
                  .layout = layout->fingerprint(),
                  .attachment = {},
                  .generation = 1,
                  .complete = true};
  const Fingerprint theirs[] = {cut->fingerprint()};
  liar.holding->sharding = {IdOfSharding(theirs), /*full=*/true};
  RepliesTo(hub, liar);
  ASSERT_EQ(hub.References("m", 1).size(), 2u);

  SessionOpened reader = Opening(10, 1);
  reader.worker.key.group = "reader";
  reader.knows_streams = reader.knows_resharding = true;
  RepliesTo(hub, reader);
  auto join = OperationOf<JoinFetchOp>(3, 1);
  join.worker = reader.worker;
  join.selector = {VersionSelector::Kind::kLatest, 0};
  join.layout = cut->fingerprint();
  join.timeout_ms = 1000;
  const auto wanted = EffectsOf<PlanWanted>(hub, join);
  ASSERT_EQ(wanted.size(), 1u);
  const auto replies = RepliesTo(hub, MakePlan(wanted[0].plan, {layout}, {cut}));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(replies[0].status.message()),
              testing::HasSubstr("fetch a later version"));
}

}  // namespace
}  // namespace tensorhub::hub
