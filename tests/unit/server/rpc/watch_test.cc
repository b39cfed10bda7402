// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Watching: a listing first, then changes; a new listing for those who do not keep up.

#include <future>

#include "tests/unit/server/rpc/server_fixture.h"

namespace tensorhub::rpc {
namespace {

class WatchTest : public ServerTest {
 protected:
  std::unique_ptr<grpc::ClientReader<v1::WatchEvent>> Watch(grpc::ClientContext& context) {
    SetDeadline(context);
    v1::WatchRequest request;
    request.set_model("actor");
    return admin_->Watch(&context, request);
  }
};

TEST_F(WatchTest, ListingThenChanges) {
  grpc::ClientContext context;
  auto watch = Watch(context);
  v1::WatchEvent event;
  ASSERT_TRUE(watch->Read(&event));
  EXPECT_TRUE(event.has_listing());
  EXPECT_FALSE(event.listing().has_model());
  uint64_t revision = event.revision();
  auto trainer = Trainer(7);
  bool visible = false;
  while (!visible && watch->Read(&event)) {
    ASSERT_TRUE(event.has_change());
    EXPECT_EQ(event.revision(), ++revision);
    visible = event.change().kind() == "version-visible" && event.change().version() == 7;
  }
  EXPECT_TRUE(visible);
  context.TryCancel();
}

TEST_F(WatchTest, ALateWatcherSeesThePresentState) {
  auto trainer = Trainer(7);
  grpc::ClientContext context;
  auto watch = Watch(context);
  v1::WatchEvent event;
  ASSERT_TRUE(watch->Read(&event));
  EXPECT_EQ(event.listing().model().latest(), 7u);
  ASSERT_EQ(event.listing().versions_size(), 1);
  EXPECT_EQ(event.listing().versions(0).state(), "visible");
  context.TryCancel();
}

TEST_F(WatchTest, ABadNameIsRefused) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::WatchRequest request;
  request.set_model("a b");
  auto watch = admin_->Watch(&context, request);
  v1::WatchEvent event;
  EXPECT_FALSE(watch->Read(&event));
  const grpc::Status status = watch->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), testing::StartsWith("model: "));
}

class IgnoringSink : public SessionSink {
  void Deliver(const hub::Directive&) override {}
  void ReadNext() override {}
  void Close(const absl::Status&) override {}
};

hub::SessionOpened WorkerJoins(HubLoop& loop, const std::string& group) {
  hub::SessionOpened opened;
  opened.session = loop.NewSession();
  opened.worker = {{"actor", group, 0}, opened.session};
  opened.number = 1;
  opened.world_size = 1;
  return opened;
}

// A thousand changes in one go, far faster than they can be written, with room for one: the reader
// must find either every revision, or a listing where some are missing.
TEST(WatchOverflowTest, ASlowWatcherGetsANewListing) {
  HubLoop loop({});
  Unfinished unfinished(std::chrono::seconds(60));
  const std::unique_ptr<Guard> guard = Guard::Make({}).value();
  AdminService service(loop, unfinished, *guard,
                       {.identity = {}, .listen = "", .data_dir = "", .watch_queue_max = 1});
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  const auto stub = v1::Admin::NewStub(server->InProcessChannel({}));
  grpc::ClientContext context;
  SetDeadline(context);
  v1::WatchRequest request;
  request.set_model("actor");
  const auto watch = stub->Watch(&context, request);
  v1::WatchEvent event;
  ASSERT_TRUE(watch->Read(&event));
  uint64_t revision = event.revision();

  std::promise<void> release;
  loop.Query([&](const hub::Hub&, TimeMs) { release.get_future().wait(); });
  for (int i = 0; i < 1000; ++i) {
    loop.OpenSession(WorkerJoins(loop, std::to_string(i)), std::make_shared<IgnoringSink>());
  }
  std::promise<uint64_t> last;
  loop.Query([&](const hub::Hub& hub, TimeMs) { last.set_value(hub.Revision("actor")); });
  release.set_value();
  const uint64_t last_revision = last.get_future().get();

  int listings = 0;
  while (revision < last_revision && watch->Read(&event)) {
    if (event.has_listing()) {
      ++listings;
      EXPECT_TRUE(event.listing().has_model());
    } else {
      EXPECT_EQ(event.revision(), revision + 1);
    }
    revision = event.revision();
  }
  EXPECT_EQ(revision, last_revision);
  EXPECT_GE(listings, 1);
  context.TryCancel();
  server->Shutdown(std::chrono::system_clock::now() + kPatience);
}

}  // namespace
}  // namespace tensorhub::rpc
