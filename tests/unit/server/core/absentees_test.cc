// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R8: who is waited for, until when, and what the rows of workers say of it.

#include "server/core/absentees.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/remedy.h"
#include "server/core/version_choice.h"
#include "tests/unit/server/core/part_world.h"

namespace tensorhub::hub {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class AbsenteesTest : public testing::Test {
 protected:
  AbsenteesTest() { world_.options.recovering = true; }

  void Restore(const std::map<WorkerKey, WorkerRow>& rows) {
    world_.Recover(true);
    absentees_.Restore(rows);
  }
  void EndGrace() {
    world_.Recover(false);
    absentees_.EndGrace();
  }
  // The worker opens its session, and repeats that call.
  void ComeBack(Worker& worker, std::optional<OpId> repeats) {
    SessionOpened event;
    event.worker = worker.id;
    event.resumed = true;
    event.repeats = repeats;
    absentees_.Hear(event);
    absentees_.ComesBack(worker.id.key);
  }

  const WorkerKey key_{PartWorld::kModel, "a", 0};
  const WorkerKey other_{PartWorld::kModel, "b", 0};
  PartWorld world_;
  Absentees absentees_{world_.options, world_, world_, world_};
  VersionChoice choice_{world_, absentees_};
};

TEST_F(AbsenteesTest, OneIsExpectedUntilItHasSaidAll) {
  Restore({{key_, {1, {}, false}}});
  EXPECT_TRUE(absentees_.IsExpected(key_));
  EXPECT_FALSE(absentees_.HaveAllSaid()) << "it has not come";
  Worker& worker = world_.Join("a");
  ComeBack(worker, std::nullopt);
  EXPECT_FALSE(absentees_.HaveAllSaid()) << "it has not said what it repeats";
  ComeBack(worker, 7);
  EXPECT_FALSE(absentees_.HaveAllSaid()) << "the call is to come";
  worker.op = {.id = 7, .state = OpRecord::State::kDone};
  EXPECT_TRUE(absentees_.HaveAllSaid());
  EXPECT_FALSE(absentees_.IsExpected(key_));
  absentees_.CheckInvariants();
}

TEST_F(AbsenteesTest, ANewProcessSaysThatTheEarlierOneIsNotToCome) {
  Restore({{key_, {9, {}, false}}});
  SessionOpened event;
  event.worker = {key_, 1};
  absentees_.Hear(event);
  EXPECT_FALSE(absentees_.IsExpected(key_));
  EXPECT_TRUE(absentees_.HaveAllSaid());
}

TEST_F(AbsenteesTest, OneThatHasEndedIsExpectedNoMore) {
  Restore({{key_, {1, {}, false}}});
  Worker& worker = world_.Join("a");
  worker.id.incarnation = 2;
  absentees_.ExpectNoMore(worker);
  EXPECT_TRUE(absentees_.IsExpected(key_)) << "that was another process";
  worker.id.incarnation = 1;
  absentees_.ExpectNoMore(worker);
  EXPECT_FALSE(absentees_.IsExpected(key_));
}

TEST_F(AbsenteesTest, WithoutRowsNobodyKnowsWhoIsToCome) {
  Restore({});
  EXPECT_FALSE(absentees_.HaveAllSaid());
  Worker& worker = world_.Join("a");
  EXPECT_FALSE(absentees_.RowOf(worker.id.key)) << "they would be too few for the next life";
  EndGrace();
  EXPECT_EQ(absentees_.RowOf(worker.id.key), (WorkerRow{1, {}, false}));
  EXPECT_THAT(world_.changes().workers, ElementsAre(key_));
}

TEST_F(AbsenteesTest, OneThatHasNotComeMayHaveTheLatest) {
  Publication& publication = world_.Publish(3);
  Restore({{key_, {1, {}, false}}, {other_, {1, {}, false}}});
  EndGrace();
  EXPECT_EQ(*absentees_.MayReturn(PartWorld::kModel, publication.id), key_);
  EXPECT_EQ(absentees_.RowOf(other_), (WorkerRow{1, publication.id, false}));
  EXPECT_TRUE(IsOutage(choice_.Latest(PartWorld::kModel).status()));
  absentees_.CheckInvariants();
}

TEST_F(AbsenteesTest, NotWhereSomebodyHoldsIt) {
  Publication& publication = world_.Publish(3);
  world_.Hold(world_.Join("b"), publication);
  Restore({{key_, {1, {}, false}}});
  EndGrace();
  EXPECT_EQ(absentees_.MayReturn(PartWorld::kModel, publication.id), nullptr);
  EXPECT_FALSE(absentees_.RowOf(key_));
  EXPECT_EQ(*choice_.Latest(PartWorld::kModel), &publication);
}

TEST_F(AbsenteesTest, AnOutageHasAnEnd) {
  const Publication& publication = world_.Publish(3);
  absentees_.NoteAway({key_, 1}, publication.id, /*withdrawn=*/false);
  const TimeMs end = world_.now() + world_.options.cut_off_ms;
  world_.Pass(1000);
  absentees_.NoteAway({other_, 1}, publication.id, /*withdrawn=*/false);
  EXPECT_TRUE(world_.HasTimer({end, Timer::Kind::kAway, 0, 0}));
  world_.Pass(end - world_.now());
  absentees_.EndAway();
  EXPECT_EQ(*absentees_.MayReturn(PartWorld::kModel, publication.id), other_);
  EXPECT_TRUE(world_.HasTimer({end + 1000, Timer::Kind::kAway, 0, 0}));
  world_.Pass(1000);
  absentees_.EndAway();
  EXPECT_EQ(absentees_.MayReturn(PartWorld::kModel, publication.id), nullptr);
  EXPECT_FALSE(IsOutage(choice_.Latest(PartWorld::kModel).status()));
  absentees_.CheckInvariants();
}

TEST_F(AbsenteesTest, OneThatIsBackIsNotAway) {
  const Publication& publication = world_.Publish(3);
  absentees_.NoteAway({key_, 1}, publication.id, /*withdrawn=*/false);
  world_.changes().workers.clear();
  absentees_.ComesBack(key_);
  EXPECT_EQ(absentees_.MayReturn(PartWorld::kModel, publication.id), nullptr);
  EXPECT_THAT(world_.changes().workers, ElementsAre(key_));
}

TEST_F(AbsenteesTest, AreBounded) {
  world_.options.limits.dead_workers = 1;
  absentees_.NoteAway({key_, 1}, {0, 1}, /*withdrawn=*/false);
  absentees_.NoteAway({other_, 1}, {0, 1}, /*withdrawn=*/false);
  EXPECT_TRUE(absentees_.RowOf(key_));
  EXPECT_FALSE(absentees_.RowOf(other_));
  EXPECT_THAT(world_.All<LogLine>(), IsEmpty());
  absentees_.NoteAway({other_, 1}, {0, 1}, /*withdrawn=*/true);
  EXPECT_THAT(world_.All<LogLine>(), SizeIs(1)) << "an operator's order is forgotten";
  absentees_.CheckInvariants();
}

TEST_F(AbsenteesTest, AnOrderIsForOneProcess) {
  absentees_.NoteAway({key_, 1}, {}, /*withdrawn=*/true);
  EXPECT_TRUE(absentees_.IsWithdrawn({key_, 1}));
  EXPECT_FALSE(absentees_.IsWithdrawn({key_, 2}));
  EXPECT_TRUE(absentees_.TakeOrderBack(key_));
  EXPECT_FALSE(absentees_.TakeOrderBack(key_));
  EXPECT_FALSE(absentees_.RowOf(key_)) << "it was waited for because of the order alone";
}

TEST_F(AbsenteesTest, AnOrderReachesOneThatIsExpected) {
  Restore({{key_, {1, {}, false}}});
  absentees_.SetWithdrawn({key_, 2}, true);
  EXPECT_FALSE(absentees_.IsWithdrawn({key_, 1}));
  absentees_.SetWithdrawn({key_, 1}, true);
  EXPECT_TRUE(absentees_.IsWithdrawn({key_, 1}));
  std::map<WorkerKey, WorkerRow> rows;
  absentees_.AddRows(rows);
  EXPECT_EQ(rows.at(key_), (WorkerRow{1, {}, true}));
}

}  // namespace
}  // namespace tensorhub::hub
