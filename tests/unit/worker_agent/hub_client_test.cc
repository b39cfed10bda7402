// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The relation with the hub through good and bad days. The client's clock is the test's: nothing
// is waited for but the network's answers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/grpc_status.h"
#include "common/remedy.h"
#include "protocol/codec/directives.h"
#include "tests/unit/worker_agent/scripted_hub.h"
#include "worker_agent/hub/channel.h"
#include "worker_agent/hub/client.h"
#include "worker_agent/hub/messages.h"

namespace tensorhub::agent {
namespace {

using grpc::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

constexpr TimeMs kConnectTimeoutMs = 5000;
constexpr TimeMs kStartMs = 1000000;
constexpr TimeMs kBeatMs = 1000;  // while a session is being opened

// The plan of a session that is up until the worker says something.
ScriptedHub::Plan UpUntilMessage(char store, uint64_t epoch,
                                 const grpc::Status& end = {StatusCode::UNAVAILABLE, "gone"}) {
  return {.welcome = WelcomeOf(store, epoch), .end = end, .await_message = true};
}
ScriptedHub::Plan RefusedWith(StatusCode code, const std::string& text) {
  return {.end = grpc::Status(code, text)};
}

class HubClientTest : public testing::Test {
 protected:
  ~HubClientTest() override { inbox_->Close(); }

  void Connect(const std::string& server) {
    HubClient::Options options;
    options.server = server;
    options.facts.self = {{"m", "trainer", 1}, 77};
    options.facts.world_size = 2;
    options.facts.location = "us/dc1";
    options.facts.endpoint = "where I am";
    options.connect_timeout_ms = kConnectTimeoutMs;
    HubClient::Owner owner;
    owner.on_event = [this](const Event& event) { events_.push_back(event); };
    owner.report = [this] { return report_; };
    owner.on_connected = [this](const absl::Status& status) { connected_.push_back(status); };
    client_ =
        std::make_unique<HubClient>(options, std::make_shared<HubChannel>(server), inbox_, owner);
    client_->Connect(now_);
  }
  void Connect() { Connect(hub_.address()); }

  // Carries out what gRPC's threads post until `condition` holds.
  bool Await(const std::function<bool()>& condition) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > give_up) return false;
      pollfd readable{inbox_->fd(), POLLIN, 0};
      poll(&readable, 1, 20);
      inbox_->RunOnLoop();
    }
    return true;
  }
  // The same until anything was posted.
  bool AwaitNews() {
    pollfd readable{inbox_->fd(), POLLIN, 0};
    return poll(&readable, 1, 20000) == 1 && inbox_->RunOnLoop();
  }
  template <class T>
  int Count() const {
    return static_cast<int>(std::count_if(events_.begin(), events_.end(), [](const Event& event) {
      return std::holds_alternative<T>(event);
    }));
  }
  template <class T>
  bool AwaitCount(int count) {
    return Await([this, count] { return Count<T>() >= count; });
  }
  // The hub ends a session that is up, as planned.
  void EndSession() {
    const int before = Count<SessionDown>();
    client_->Send(SessionSend{protocol::Heartbeat{}});
    ASSERT_TRUE(AwaitCount<SessionDown>(before + 1));
  }
  // A session of a hub that does not take documents, so many times.
  void ConnectWhereDocumentsFail(int times) {
    hub_.Add(UpUntilMessage('A', 5));
    hub_.FailPuts(times);
    Connect();
    ASSERT_TRUE(AwaitCount<SessionUp>(1));
    client_->calls().SetDocuments("a layout", "");
    client_->calls().PutDocuments();
  }
  // Lets the time until the next attempt pass.
  void PassBackOff() {
    ASSERT_TRUE(client_->NextDeadline().has_value());
    now_ = *client_->NextDeadline();
    client_->Tick(now_);
  }
  // The session that was being opened has ended, and the next one is due soon.
  bool AwaitBackOff() {
    return Await([this] { return client_->NextDeadline() < now_ + kBeatMs; });
  }
  absl::Status Refusal() {
    if (!AwaitCount<SessionRefused>(1)) return absl::OkStatus();
    const auto refused = std::find_if(events_.begin(), events_.end(), [](const Event& event) {
      return std::holds_alternative<SessionRefused>(event);
    });
    return std::get<SessionRefused>(*refused).status;
  }
  // What a worker that was connected, to epoch 5 of store A, hears when the hub answers its next
  // session like this.
  absl::Status RefusalBy(const ScriptedHub::Plan& answer);
  absl::Status RefusalAfter(StatusCode code) {
    return RefusalBy(RefusedWith(code, "trainer/1 is another's"));
  }
  // The first session's outcome, which has to come.
  absl::Status Outcome() {
    if (!Await([this] { return !connected_.empty(); })) return absl::UnknownError("no outcome");
    EXPECT_EQ(connected_.size(), 1u);
    return connected_[0];
  }

  ScriptedHub hub_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  StateReport report_;
  TimeMs now_ = kStartMs;
  std::vector<Event> events_;
  std::vector<absl::Status> connected_;
  std::unique_ptr<HubClient> client_;
};

