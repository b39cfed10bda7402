// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R7 without the rest of the hub: who waits, who goes, in which order, and who is asked for a copy.

#include "server/core/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/core/absentees.h"
#include "tests/unit/server/core/part_world.h"

namespace tensorhub::hub {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr TimeMs kDrainMs = 1000;

class RetentionTest : public testing::Test {
 protected:
  RetentionTest() { world_.options.keep_latest = 1; }
  void TearDown() override { retention_.CheckInvariants(); }

  Worker& AddHolder(const std::string& group) {
    Worker& worker = world_.Join(group);
    world_.Hold(worker, version_);
    return worker;
  }
  Worker& AddReader(const std::string& group) {
    Worker& worker = world_.Join(group);
    world_.Hold(worker, version_, ReferenceState::kFilling);
    return worker;
  }
  void Complete(Worker& reader) {
    reader.reference->state = ReferenceState::kComplete;
    ++version_.published.shards.at(0).complete;
    retention_.KeepersChanged();
  }

  // The worker wants its buffers back. True: it goes at once.
  bool Unpublish(Worker& worker, bool leaving = false) {
    world_.effects.clear();
    calls_.Begin(worker, {++last_call_, worker.id, worker.op.id + 1}, OpKind::kUnpublish);
    worker.op.leaving = leaving;
    Retention::ForgetSuccession(worker);
    if (retention_.MayGo(worker)) return true;
    return Carry(retention_.AwaitKeeper(worker, kDrainMs));
  }
  // What the hub does. True: there was something.
  bool Carry(const std::optional<Retention::Departure>& departure) {
    if (!departure) return false;
    gone_.push_back(departure->leaver->id.key.group);
    left_ms_ = departure->drain_ms;
    if (departure->drain_ms) {
      departure->leaver->reference->state = ReferenceState::kDraining;
      --version_.published.shards.at(0).complete;
    } else {
      calls_.Finish(*departure->leaver, absl::OkStatus());
    }
    return true;
  }
  void Settle() {
    if (!retention_.changed()) return;
    retention_.BeginRound();
    while (Carry(retention_.NextDeparture())) continue;
  }
  // The reply to the last call; UNKNOWN: there is none yet.
  absl::Status Answer() const {
    const std::vector<Reply> replies = world_.All<Reply>();
    return replies.empty() ? absl::UnknownError("none") : replies.back().status;
  }
  void Pin(const std::string& name, VersionNumber version, TimeMs ttl_ms = 0) {
    world_.effects.clear();
    retention_.On(PinOp{++last_call_, PartWorld::kModel, name, version, ttl_ms});
  }

