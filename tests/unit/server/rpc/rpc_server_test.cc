// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Real calls over loopback: sessions, operations, admin queries.

#include "common/grpc_status.h"
#include "common/remedy.h"
#include "tests/unit/server/rpc/server_fixture.h"

namespace tensorhub::rpc {
namespace {

using testing::HasSubstr;

TEST_F(ServerTest, WelcomeTellsTheIdentity) {
  TestWorker worker(channel_, "g");
  ASSERT_TRUE(worker.Open());
  EXPECT_EQ(worker.received().welcome().store_id(), ToBytes(Id128{1, 2}));
  EXPECT_EQ(worker.received().welcome().epoch(), 3u);
  EXPECT_GT(worker.received().welcome().lease_ms(), 0u);
}

TEST_F(ServerTest, PublishAndFetch) {
  auto trainer = Trainer(7);
  TestWorker reader(channel_, "rollout");
  ASSERT_TRUE(reader.Open());
  v1::JoinFetchResponse decision;
  const grpc::Status joined = reader.Join(&decision);
  ASSERT_TRUE(joined.ok()) << joined.error_message();
  EXPECT_EQ(decision.version(), 7u);
  ASSERT_TRUE(reader.Begin(decision.transaction()).ok());
  ASSERT_TRUE(reader.Read());
  ASSERT_TRUE(reader.received().has_assign());
  EXPECT_EQ(reader.received().assign().source().group(), "trainer");
  EXPECT_EQ(reader.received().assign().transaction(), decision.transaction());
  v1::FinishReadResponse finished;
  const grpc::Status done = reader.FinishRead(decision.transaction(), &finished);
  ASSERT_TRUE(done.ok()) << done.error_message();
  EXPECT_EQ(finished.version(), 7u);
}

TEST_F(ServerTest, UnpublishIsAnswered) {
  auto trainer = Trainer(7);
  v1::UnpublishResponse response;
  const grpc::Status status = trainer->Unpublish(&response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(response.drained());
}

TEST_F(ServerTest, BadCallsNameTheField) {
  TestWorker worker(channel_, "g");
  grpc::ClientContext context;
  v1::PublishResponse response;
  const grpc::Status status = worker.stub().Publish(&context, {}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "worker: is missing");
}

TEST_F(ServerTest, ASessionBeginsWithOpen) {
  auto stub = v1::Hub::NewStub(channel_);
  grpc::ClientContext context;
  SetDeadline(context);
  auto session = stub->Session(&context);
  v1::WorkerMessage message;
  message.mutable_heartbeat();
  session->Write(message);
  v1::HubMessage answer;
  EXPECT_FALSE(session->Read(&answer));
  const grpc::Status status = session->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("open: must be the first"));
}

TEST_F(ServerTest, ABadMessageEndsTheSession) {
  TestWorker worker(channel_, "g");
  ASSERT_TRUE(worker.Open());
  v1::WorkerMessage message;
  message.mutable_progress();
  worker.Send(message);
  const grpc::Status status = worker.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("progress.publication"));
  EXPECT_TRUE(Eventually([&] { return Status().connected() == 0; }));
}

TEST_F(ServerTest, AnotherHubsWorkerIsRefused) {
  TestWorker worker(channel_, "g");
  v1::OpenSession open;
  open.set_known_store_id(ToBytes(Id128{9, 9}));
  EXPECT_FALSE(worker.Open(open));
  const grpc::Status status = worker.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("another hub"));
  EXPECT_EQ(RemedyOf(FromGrpc(status)), Remedy::kAwaitAdoption);
}