// gRPC's own answer where no such service is.
TEST_F(HubClientTest, AnotherProgramsServerIsCalledThat) {
  hub_.Add(RefusedWith(StatusCode::UNIMPLEMENTED, ""));
  Connect();
  const absl::Status outcome = Outcome();
  EXPECT_EQ(outcome.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(outcome.message()),
              testing::AllOf(testing::HasSubstr(hub_.address()),
                             testing::HasSubstr("is no tensorhub-server")));
}

TEST_F(HubClientTest, AProxyThatStandsInForAServerIsWaitedOut) {
  hub_.Add(UpUntilMessage('A', 5, {StatusCode::UNIMPLEMENTED, ""}));
  hub_.Add(UpUntilMessage('A', 6));
  Connect();
  ASSERT_TRUE(Outcome().ok());
  EndSession();
  PassBackOff();
  EXPECT_TRUE(AwaitCount<SessionUp>(2));
}

// Its channel would connect again by itself, at a time of gRPC's.
TEST_F(HubClientTest, ASessionThatIsLostForLongIsTriedByAnotherConnection) {
  hub_.Add(UpUntilMessage('A', 5));
  hub_.Add(RefusedWith(StatusCode::UNAVAILABLE, "not yet"));
  hub_.Add(RefusedWith(StatusCode::UNAVAILABLE, "nor yet"));
  hub_.Add(UpUntilMessage('A', 6));
  Connect();
  ASSERT_TRUE(Outcome().ok());
  EXPECT_EQ(client_->NextDeadline(), std::nullopt);
  EndSession();
  PassBackOff();
  ASSERT_TRUE(Await([this] { return hub_.peers().size() == 2 && client_->NextDeadline() > now_; }));
  EXPECT_EQ(hub_.peers()[1], hub_.peers()[0]);
  now_ += 5000;
  client_->Tick(now_);
  ASSERT_TRUE(Await([this] { return hub_.peers().size() >= 3; }));
  EXPECT_NE(hub_.peers().back(), hub_.peers()[0]);
  now_ += 10'000;
  client_->Tick(now_);
  EXPECT_TRUE(AwaitCount<SessionUp>(2));
  EXPECT_EQ(client_->NextDeadline(), std::nullopt);
}

// R8: over a link of seconds its lease would be over before it hears of it.
TEST_F(HubClientTest, AWorkerThatAwaitsItsWelcomeSaysThatItLives) {
  hub_.Add({.end = {StatusCode::UNAVAILABLE, "it has spoken"}, .await_message = true});
  Connect();
  ASSERT_TRUE(Await([this] { return hub_.opened().size() == 1; }));
  PassBackOff();
  EXPECT_TRUE(AwaitNews());
  EXPECT_EQ(hub_.hung_up(), 0);
  client_->Tick(now_ + kConnectTimeoutMs);
  EXPECT_THAT(std::string(Outcome().message()), HasSubstr("it has spoken"));
}

