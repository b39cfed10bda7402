// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Rights, by real calls with tokens over the loopback.

#include "server/rpc/guard.h"

#include <openssl/sha.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/tls/client_security.h"
#include "server/rpc/file_look.h"
#include "tests/unit/server/rpc/server_fixture.h"

namespace tensorhub::rpc {
namespace {

using testing::HasSubstr;

std::string Written(const std::string& name, const std::string& text) {
  const std::string path = absl::StrCat(testing::TempDir(), "/guard-", getpid(), "-", name);
  std::ofstream(path + ".new") << text;
  EXPECT_EQ(std::rename((path + ".new").c_str(), path.c_str()), 0);
  return path;
}

std::string LineOf(const std::string& name, const std::string& rights) {
  unsigned char hash[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(name.data()), name.size(), hash);
  const std::string bytes(reinterpret_cast<const char*>(hash), sizeof(hash));
  return absl::StrCat("token:", name, " ", rights, " sha256=", absl::BytesToHexString(bytes), "\n");
}

std::string Rules() {
  return LineOf("trainer", "publish actor") + LineOf("reader", "read actor") +
         LineOf("ops", "admin *") + LineOf("elsewhere", "read other/*");
}

class GuardTest : public ServerTest {
 protected:
  void SetUp() override { Serve({}); }
  void Serve(const CallerLimits& limits) {
    RpcServer::Options options = DefaultOptions();
    options.guard.access = Written("access", Rules());
    options.guard.limits = limits;
    auto server = RpcServer::Start(options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = As("trainer");
    admin_ = v1::Admin::NewStub(As("ops"));
  }

  // The token is its holder's name.
  std::shared_ptr<grpc::Channel> As(const std::string& name) {
    const tls::ClientCredentials credentials({.tls = {}, .token_file = Written(name, name)});
    return credentials.MakeChannel(server_->address().ToString(), grpc::ChannelArguments());
  }
  std::shared_ptr<grpc::Channel> AsNobody() {
    return grpc::CreateChannel(server_->address().ToString(), grpc::InsecureChannelCredentials());
  }
  static grpc::Status PinAs(const std::shared_ptr<grpc::Channel>& channel) {
    v1::PinRequest request;
    request.set_model("actor");
    request.set_name("keep");
    request.set_version(7);
    v1::PinResponse response;
    grpc::ClientContext context;
    SetDeadline(context);
    return v1::Admin::NewStub(channel)->Pin(&context, request, &response);
  }
  static size_t ModelsSeenBy(const std::shared_ptr<grpc::Channel>& channel) {
    v1::ListModelsResponse response;
    grpc::ClientContext context;
    SetDeadline(context);
    const grpc::Status status = v1::Admin::NewStub(channel)->ListModels(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return static_cast<size_t>(response.models_size());
  }
};

TEST_F(GuardTest, EachMayDoWhatItsLineSays) {
  auto trainer = Trainer(7);
  TestWorker reader(As("reader"), "rollout");
  ASSERT_TRUE(reader.Open());
  ASSERT_TRUE(reader.PutLayout().ok());
  v1::JoinFetchResponse decision;
  EXPECT_TRUE(reader.Join(&decision).ok());
  v1::PublishResponse published;
  const grpc::Status denied = reader.Publish(8, &published);
  EXPECT_EQ(denied.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(denied.error_message(), HasSubstr("token:reader may not publish model \"actor\""));
  EXPECT_EQ(PinAs(As("reader")).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(PinAs(As("ops")).ok());
}

TEST_F(GuardTest, StrangersAreAskedWhoTheyAre) {
  EXPECT_EQ(PinAs(AsNobody()).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  const grpc::Status wrong = PinAs(As("somebody"));
  EXPECT_EQ(wrong.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(wrong.error_message(), HasSubstr("the token is not known"));
  TestWorker worker(AsNobody(), "g");
  EXPECT_FALSE(worker.Open());
  EXPECT_EQ(worker.Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Status().refused().at("UNAUTHENTICATED"), 3u);
}

// All of them come from one address: the bounds that are met are the callers'.
class BoundsOfCallersTest : public GuardTest {
 protected:
  void SetUp() override { Serve({.sessions = 3, .document_bytes_per_min = 1 << 16}); }
};

TEST_F(BoundsOfCallersTest, SessionsAndDocuments) {
  auto trainer = Trainer(7);
  std::vector<std::unique_ptr<TestWorker>> readers;
  for (int i = 0; i < 2; ++i) {
    readers.push_back(std::make_unique<TestWorker>(As("reader"), absl::StrCat("g", i)));
    ASSERT_TRUE(readers.back()->Open());
  }
  TestWorker late(As("reader"), "late");
  EXPECT_FALSE(late.Open());
  const grpc::Status refused = late.Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("127.0.0.1 has 3 sessions"));
  EXPECT_THAT(refused.error_message(), HasSubstr("--sessions-per-caller"));
  EXPECT_EQ(server_->about().bounds_met.at("sessions-per-caller"), 1u);
  EXPECT_EQ(Status().refused().at("RESOURCE_EXHAUSTED"), 1u);

  v1::PutAttachmentRequest attachment;
  attachment.set_content(std::string(1 << 17, 'x'));
  v1::PutAttachmentResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  const grpc::Status large =
      v1::Hub::NewStub(As("reader"))->PutAttachment(&context, attachment, &response);
  EXPECT_EQ(large.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << large.error_message();
  EXPECT_THAT(large.error_message(), HasSubstr("--document-bytes-per-caller"));

  readers.pop_back();  // its session ends
  for (int tries = 0;; ++tries) {
    ASSERT_LT(tries, 1000);
    TestWorker next(As("reader"), "next");
    if (next.Open()) break;
    static_cast<void>(next.Finish());
  }
}

TEST_F(GuardTest, ListsLeaveOutWhatOneMayNotRead) {
  auto trainer = Trainer(7);
  EXPECT_EQ(ModelsSeenBy(As("reader")), 1u);
  EXPECT_EQ(ModelsSeenBy(As("elsewhere")), 0u);
  TestWorker worker(As("elsewhere"), "g");
  EXPECT_FALSE(worker.Open());
  EXPECT_EQ(worker.Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

// The same worker, as anybody knows it from a list, in another's name.
TEST_F(GuardTest, AWorkerIsItsSessionsCallers) {
  auto trainer = Trainer(7);
  TestWorker forged(As("reader"), "trainer");
  v1::UnpublishResponse response;
  const grpc::Status denied = forged.Unpublish(&response);
  EXPECT_EQ(denied.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(denied.error_message(), HasSubstr("whose session is another's"));
  EXPECT_FALSE(forged.Open());
  EXPECT_TRUE(trainer->Unpublish(&response).ok());
}

// R2: what a worker says that it holds is believed of those who may publish it.
TEST_F(GuardTest, WhoMayReadPublishesNothingByAReport) {
  v1::OpenSession forged;
  v1::Holding& holding = *forged.mutable_holding();
  holding.set_publication(ToBytes(Id128{7, 7}));
  holding.set_version(1000);
  holding.set_world_size(1);
  holding.set_chunk_bytes(1 << 20);
  holding.set_generation(100);
  holding.set_complete(true);
  holding.set_visible(true);
  {
    TestWorker reader(As("reader"), "rollout");
    ASSERT_TRUE(reader.PutLayout().ok());
    holding.set_layout(ToBytes(reader.layout().fingerprint()));
    ASSERT_TRUE(reader.Open(forged));
    EXPECT_EQ(ModelsSeenBy(As("ops")), 1u);
    v1::JoinFetchResponse decision;
    const grpc::Status none = reader.Join(&decision);
    EXPECT_EQ(none.error_code(), grpc::StatusCode::NOT_FOUND) << none.error_message();
  }
  // The same report makes it visible if it is a trainer's: a server without a store learns so.
  TestWorker trainer(As("trainer"), "trainer");
  ASSERT_TRUE(trainer.Open(forged));
  TestWorker another(As("reader"), "another");
  ASSERT_TRUE(another.Open());
  v1::JoinFetchResponse decision;
  const grpc::Status found = another.Join(&decision);
  EXPECT_TRUE(found.ok()) << found.error_message();
  EXPECT_EQ(decision.version(), 1000u);
}

// A trainer whose session has broken will be back; who may publish is as good.
TEST_F(GuardTest, APlaceIsKeptForAWhileAfterItsSession) {
  Trainer(7)->Kill();
  ASSERT_TRUE(Eventually([this] { return Status().connected() == 0; }));
  TestWorker reader(As("reader"), "trainer");
  // The hub hears of the end of a session a moment before its stream has gone.
  grpc::Status denied;
  const bool kept = Eventually([&] {
    v1::UnpublishResponse response;
    denied = reader.Unpublish(&response);
    if (denied.error_code() != grpc::StatusCode::PERMISSION_DENIED) return true;
    return denied.error_message().find("rank 0 of trainer is not one of") != std::string::npos;
  });
  EXPECT_TRUE(kept) << denied.error_message();
  EXPECT_EQ(denied.error_code(), grpc::StatusCode::PERMISSION_DENIED) << denied.error_message();
  EXPECT_FALSE(reader.Open());
  TestWorker ops(As("ops"), "trainer");
  v1::OpenSession again;
  again.set_session_number(2);
  EXPECT_TRUE(ops.Open(again));
}

TEST_F(GuardTest, RightsThatAreTakenAwayEndWhatIsOpen) {
  auto trainer = Trainer(7);
  TestWorker reader(As("reader"), "rollout");
  ASSERT_TRUE(reader.Open());
  Written("access", "nonsense\n");
  server_->Reload();
  EXPECT_EQ(Status().reloads_failed(), 1u);
  EXPECT_TRUE(reader.PutLayout().ok()) << "a bad file has changed something";
  Written("access", LineOf("trainer", "publish actor") + LineOf("ops", "admin *"));
  server_->Reload();
  EXPECT_EQ(reader.Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  v1::UnpublishResponse response;
  EXPECT_TRUE(trainer->Unpublish(&response).ok());
}

TEST(FileLookTest, WaitsUntilFilesHaveSettled) {
  const std::string path = Written("look", "one");
  FileLook look({path});
  EXPECT_TRUE(look.Due(/*ordered=*/true));
  EXPECT_FALSE(look.Due(/*ordered=*/false));
  Written("look", "another");
  EXPECT_FALSE(look.Due(/*ordered=*/false));
  EXPECT_TRUE(look.Due(/*ordered=*/false));
  EXPECT_FALSE(look.Due(/*ordered=*/false));
  EXPECT_TRUE(look.Due(/*ordered=*/true));
}

TEST(FileLookTest, BadFilesAreLookedAtUntilTheyAreGood) {
  FileLook look({Written("look", "one")});
  EXPECT_TRUE(look.Due(/*ordered=*/true));
  EXPECT_TRUE(look.Note(absl::InvalidArgumentError("no")));
  EXPECT_TRUE(look.Due(/*ordered=*/false));
  EXPECT_FALSE(look.Note(absl::InvalidArgumentError("no"))) << "it is said twice";
  EXPECT_TRUE(look.Note(absl::InvalidArgumentError("and no")));
  EXPECT_TRUE(look.Due(/*ordered=*/false));
  EXPECT_TRUE(look.Note(absl::OkStatus()));
  EXPECT_FALSE(look.Due(/*ordered=*/false));
}

TEST(IsLoopbackTest, ANameIsNotAnAddress) {
  EXPECT_TRUE(tls::IsLoopback("127.0.0.1:7070"));
  EXPECT_TRUE(tls::IsLoopback("127.9.9.9:7070"));
  EXPECT_TRUE(tls::IsLoopback("[::1]:7070"));
  EXPECT_TRUE(tls::IsLoopback("localhost:7070"));
  EXPECT_FALSE(tls::IsLoopback("127.example.org:7070"));
  EXPECT_FALSE(tls::IsLoopback("127.0.0.1.example.org:7070"));
  EXPECT_FALSE(tls::IsLoopback("10.0.0.1:7070"));
}

TEST(MemoryFileTest, IsExchangedAtOnceUnderOnePath) {
  MemoryFile file;
  ASSERT_TRUE(file.Put("first").ok());
  const std::string path = file.Path();
  ASSERT_TRUE(file.Put("second, and longer").ok());
  EXPECT_EQ(file.Path(), path);
  std::string text;
  std::getline(std::ifstream(path), text);
  EXPECT_EQ(text, "second, and longer");
}

}  // namespace
}  // namespace tensorhub::rpc
