// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/admin_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tensorhub::ctl {
namespace {

using ::testing::HasSubstr;

// Gives one answer after the other to unpin, and none to anything else.
class FakeAdmin final : public v1::Admin::Service {
 public:
  grpc::Status Unpin(grpc::ServerContext*, const v1::UnpinRequest*, v1::UnpinResponse*) override {
    return answers.at(calls++);
  }

  size_t calls = 0;
  std::vector<grpc::Status> answers;
};

class AdminClientTest : public ::testing::Test {
 protected:
  AdminClientTest() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&admin_);
    server_ = builder.BuildAndStart();
    client_ = std::make_unique<AdminClient>(address(), std::chrono::seconds(5));
  }
  ~AdminClientTest() override { server_->Shutdown(); }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  absl::Status Unpin(std::vector<grpc::Status> answers) {
    admin_.calls = 0;
    admin_.answers = std::move(answers);
    return client_->Unpin({});
  }
  void ExpectStranger(const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_EQ(status.message(),
              absl::StrCat("the server at ", address(),
                           " is no tensorhub-server, or of another version; correct the address"));
  }

  FakeAdmin admin_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<AdminClient> client_;
};

TEST_F(AdminClientTest, AnotherProgramsServerIsCalledThat) {
  ExpectStranger(client_->GetStatus().status());
  grpc::ClientContext context;
  ExpectStranger(client_->Explain(client_->Watch(context, "m")->Finish()));
}

TEST_F(AdminClientTest, AnUnpinThatWasCutMayHaveTakenThePinAway) {
  const grpc::Status gone(grpc::StatusCode::NOT_FOUND, "no pin named \"x\"");
  for (const auto code : {grpc::StatusCode::CANCELLED, grpc::StatusCode::UNAVAILABLE}) {
    EXPECT_EQ(Unpin({{code, ""}, gone}), absl::OkStatus());
    EXPECT_EQ(admin_.calls, 2u);
  }
  EXPECT_EQ(Unpin({gone}).code(), absl::StatusCode::kNotFound);
  const grpc::Status refused(grpc::StatusCode::RESOURCE_EXHAUSTED, "full");
  EXPECT_EQ(Unpin({{grpc::StatusCode::CANCELLED, ""}, refused}).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(AdminClientAloneTest, NoServerIsOneLineThatNamesTheAddress) {
  AdminClient client("127.0.0.1:1", std::chrono::milliseconds(200));
  const auto status = client.GetStatus().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no server answers at 127.0.0.1:1"));
}

}  // namespace
}  // namespace tensorhub::ctl