TEST_F(HubClientTest, IntroducesItself) {
  hub_.Add(UpUntilMessage('A', 5));
  Connect();
  ASSERT_TRUE(Outcome().ok());
  const v1::OpenSession open = hub_.opened().at(0);
  EXPECT_EQ(open.worker().group(), "trainer");
  EXPECT_EQ(open.worker().rank(), 1u);
  EXPECT_EQ(open.worker().incarnation(), 77u);
  EXPECT_EQ(open.world_size(), 2u);
  EXPECT_EQ(open.location(), "us/dc1");
  EXPECT_EQ(open.endpoint(), "where I am");
  EXPECT_EQ(open.session_number(), 1u);
  EXPECT_TRUE(open.has_repeats());
  EXPECT_FALSE(open.resumed());
  EXPECT_EQ(open.known_store_id(), "");
  ASSERT_EQ(Count<SessionUp>(), 1);
  EXPECT_EQ(std::get<SessionUp>(events_[0]).welcome.lease_ms, 3600 * 1000);
  EXPECT_EQ(client_->NextDeadline(), std::nullopt);
}

TEST_F(HubClientTest, ReportsAnewToARestartedHub) {
  hub_.Add(UpUntilMessage('A', 5));
  hub_.Add(UpUntilMessage('A', 6));
  Connect();
  ASSERT_TRUE(Outcome().ok());
  report_.holding.emplace().version = 9;
  report_.holding->epoch = {5, 1};
  report_.epoch = {5, 2};
  report_.joined_epoch = {4, 3};
  report_.repeats = 6;
  EndSession();
  PassBackOff();
  ASSERT_TRUE(AwaitCount<SessionUp>(2));
  const v1::OpenSession open = hub_.opened().at(1);
  EXPECT_EQ(open.group_epoch().hub_epoch(), 5u);
  EXPECT_EQ(open.group_epoch().count(), 2u);
  EXPECT_EQ(open.joined_epoch().hub_epoch(), 4u);
  EXPECT_EQ(open.joined_epoch().count(), 3u);
  EXPECT_EQ(open.repeats(), 6u);
  EXPECT_EQ(open.holding().group_epoch().count(), 1u);
  EXPECT_EQ(open.session_number(), 2u);
  EXPECT_TRUE(open.resumed());
  EXPECT_EQ(open.known_store_id(), std::string(16, 'A'));
  EXPECT_EQ(open.known_epoch(), 5u);
  EXPECT_EQ(open.holding().version(), 9u);
  EXPECT_EQ(connected_.size(), 1u);
}

TEST(HubMessagesTest, GroupChanged) {
  v1::HubMessage message;
  message.mutable_group_changed()->mutable_group_epoch()->set_hub_epoch(2);
  message.mutable_group_changed()->mutable_group_epoch()->set_count(3);
  const auto event = protocol::Decode(message);
  ASSERT_TRUE(event.ok() && *event);
  EXPECT_EQ(std::get<protocol::GroupChanged>(**event).epoch, (GroupEpoch{2, 3}));
}

TEST_F(HubClientTest, SaysAnewWhereItIs) {
  hub_.Add(UpUntilMessage('A', 5));
  hub_.Add(UpUntilMessage('A', 5));
  Connect();
  ASSERT_TRUE(Outcome().ok());
  client_->MoveTo("where I am now");
  EXPECT_EQ(Count<SessionDown>(), 0) << "from within";
  ASSERT_TRUE(AwaitCount<SessionUp>(2));
  EXPECT_EQ(Count<SessionDown>(), 1);
  const v1::OpenSession open = hub_.opened().at(1);
  EXPECT_EQ(open.endpoint(), "where I am now");
  EXPECT_EQ(open.session_number(), 2u);
  EXPECT_TRUE(open.resumed());
}