  PartWorld world_;
  Publication& version_ = world_.Publish(7);
  Absentees absentees_{world_.options, world_, world_, world_};
  VersionChoice choice_{world_, absentees_};
  Calls calls_{world_};
  Retention retention_{world_.options, world_, world_, world_, world_, calls_, choice_};
  CallId last_call_ = 0;
  std::vector<std::string> gone_;  // groups, in their order
  std::optional<TimeMs> left_ms_;  // of the last of them
};

TEST_F(RetentionTest, TheLastHolderOfWhatIsWantedMayNotGo) {
  Worker& holder = AddHolder("a");
  EXPECT_THAT(retention_.KeptBy(version_), ElementsAre("latest"));
  EXPECT_FALSE(retention_.MayGo(holder));
  world_.options.keep_latest = 0;
  EXPECT_THAT(retention_.KeptBy(version_), IsEmpty());
  EXPECT_TRUE(retention_.MayGo(holder));
}

TEST_F(RetentionTest, ItMayWhereAnotherKeepsIt) {
  Worker& holder = AddHolder("a");
  Worker& other = AddHolder("b");
  EXPECT_TRUE(retention_.MayGo(holder));
  other.absent = true;
  EXPECT_FALSE(retention_.MayGo(holder));
}

TEST_F(RetentionTest, WithNobodyToWaitForItIsRefusedAtOnce) {
  EXPECT_FALSE(Unpublish(AddHolder("a")));
  EXPECT_TRUE(absl::IsResourceExhausted(Answer()));
}

TEST_F(RetentionTest, OneWhoseProgramEndsGoesAllTheSame) {
  EXPECT_TRUE(Unpublish(AddHolder("a"), /*leaving=*/true));
  EXPECT_EQ(left_ms_, kDrainMs);
}

TEST_F(RetentionTest, ItGoesOnceAReaderHasAll) {
  Worker& holder = AddHolder("a");
  Worker& reader = AddReader("b");
  EXPECT_FALSE(Unpublish(holder));
  EXPECT_TRUE(retention_.Watches(holder));
  world_.Pass(400);
  Complete(reader);
  Settle();
  EXPECT_THAT(gone_, ElementsAre("a"));
  EXPECT_EQ(left_ms_, kDrainMs - 400) << "the time is for both";
  EXPECT_FALSE(retention_.Watches(holder));
}

TEST_F(RetentionTest, WhoeverGoesKeepsNothingForTheNext) {
  Worker& one = AddHolder("a");
  Worker& other = AddHolder("b");
  one.stable = other.stable = false;
  Worker& reader = AddReader("c");
  EXPECT_FALSE(Unpublish(one));
  EXPECT_FALSE(Unpublish(other));
  world_.Release(reader);
  world_.Die(reader);
  retention_.KeepersChanged();
  Settle();
  EXPECT_THAT(gone_, ElementsAre("a"));
  EXPECT_TRUE(absl::IsResourceExhausted(Answer())) << "the other one has the last copy now";
}

TEST_F(RetentionTest, ItsTimeIsBounded) {
  Worker& holder = AddHolder("a");
  AddReader("b");
  EXPECT_FALSE(Unpublish(holder));
  world_.Pass(kDrainMs);
  EXPECT_FALSE(Carry(retention_.KeeperDeadline(holder)));
  EXPECT_TRUE(absl::IsResourceExhausted(Answer()));
  EXPECT_FALSE(retention_.Watches(holder));
}

TEST_F(RetentionTest, OneThatLostItMeanwhileHearsSo) {
  Worker& holder = AddHolder("a");
  AddReader("b");
  EXPECT_FALSE(Unpublish(holder));
  world_.Release(holder);
  retention_.KeepersChanged();
  Settle();
  EXPECT_THAT(gone_, ElementsAre("a"));
  EXPECT_FALSE(left_ms_);
}

TEST_F(RetentionTest, AGroupIsAskedForItsOwnCopy) {
  Worker& holder = AddHolder("a");
  holder.offers_copies = true;
  EXPECT_FALSE(Unpublish(holder));
  EXPECT_THAT(world_.SentTo<MakeCopy>(), ElementsAre(holder.session));
  EXPECT_THAT(retention_.CopiesAskedOf({PartWorld::kModel, "a"}), ElementsAre(7u));
  world_.effects.clear();
  retention_.AskAgain(holder);
  EXPECT_THAT(world_.SentTo<MakeCopy>(), ElementsAre(holder.session));
}

TEST_F(RetentionTest, ACopyThatFailsIsVoidForThoseThatJoined) {
  Worker& holder = AddHolder("a");
  holder.offers_copies = true;
  EXPECT_FALSE(Unpublish(holder));
  Worker& copy = world_.Join("a.copy");
  copy.copy_of = "a";
  const GroupKey group{PartWorld::kModel, "a.copy"};
  const VersionSelector exact{VersionSelector::Kind::kExact, 7};
  EXPECT_TRUE(retention_.IsAwaited(copy, exact));
  world_.GroupOf(copy.id.key).forming[0].selector = exact;
  const Retention::VoidCopy failed = retention_.NoCopyBy(holder.id.key, 7, "no room");
  EXPECT_THAT(failed.groups, ElementsAre(group));
  EXPECT_TRUE(absl::IsAborted(failed.why));
  Settle();
  EXPECT_THAT(std::string(Answer().message()), HasSubstr("no copy was made (rank 0: no room)"));
}

TEST_F(RetentionTest, OneThatTakesItsMemoryAlongAsksAnotherGroup) {
  Worker& holder = AddHolder("a");
  holder.offers_copies = true;
  Worker& other = world_.Join("b");
  other.offers_copies = true;
  EXPECT_FALSE(Unpublish(holder, /*leaving=*/true));
  EXPECT_THAT(world_.SentTo<MakeCopy>(), ElementsAre(other.session));
  EXPECT_THAT(retention_.NoCopyBy(other.id.key, 7, "no room").groups, IsEmpty());
  Settle();
  EXPECT_THAT(gone_, ElementsAre("a")) << "nobody else makes one";
}

TEST_F(RetentionTest, OneOutOfServiceStaysUntilItUnpublishes) {
  Worker& holder = AddHolder("a");
  Worker& other = world_.Join("b");
  other.offers_copies = true;
  holder.withdrawn = true;
  retention_.Watch(holder);
  retention_.KeepersChanged();
  Settle();
  EXPECT_THAT(world_.SentTo<MakeCopy>(), ElementsAre(other.session));
  EXPECT_EQ(holder.succession.copier, "b");
  world_.Hold(other, version_);
  retention_.KeepersChanged();
  Settle();
  EXPECT_THAT(gone_, IsEmpty());
  EXPECT_EQ(holder.succession.copier, "") << "it would ask again";
  EXPECT_TRUE(Unpublish(holder));
}

TEST_F(RetentionTest, AfterARecoveryItIsKnownWhoKeepsWhat) {
  world_.Recover(true);
  Worker& holder = AddHolder("a");
  EXPECT_FALSE(Unpublish(holder));
  EXPECT_TRUE(absl::IsUnknown(Answer())) << "others may still say that they keep it";
  world_.Recover(false);
  retention_.BeginRoundAfterRecovery();
  EXPECT_FALSE(Carry(retention_.NextDeparture()));
  EXPECT_TRUE(absl::IsResourceExhausted(Answer()));
  EXPECT_TRUE(retention_.changed());
}

TEST_F(RetentionTest, APinKeepsAnOlderVersionUntilItEnds) {
  AddHolder("a");
  Publication& newer = world_.Publish(8);
  world_.Hold(world_.Join("b"), newer);
  EXPECT_THAT(retention_.KeptBy(version_), IsEmpty());
  Pin("eval", 7, 500);
  EXPECT_TRUE(Answer().ok());
  EXPECT_THAT(retention_.KeptBy(version_), ElementsAre("pin eval"));
  EXPECT_THAT(world_.changes().retention, ElementsAre(PartWorld::kModel));
  EXPECT_TRUE(world_.HasTimer({world_.now() + 500, Timer::Kind::kPins, 0, 0}));
  const std::optional<RetentionRow> row = retention_.RowOf(PartWorld::kModel);
  world_.Pass(500);
  retention_.EndPins();
  EXPECT_THAT(retention_.KeptBy(version_), IsEmpty());
  EXPECT_FALSE(retention_.RowOf(PartWorld::kModel));
  retention_.Restore(PartWorld::kModel, *row);
  EXPECT_EQ(retention_.RowOf(PartWorld::kModel), row);
  retention_.SetPinTimer();
}

TEST_F(RetentionTest, ACopyThatNobodyWantsIsReleased) {
  Worker& copy = AddHolder("a.copy");
  copy.copy_of = "a";
  retention_.ReleaseIfUnwanted(copy);
  EXPECT_THAT(world_.SentTo<ReleaseCopy>(), IsEmpty());
  retention_.On(RetainOp{++last_call_, PartWorld::kModel, 0});
  EXPECT_THAT(world_.SentTo<ReleaseCopy>(), ElementsAre(copy.session));
  EXPECT_TRUE(retention_.TakeChanged());
}

TEST_F(RetentionTest, OrdersNameWhatIsThere) {
  AddHolder("a");
  Pin("eval", 9);
  EXPECT_TRUE(absl::IsNotFound(Answer()));
  retention_.On(UnpinOp{++last_call_, PartWorld::kModel, "eval"});
  EXPECT_TRUE(absl::IsNotFound(Answer()));
  retention_.On(RetainOp{++last_call_, "other", 1});
  EXPECT_TRUE(absl::IsNotFound(Answer()));
  world_.options.limits.pins = 1;
  Pin("one", 7);
  Pin("two", 7);
  EXPECT_TRUE(absl::IsResourceExhausted(Answer()));
}

}  // namespace
}  // namespace tensorhub::hub
