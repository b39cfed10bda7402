// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/hub_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

namespace tensorhub::rpc {
namespace {

hub::WaitOp WaitForever(hub::CallId call) {
  hub::WaitOp op;
  op.call = call;
  op.model = "m";
  op.any = true;
  op.timeout_ms = 1'000'000;
  return op;
}

// A call whose replies are counted.
struct Call {
  explicit Call(HubLoop& loop_in) : loop(loop_in), id(loop.NewCall()) {}
  void Start(hub::Event event) {
    loop.StartCall(id, std::move(event), [this](const hub::Reply& reply) {
      if (++replies == 1) status.set_value(reply.status);
    });
  }
  HubLoop& loop;
  const hub::CallId id;
  std::atomic<int> replies{0};
  std::promise<absl::Status> status;
};

// Waits until all that was posted before has been applied.
void Flush(HubLoop& loop) {
  std::promise<void> reached;
  ASSERT_TRUE(loop.Query([&](const hub::Hub&, TimeMs) { reached.set_value(); }));
  reached.get_future().wait();
}

TEST(HubLoopTest, CancelAnswersOnce) {
  HubLoop loop({});
  Call call(loop);
  call.Start(WaitForever(call.id));
  loop.CancelCall(call.id);
  EXPECT_EQ(call.status.get_future().get().code(), absl::StatusCode::kCancelled);
  loop.CancelCall(call.id);
  Flush(loop);
  EXPECT_EQ(call.replies, 1);
}

TEST(HubLoopTest, TimeIsNoticedWithoutEvents) {
  HubLoop loop({});
  Call call(loop);
  hub::WaitOp op = WaitForever(call.id);
  op.timeout_ms = 30;
  call.Start(op);
  EXPECT_EQ(call.status.get_future().get().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(HubLoopTest, StopAnswersWhatIsOpenAndRefusesTheRest) {
  auto loop = std::make_unique<HubLoop>(HubLoop::Options{});
  Call open(*loop), late(*loop);
  open.Start(WaitForever(open.id));
  loop->Stop();
  EXPECT_EQ(open.status.get_future().get().code(), absl::StatusCode::kUnavailable);
  late.Start(WaitForever(late.id));
  EXPECT_EQ(late.status.get_future().get().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(loop->Query([](const hub::Hub&, TimeMs) {}));
  loop.reset();
  EXPECT_EQ(open.replies + late.replies, 2);
}

TEST(HubLoopTest, AFullQueueRefusesCalls) {
  HubLoop loop({.hub = {}, .queue_max = 2});
  std::promise<void> held, release;
  loop.Query([&](const hub::Hub&, TimeMs) {
    held.set_value();
    release.get_future().wait();
  });
  held.get_future().wait();
  Call first(loop), second(loop), third(loop);
  first.Start(WaitForever(first.id));
  second.Start(WaitForever(second.id));
  third.Start(WaitForever(third.id));
  EXPECT_EQ(third.status.get_future().get().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(first.replies, 0);
  loop.CancelCall(first.id);  // never refused
  release.set_value();
  EXPECT_EQ(first.status.get_future().get().code(), absl::StatusCode::kCancelled);
  loop.CancelCall(second.id);
  EXPECT_EQ(second.status.get_future().get().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace tensorhub::rpc