TEST_F(ServerTest, AnAdoptedHubsWorkerIsWelcome) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::AdoptRequest adopt;
  adopt.set_store_id(ToBytes(Id128{9, 9}));
  v1::AdoptResponse response;
  ASSERT_TRUE(admin_->Adopt(&context, adopt, &response).ok());
  EXPECT_TRUE(Status().recovering());
  TestWorker worker(channel_, "g");
  v1::OpenSession open;
  open.set_known_store_id(ToBytes(Id128{9, 9}));
  open.set_known_epoch(1000);
  ASSERT_TRUE(worker.Open(open));
  EXPECT_EQ(worker.received().welcome().store_id(), ToBytes(Id128{1, 2}));
  EXPECT_EQ(worker.received().welcome().adopts(), ToBytes(Id128{9, 9}));
}

TEST_F(ServerTest, ANewerAgentIsRefused) {
  TestWorker worker(channel_, "g");
  v1::OpenSession open;
  open.set_level(1000);
  EXPECT_FALSE(worker.Open(open));
  const grpc::Status status = worker.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("speaks level 1000"));
}

TEST_F(ServerTest, HeartbeatsAreTaken) {
  TestWorker worker(channel_, "g");
  ASSERT_TRUE(worker.Open());
  v1::WorkerMessage message;
  message.mutable_heartbeat();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(worker.Send(message));
  EXPECT_EQ(Status().connected(), 1u);
}

TEST_F(ServerTest, AKilledWorkerIsNoticedAtOnce) {
  TestWorker worker(channel_, "g");
  ASSERT_TRUE(worker.Open());
  EXPECT_EQ(Status().connected(), 1u);
  worker.Kill();
  EXPECT_TRUE(Eventually([&] { return Status().connected() == 0; }));
}

TEST_F(ServerTest, ACallersDeadlineEndsItsCall) {
  auto trainer = Trainer(1);
  v1::WaitForVersionResponse response;
  const grpc::Status status = trainer->Wait(1, std::chrono::milliseconds(100), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(Status().connected(), 1u);  // the server is well
}

TEST_F(ServerTest, StatusSaysWhoItIs) {
  const v1::GetStatusResponse status = Status();
  EXPECT_EQ(status.store_id(), ToBytes(Id128{1, 2}));
  EXPECT_EQ(status.epoch(), 3u);
  EXPECT_EQ(status.listen(), server_->address().ToString());
  EXPECT_EQ(status.data_dir(), "/the/data");
}

TEST_F(ServerTest, QueriesAboutNothing) {
  grpc::ClientContext versions_context, layout_context, bad_context;
  v1::ListVersionsRequest versions;
  versions.set_model("nobody");
  v1::ListVersionsResponse versions_response;
  const grpc::Status unknown =
      admin_->ListVersions(&versions_context, versions, &versions_response);
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  v1::GetLayoutRequest layout;
  layout.set_fingerprint(ToBytes(Id128{1, 1}));
  v1::GetLayoutResponse layout_response;
  EXPECT_EQ(admin_->GetLayout(&layout_context, layout, &layout_response).error_code(),
            grpc::StatusCode::NOT_FOUND);
  layout.set_fingerprint("short");
  EXPECT_EQ(admin_->GetLayout(&bad_context, layout, &layout_response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServerTest, LayoutsComeBackAsTheyWere) {
  auto trainer = Trainer(1);
  grpc::ClientContext context;
  v1::GetLayoutRequest request;
  request.set_fingerprint(ToBytes(trainer->layout().fingerprint()));
  v1::GetLayoutResponse response;
  ASSERT_TRUE(admin_->GetLayout(&context, request, &response).ok());
  EXPECT_EQ(response.encoded(), trainer->layout().Encode());
}

TEST_F(ServerTest, LargeAttachmentsTravel) {
  TestWorker worker(channel_, "g");
  v1::PutAttachmentRequest request;
  for (const char fill : {'a', 'b', 'c', 'd', 'e', 'f'}) {
    request.set_content(std::string(20 << 20, fill));
    v1::PutAttachmentResponse response;
    grpc::ClientContext context;
    // Less than until the keepalive ping that sets a stalled sender going again.
    SetDeadline(context, std::chrono::seconds(8));
    const grpc::Status status = worker.stub().PutAttachment(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
}

}  // namespace
}  // namespace tensorhub::rpc