// While there is no session, the next one says it.
TEST_F(HubClientTest, SaysWhereItIsOnceTheHubIsBack) {
  hub_.Add(UpUntilMessage('A', 5));
  hub_.Add(UpUntilMessage('A', 6));
  Connect();
  ASSERT_TRUE(Outcome().ok());
  EndSession();
  client_->MoveTo("where I am now");
  ASSERT_TRUE(AwaitNews());
  EXPECT_EQ(hub_.opened().size(), 1u);
  PassBackOff();
  ASSERT_TRUE(AwaitCount<SessionUp>(2));
  EXPECT_EQ(hub_.opened().at(1).endpoint(), "where I am now");
}

absl::Status HubClientTest::RefusalBy(const ScriptedHub::Plan& answer) {
  hub_.Add(UpUntilMessage('A', 5));
  hub_.Add(answer);
  Connect();
  if (!Outcome().ok()) return absl::OkStatus();
  EndSession();
  PassBackOff();
  const absl::Status refusal = Refusal();
  EXPECT_EQ(client_->NextDeadline(), std::nullopt);
  return refusal;
}

// R8: a hub that runs on old data has forgotten what this worker was told.
TEST_F(HubClientTest, RefusesAnOlderEpoch) {
  const absl::Status refusal = RefusalBy(UpUntilMessage('A', 4));
  EXPECT_EQ(refusal.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refusal.message()),
              AllOf(HasSubstr(hub_.address()), HasSubstr("epoch 4, was 5"), HasSubstr("restart")));
  EXPECT_TRUE(Await([this] { return hub_.hung_up() == 1; }));
  EXPECT_EQ(client_->NextDeadline(), std::nullopt);
  EXPECT_EQ(Count<SessionUp>(), 1);
}

// R8: another hub needs an operator's word.
TEST_F(HubClientTest, RefusesAnotherStore) {
  const absl::Status refusal = RefusalBy(UpUntilMessage('B', 9));
  EXPECT_EQ(refusal.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refusal.message()),
              AllOf(HasSubstr(hub_.address()), HasSubstr("store 4242"), HasSubstr("was 4141")));
  EXPECT_TRUE(Await([this] { return hub_.hung_up() == 1; }));
  EXPECT_EQ(client_->NextDeadline(), std::nullopt);
}

// R8: with what it holds, until an operator has it adopted.
TEST_F(HubClientTest, WaitsForItsAdoption) {
  const absl::Status other =
      WithRemedy(absl::FailedPreconditionError("another hub"), Remedy::kAwaitAdoption);
  hub_.Add(UpUntilMessage('A', 5));
  hub_.Add({.end = ToGrpc(other)});
  hub_.Add({.end = ToGrpc(other)});
  hub_.Add({.await_message = true});
  ScriptedHub::Plan adopting = UpUntilMessage('B', 1);
  adopting.welcome->set_adopts(std::string(16, 'A'));
  hub_.Add(adopting);
  hub_.Add(UpUntilMessage('B', 2));
  Connect();
  ASSERT_TRUE(Outcome().ok());
  EndSession();
  for (int refused = 2; refused <= 3; ++refused) {
    PassBackOff();
    ASSERT_TRUE(AwaitCount<SessionDown>(refused));
    EXPECT_EQ(std::get<SessionDown>(events_.back()).why.message(), "another hub");
  }
  // A server that says nothing meanwhile is tried by another connection.
  PassBackOff();
  ASSERT_TRUE(Await([this] { return hub_.opened().size() == 4; }));
  now_ += 5000;
  client_->Tick(now_);
  ASSERT_TRUE(AwaitCount<SessionUp>(2));
  EXPECT_TRUE(std::get<SessionUp>(events_.back()).moved);
  EXPECT_EQ(Count<SessionRefused>(), 0);
  // And belongs to that hub from now on.
  EndSession();
  PassBackOff();
  ASSERT_TRUE(AwaitCount<SessionUp>(3));
  EXPECT_FALSE(std::get<SessionUp>(events_.back()).moved);
  EXPECT_EQ(hub_.opened().back().known_store_id(), std::string(16, 'B'));
}

