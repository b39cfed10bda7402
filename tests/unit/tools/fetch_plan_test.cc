// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/fetch_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/spdlog.h"
#include "tests/unit/tools/files.h"

namespace tensorhub::ctl {
namespace {

using ::testing::HasSubstr;

// A hub that knows one model and says what the test wants.
class AdminWithModels final : public v1::Admin::Service {
 public:
  grpc::Status ListModels(grpc::ServerContext*, const v1::ListModelsRequest*,
                          v1::ListModelsResponse* response) override {
    ++calls;
    if (calls <= unavailable_calls) return {grpc::StatusCode::UNAVAILABLE, "starting"};
    *response = models;
    return grpc::Status::OK;
  }
  grpc::Status ListVersions(grpc::ServerContext*, const v1::ListVersionsRequest*,
                            v1::ListVersionsResponse* response) override {
    *response = versions;
    return grpc::Status::OK;
  }
  grpc::Status GetLayout(grpc::ServerContext*, const v1::GetLayoutRequest* request,
                         v1::GetLayoutResponse* response) override {
    response->set_encoded(documents[request->fingerprint()]);
    return grpc::Status::OK;
  }
  grpc::Status GetAttachment(grpc::ServerContext*, const v1::GetAttachmentRequest* request,
                             v1::GetAttachmentResponse* response) override {
    const auto found = documents.find(request->fingerprint());
    if (found == documents.end()) return {grpc::StatusCode::NOT_FOUND, "no such attachment"};
    response->set_content(found->second);
    return grpc::Status::OK;
  }

  int calls = 0;
  int unavailable_calls = 0;
  v1::ListModelsResponse models;
  v1::ListVersionsResponse versions;
  std::map<std::string, std::string> documents;
};

// What is logged while this object lives.
class Warnings {
 public:
  Warnings() : before_(spdlog::default_logger()) {
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text_);
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", std::move(sink)));
  }
  ~Warnings() { spdlog::set_default_logger(before_); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;

  std::string Text() const { return text_.str(); }

 private:
  const std::shared_ptr<spdlog::logger> before_;
  std::ostringstream text_;
};

class FetchPlanTest : public ::testing::Test {
 protected:
  FetchPlanTest() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&admin_);
    server_ = builder.BuildAndStart();
    v1::ModelInfo& model = *admin_.models.add_models();
    model.set_model("m");
    model.set_has_latest(true);
    model.set_latest(7);
  }
  ~FetchPlanTest() override { server_->Shutdown(); }

  // One rank's layout; returns its fingerprint as the hub would spell it.
  std::string AddLayout(const std::string& tensor, uint64_t bytes) {
    const Layout layout =
        Layout::Make({{.name = tensor, .dtype = DType::kU8, .shape = {bytes}, .slice = {}}})
            .value();
    const std::string id = ToBytes(layout.fingerprint());
    admin_.documents[id] = layout.Encode();
    return id;
  }
  std::string AddAttachment(const std::string& content) {
    const std::string id = ToBytes(FingerprintOf(content));
    admin_.documents[id] = content;
    return id;
  }
  v1::VersionInfo& AddVersion(uint64_t version, const std::string& state) {
    v1::VersionInfo& info = *admin_.versions.add_versions();
    info.set_version(version);
    info.set_state(state);
    info.set_world_size(1);
    return info;
  }

  absl::StatusOr<FetchPlan> Describe(const VersionOrLatest& wanted) {
    AdminClient client(absl::StrCat("127.0.0.1:", port_), std::chrono::seconds(5));
    return DescribeVersion(client, "m", wanted);
  }
  std::string Problem(const VersionOrLatest& wanted) {
    return std::string(Describe(wanted).status().message());
  }

  AdminWithModels admin_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(FetchPlanTest, RanksWithoutAttachmentBecomeOneFileEach) {
  v1::VersionInfo& info = AddVersion(7, "visible");
  info.set_world_size(2);
  info.add_layouts(AddLayout("a", 3));
  info.add_layouts(AddLayout("b", 4));
  const auto plan = Describe({});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->version, 7u);
  EXPECT_EQ(plan->data_bytes(), 7u);
  EXPECT_EQ(plan->file_count(), 2u);
  EXPECT_EQ(plan->ranks[1].files[0].name, "model-rank-00002-of-00002.safetensors");
}

