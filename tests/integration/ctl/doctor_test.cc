// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// tensorhubctl doctor on this machine: what it proves, and how it says that something is wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/integration/cluster.h"
#include "tests/integration/ctl/ctl.h"

namespace tensorhub::harness {
namespace {

using nlohmann::json;

class DoctorTest : public testing::Test {
 protected:
  Finished Examine(const std::string& server, const std::map<std::string, std::string>& env = {}) {
    run_ = RunToEnd(
        {.binary = BinaryPath("tensorhubctl"),
         .args = {"--server", server, "--connect-timeout", "300ms", "doctor", "-o", "json"},
         .env = env});
    const json object = json::parse(run_.output, nullptr, /*allow_exceptions=*/false);
    EXPECT_TRUE(object.is_object() && object.contains("checks")) << run_.output << run_.errors;
    if (object.is_object()) checks_ = object.value("checks", json::array());
    return run_;
  }
  json Check(const std::string& name) const {
    for (const json& check : checks_) {
      if (check.at("check") == name) return check;
    }
    ADD_FAILURE() << "there is no check " << name << ": " << checks_;
    return {{"result", ""}, {"detail", ""}, {"remedy", ""}};
  }
  // What is left to say on standard error: one line, and only if something failed.
  void ExpectConclusion() const {
    const auto failed = std::count_if(checks_.begin(), checks_.end(), [](const json& check) {
      return check.at("result") == "FAILED";
    });
    EXPECT_EQ(run_.exit_code, failed == 0 ? 0 : 1) << run_.output;
    if (failed == 0) {
      EXPECT_EQ(run_.errors, "");
      return;
    }
    EXPECT_THAT(run_.errors, HasSubstr(std::to_string(failed) + " of "));
    EXPECT_EQ(std::count(run_.errors.begin(), run_.errors.end(), '\n'), 1) << run_.errors;
  }
  void ExpectFailed(const std::string& name, const std::string& detail, const std::string& remedy) {
    const json check = Check(name);
    EXPECT_EQ(check.at("result"), "FAILED") << check;
    EXPECT_THAT(check.at("detail").get<std::string>(), HasSubstr(detail));
    ASSERT_TRUE(check.at("remedy").is_string()) << check;
    EXPECT_THAT(check.at("remedy").get<std::string>(), HasSubstr(remedy));
  }

  ServerProcess server_;
  Finished run_;
  json checks_ = json::array();
};

TEST_F(DoctorTest, ReadsFromASleepingProcess) {
  Examine(server_.address());
  for (const std::string name : {"server", "store", "ucx", "ucx address", "one-sided, host"}) {
    EXPECT_EQ(Check(name).at("result"), "ok") << Check(name);
    EXPECT_EQ(Check(name).at("remedy"), nullptr);
  }
  EXPECT_THAT(Check("server").at("detail").get<std::string>(), HasSubstr(server_.address()));
  EXPECT_THAT(Check("one-sided, host").at("detail").get<std::string>(), HasSubstr("/memory"));
  ExpectConclusion();
}

TEST_F(DoctorTest, WithoutSharedMemoryNothingIsOneSided) {
  Examine(server_.address(), {{"UCX_TLS", "tcp"}});
  ExpectFailed("one-sided, host", "", "UCX_TLS");
  EXPECT_EQ(Check("server").at("result"), "ok");
  ExpectConclusion();
}

// Whatever the machine has, each is said to be there or not.
TEST_F(DoctorTest, LooksForGpus) {
  Examine(server_.address());
  const std::string driver = Check("gpu driver").at("result");
  if (driver == "ok") {
    EXPECT_NE(Check("one-sided, gpu").at("detail"), "");
    return;
  }
  EXPECT_EQ(Check("gpu allocator").at("result"), "skipped");
  EXPECT_EQ(Check("ucx, gpu").at("result"), "skipped");
}

// What UCX has to say is for people, beside what programs read.
TEST_F(DoctorTest, UcxLogsDoNotMeetTheResult) {
  Examine(server_.address(), {{"UCX_LOG_LEVEL", "info"}});
  EXPECT_EQ(Check("one-sided, host").at("result"), "ok");
  EXPECT_THAT(run_.errors, HasSubstr("UCX"));
}

TEST_F(DoctorTest, NobodyListens) {
  Examine("127.0.0.1:1");
  ExpectFailed("server", "127.0.0.1:1", "--server");
  EXPECT_EQ(Check("store").at("result"), "skipped");
  EXPECT_EQ(Check("one-sided, host").at("result"), "ok");
  ExpectConclusion();
}

TEST_F(DoctorTest, ForPeople) {
  const Finished run =
      RunToEnd({.binary = BinaryPath("tensorhubctl"), .args = {"doctor", "--offline"}});
  EXPECT_THAT(run.output, StartsWith("CHECK"));
  EXPECT_THAT(run.output, HasSubstr("one-sided, host"));
  EXPECT_THAT(run.output, testing::Not(HasSubstr("server ")));
}

}  // namespace
}  // namespace tensorhub::harness