// A worker whose place was taken is done, whichever way the hub says it.
TEST_F(HubClientTest, AFencedWorkerStaysAway) {
  EXPECT_EQ(RefusalAfter(StatusCode::ABORTED), absl::AbortedError("trainer/1 is another's"));
}

TEST_F(HubClientTest, AReplacedWorkerStaysAway) {
  EXPECT_EQ(RefusalAfter(StatusCode::ALREADY_EXISTS),
            absl::AbortedError("this worker was replaced: trainer/1 is another's"));
}

TEST_F(HubClientTest, BacksOffWhileTheHubIsAway) {
  hub_.Add(UpUntilMessage('A', 5));
  hub_.Add(RefusedWith(StatusCode::UNAVAILABLE, "starting"));
  Connect();
  ASSERT_TRUE(Outcome().ok());
  EndSession();
  for (TimeMs step = 100; step < 4000; step *= 2) {
    const TimeMs longest = std::min<TimeMs>(step, 1000);
    const TimeMs pause = *client_->NextDeadline() - now_;
    EXPECT_GE(pause, longest / 2);
    EXPECT_LT(pause, longest);
    client_->Tick(*client_->NextDeadline() - 1);  // too early: nothing happens
    PassBackOff();
    ASSERT_EQ(client_->NextDeadline(), now_ + kBeatMs);
    ASSERT_TRUE(AwaitBackOff());
  }
  hub_.Add(UpUntilMessage('A', 5));
  PassBackOff();
  ASSERT_TRUE(AwaitBackOff());
  PassBackOff();
  ASSERT_TRUE(AwaitCount<SessionUp>(2));
  EXPECT_EQ(Count<SessionRefused>(), 0);
}

TEST_F(HubClientTest, NobodyListens) {
  Connect("127.0.0.1:1");
  ASSERT_TRUE(AwaitBackOff());
  EXPECT_TRUE(connected_.empty());
  client_->Tick(kStartMs + kConnectTimeoutMs);
  const absl::Status outcome = Outcome();
  EXPECT_EQ(outcome.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(outcome.message()),
              AllOf(HasSubstr("127.0.0.1:1 within 5 s"), HasSubstr("start tensorhub-server")));
  EXPECT_EQ(client_->NextDeadline(), std::nullopt);
}

TEST_F(HubClientTest, AHubThatSaysNothing) {
  hub_.Add({.await_message = true});
  Connect();
  ASSERT_TRUE(Await([this] { return hub_.opened().size() == 1; }));
  EXPECT_EQ(client_->NextDeadline(), kStartMs + kBeatMs);
  client_->Tick(kStartMs + kConnectTimeoutMs);
  const absl::Status outcome = Outcome();
  EXPECT_EQ(outcome.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(outcome.message()), HasSubstr("no answer"));
  EXPECT_TRUE(Await([this] { return hub_.hung_up() == 1; }));
}

TEST_F(HubClientTest, ATakenRankIsTriedAgainAndThenNamed) {
  hub_.Add(RefusedWith(StatusCode::ALREADY_EXISTS, "trainer/1 is held by another worker"));
  Connect();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(AwaitBackOff());
    PassBackOff();
  }
  ASSERT_TRUE(Await([this] { return hub_.opened().size() == 4; }));
  client_->Tick(kStartMs + kConnectTimeoutMs);
  const absl::Status outcome = Outcome();
  EXPECT_EQ(outcome.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(outcome.message()), HasSubstr("trainer/1"));
}

TEST_F(HubClientTest, ABadWorkerIsToldAtOnce) {
  hub_.Add(RefusedWith(StatusCode::INVALID_ARGUMENT, "rank 1 is not below world_size 1"));
  Connect();
  EXPECT_EQ(Outcome(), absl::InvalidArgumentError("rank 1 is not below world_size 1"));
  EXPECT_EQ(client_->NextDeadline(), std::nullopt);
  EXPECT_EQ(hub_.opened().size(), 1u);
}