TEST_F(FetchPlanTest, AnAttachmentNamesTheFiles) {
  const std::string raw =
      safetensors::Raw(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}  )");
  const safetensors::Attachment attachment = {
      .files = {{"x.safetensors", safetensors::ParseHeader("x", raw).value()}}, .extras = {}};
  v1::VersionInfo& info = AddVersion(3, "visible");
  info.add_layouts(AddLayout("a", 3));
  info.add_attachments(AddAttachment(safetensors::Encode(attachment).value()));
  const auto plan = Describe({.exact = 3});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->ranks[0].files[0].name, "x.safetensors");
  EXPECT_EQ(plan->ranks[0].files[0].header.raw, raw);
  EXPECT_EQ(plan->disk_bytes(), raw.size() + 3);
}

// The bytes are worth more than the names of the files they came in.
TEST_F(FetchPlanTest, AForgottenAttachmentCostsOnlyItself) {
  v1::VersionInfo& info = AddVersion(3, "visible");
  info.add_layouts(AddLayout("a", 3));
  info.add_attachments(std::string(16, 'x'));
  const auto plan = Describe({.exact = 3});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->data_bytes(), 3u);
  EXPECT_EQ(plan->file_count(), 1u);
}

// Trainers attach what they like.
TEST_F(FetchPlanTest, AForeignAttachmentCostsOnlyItself) {
  v1::VersionInfo& info = AddVersion(3, "visible");
  info.set_world_size(2);
  info.add_layouts(AddLayout("a", 3));
  info.add_layouts(AddLayout("b", 4));
  info.add_attachments(AddAttachment("somebody else's"));
  info.add_attachments(AddAttachment("x"));
  Warnings warnings;
  const auto plan = Describe({.exact = 3});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->data_bytes(), 7u);
  EXPECT_EQ(plan->ranks[0].files[0].name, "model-rank-00001-of-00002.safetensors");
  EXPECT_EQ(plan->ranks[1].files[0].name, "model-rank-00002-of-00002.safetensors");
  EXPECT_THAT(warnings.Text(), HasSubstr("version 3 was not written by tensorhubctl"));
}

TEST_F(FetchPlanTest, ADamagedAttachmentIsRefused) {
  v1::VersionInfo& info = AddVersion(3, "visible");
  info.add_layouts(AddLayout("a", 3));
  const std::string whole = safetensors::Encode({}).value();
  info.add_attachments(AddAttachment(whole.substr(0, whole.size() - 1)));
  EXPECT_THAT(Problem({.exact = 3}), HasSubstr("attachment is cut off"));
}

TEST_F(FetchPlanTest, AnotherLayoutThanAskedForIsRefused) {
  const std::string id = AddLayout("a", 3);
  admin_.documents[id] = admin_.documents[AddLayout("b", 3)];
  AddVersion(3, "visible").add_layouts(id);
  EXPECT_THAT(Problem({.exact = 3}), HasSubstr("another layout"));
}

TEST_F(FetchPlanTest, WhatIsNotThereIsNamed) {
  AddVersion(5, "visible").add_layouts(AddLayout("a", 3));
  AddVersion(6, "publishing");
  AddVersion(7, "lost");
  EXPECT_THAT(Problem({.exact = 4}),
              HasSubstr("nobody holds version 4 of m; the newest one held is 5"));
  EXPECT_THAT(Problem({.exact = 6}), HasSubstr("still being published"));
  EXPECT_THAT(Problem({}), HasSubstr("nobody holds version 7 of m; the newest one held is 5"));
  admin_.models.mutable_models(0)->set_has_latest(false);
  EXPECT_THAT(Problem({}), HasSubstr("model m has no version yet"));
  admin_.models.clear_models();
  EXPECT_THAT(Problem({}), HasSubstr("unknown model m"));
}

TEST_F(FetchPlanTest, ABusyServerIsAskedAgain) {
  AddVersion(7, "visible").add_layouts(AddLayout("a", 3));
  admin_.unavailable_calls = 2;
  EXPECT_TRUE(Describe({}).ok());
  EXPECT_EQ(admin_.calls, 3);
}

}  // namespace
}  // namespace tensorhub::ctl