// R9: nothing of a malformed directive reaches the core; a new session begins with a full report.
TEST_F(HubClientTest, AMalformedDirectiveEndsTheSession) {
  ScriptedHub::Plan plan = UpUntilMessage('A', 5);
  plan.then.emplace_back().mutable_assign()->set_transaction("too short");
  hub_.Add(plan);
  hub_.Add(UpUntilMessage('A', 5));
  Connect();
  ASSERT_TRUE(AwaitCount<SessionDown>(1));
  EXPECT_EQ(Count<protocol::Assign>(), 0);
  PassBackOff();
  ASSERT_TRUE(AwaitCount<SessionUp>(2));
}

// Whatever else a second welcome says is not looked at.
TEST_F(HubClientTest, ASessionIsWelcomedOnce) {
  ScriptedHub::Plan plan = UpUntilMessage('A', 5);
  plan.then.emplace_back().mutable_welcome()->set_store_id("too short");
  plan.then.emplace_back().mutable_group_changed();
  hub_.Add(plan);
  Connect();
  ASSERT_TRUE(AwaitCount<protocol::GroupChanged>(1));
  EXPECT_EQ(Count<SessionUp>(), 1);
  EndSession();
  PassBackOff();
  ASSERT_TRUE(AwaitCount<SessionUp>(2));
  EXPECT_EQ(hub_.hung_up(), 0) << "the worker gave the first session up";
}

// R8: from another thread, and only where there is a session to say it on. (The hub ends this one
// when it has heard something.)
TEST_F(HubClientTest, BeatsWhileTheProgressThreadStandsStill) {
  hub_.Add(UpUntilMessage('A', 5));
  Connect();
  client_->BeatWhileStalled(600);
  ASSERT_TRUE(AwaitCount<SessionUp>(1));
  EXPECT_EQ(Count<SessionDown>(), 0);
  std::thread([this] { client_->BeatWhileStalled(700); }).join();
  EXPECT_TRUE(AwaitCount<SessionDown>(1));
  client_->BeatWhileStalled(800);
}

TEST_F(HubClientTest, AfterLeavingTheEndIsTheEnd) {
  hub_.Add(UpUntilMessage('A', 5, grpc::Status::OK));
  Connect();
  ASSERT_TRUE(Outcome().ok());
  client_->ExpectEnd();
  client_->Send(SessionSend{protocol::Heartbeat{}});
  ASSERT_TRUE(AwaitNews());
  client_->Tick(now_ + 100000);
  EXPECT_EQ(client_->NextDeadline(), std::nullopt);
  EXPECT_EQ(Count<SessionDown>(), 0);
  EXPECT_EQ(hub_.opened().size(), 1u);
}

// Its epoch is a time, and above any that a store has counted.
TEST_F(HubClientTest, AServerThatKeepsNothingDoesNotStandInTheWayOfTheOneThatDoes) {
  ScriptedHub::Plan without = UpUntilMessage('?', 1'700'000'000'000);
  without.welcome->clear_store_id();
  hub_.Add(UpUntilMessage('A', 5));
  hub_.Add(without);
  hub_.Add(UpUntilMessage('A', 6));
  Connect();
  for (int session = 1; session <= 3; ++session) {
    ASSERT_TRUE(AwaitCount<SessionUp>(session)) << session;
    if (session == 3) break;
    EndSession();
    PassBackOff();
  }
  EXPECT_EQ(hub_.opened().back().known_epoch(), 5u);
  EXPECT_EQ(Count<SessionRefused>(), 0);
}

// Whoever only holds a version makes no call before which they would be put.
TEST_F(HubClientTest, DocumentsThatTheHubDidNotTakeArePutAgain) {
  ASSERT_NO_FATAL_FAILURE(ConnectWhereDocumentsFail(2));
  for (int failed = 1; failed <= 2; ++failed) {
    ASSERT_TRUE(Await([&] { return client_->calls().documents_missing(); }));
    EXPECT_EQ(hub_.puts(), failed);
    client_->Tick(now_);
    ASSERT_TRUE(client_->NextDeadline().has_value());
    EXPECT_GT(*client_->NextDeadline(), now_);
    now_ = *client_->NextDeadline();
    client_->Tick(now_);
  }
  ASSERT_TRUE(Await([&] { return hub_.puts() == 3; }));
  client_->Tick(now_);  // the third is under way, or has been answered
  EXPECT_FALSE(client_->NextDeadline().has_value());
}

// R3, R7: an owner waits for its buffers only so long.
TEST_F(HubClientTest, CallsThatNameNoDocumentsDoNotWaitForThem) {
  ASSERT_NO_FATAL_FAILURE(ConnectWhereDocumentsFail(1));
  ASSERT_TRUE(Await([&] { return client_->calls().documents_missing(); }));
  client_->calls().Start({7, protocol::Unpublish{}});
  ASSERT_TRUE(AwaitCount<CallReply>(1));
  EXPECT_EQ(hub_.puts(), 1);
  client_->calls().Start({8, protocol::JoinFetch{}});
  ASSERT_TRUE(AwaitCount<CallReply>(2));
  EXPECT_EQ(hub_.puts(), 2);
}

// --- several servers -------------------------------------------------------------------------

ScriptedHub::Plan StandsBy(const std::string& leader) {
  return {.end = grpc::Status(StatusCode::UNAVAILABLE, "stands by",
                              DetailsOf(WithLeader(absl::UnavailableError(""), leader)))};
}

TEST_F(HubClientTest, FollowsWhoeverLeads) {
  ScriptedHub leader;
  hub_.Add(StandsBy(leader.address()));
  leader.Add(UpUntilMessage('A', 5));
  Connect();
  ASSERT_TRUE(
      Await([this] { return hub_.opened().size() == 1 && client_->NextDeadline() <= now_ + 100; }));
  PassBackOff();
  ASSERT_TRUE(Outcome().ok());
  EXPECT_EQ(leader.opened().size(), 1u);
}

// R8
TEST_F(HubClientTest, AmongSeveralALowerEpochIsPassedOver) {
  ScriptedHub older;
  hub_.Add(UpUntilMessage('A', 5));
  hub_.Add(UpUntilMessage('A', 6));
  older.Add(UpUntilMessage('A', 4));
  Connect(hub_.address() + "," + older.address());
  ASSERT_TRUE(Outcome().ok());
  EndSession();
  PassBackOff();
  ASSERT_TRUE(Await([&] { return older.opened().size() == 1 && older.hung_up() == 1; }));
  ASSERT_TRUE(Await([this] { return client_->NextDeadline() <= now_ + 400; }));
  PassBackOff();
  ASSERT_TRUE(AwaitCount<SessionUp>(2));
  EXPECT_EQ(Count<SessionRefused>(), 0);
  EXPECT_EQ(hub_.opened().back().known_epoch(), 5u);
}

TEST_F(HubClientTest, AServerThatSaysNothingIsLeftForTheNext) {
  ScriptedHub silent;
  silent.Add({.end = {StatusCode::UNAVAILABLE, "late"}, .await_message = true});
  hub_.Add(UpUntilMessage('A', 5));
  Connect(silent.address() + "," + hub_.address());
  ASSERT_TRUE(Await([&] { return silent.opened().size() == 1; }));
  now_ += 1000;
  client_->Tick(now_);
  ASSERT_TRUE(Await([&] { return silent.hung_up() == 1; }));
  ASSERT_TRUE(Await([this] { return client_->NextDeadline() <= now_ + 400; }));
  PassBackOff();
  EXPECT_TRUE(Outcome().ok());
}

}  // namespace
}  // namespace tensorhub::agent
