// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the client refuses before it asks anybody, and what it says where nobody answers.

#include "libros/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>

namespace tensorhub::libros {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

ConnectOptions Good() {
  ConnectOptions options;
  options.model = "actor";
  options.group = "trainer";
  return options;
}

std::string Problem(const std::function<void(ConnectOptions&)>& spoil) {
  ConnectOptions options = Good();
  spoil(options);
  const absl::Status status = Check(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(ChecksTest, GoodOptionsPass) {
  EXPECT_TRUE(Check(Good()).ok());
  ConnectOptions options = Good();
  options.server = "[::1]:7070";
  options.location = "us/dc1/r4/h7/0";
  EXPECT_TRUE(Check(options).ok());
}

// The environment is for a whole program; what the program itself says comes first.
TEST(ChecksTest, ALocationThatIsNotGivenIsTheEnvironments) {
  ConnectOptions options = Good();
  setenv("TENSORHUB_LOCATION", "us/dc1/r4/h7", 1);
  EXPECT_EQ(LocationOf(options), "us/dc1/r4/h7");
  setenv("TENSORHUB_LOCATION", "us//r4", 1);
  EXPECT_THAT(std::string(Check(options).message()), HasSubstr("TENSORHUB_LOCATION \"us//r4\""));
  options.location = "eu/dc2";
  EXPECT_EQ(LocationOf(options), "eu/dc2");
  EXPECT_TRUE(Check(options).ok());
  unsetenv("TENSORHUB_LOCATION");
}

TEST(ChecksTest, DigestsByOptionThenByEnvironment) {
  ConnectOptions options = Good();
  EXPECT_EQ(*DigestsOf(options), Digests::kAuto);
  setenv("TENSORHUB_DIGESTS", "off", 1);
  EXPECT_EQ(*DigestsOf(options), Digests::kOff);
  options.digests = Digests::kOn;
  EXPECT_EQ(*DigestsOf(options), Digests::kOn);
  setenv("TENSORHUB_DIGESTS", "yes", 1);
  EXPECT_THAT(Problem([](ConnectOptions&) {}), HasSubstr("TENSORHUB_DIGESTS=\"yes\""));
  unsetenv("TENSORHUB_DIGESTS");
}

TEST(ChecksTest, DeviceReadsByEnvironment) {
  EXPECT_TRUE(*DeviceCopies());
  setenv("TENSORHUB_DEVICE_READS", "ucx", 1);
  EXPECT_FALSE(*DeviceCopies());
  setenv("TENSORHUB_DEVICE_READS", "dma", 1);
  EXPECT_THAT(Problem([](ConnectOptions&) {}), HasSubstr("TENSORHUB_DEVICE_READS=\"dma\""));
  unsetenv("TENSORHUB_DEVICE_READS");
}

TEST(ChecksTest, MetricsAndTracesByOptionThenByEnvironment) {
  ConnectOptions options = Good();
  setenv("TENSORHUB_WORKER_HTTP", "0.0.0.0:9101-9108", 1);
  setenv("TENSORHUB_TRACE", "/of/all", 1);
  EXPECT_TRUE(Check(options).ok());
  EXPECT_EQ(HttpOf(options), "0.0.0.0:9101-9108");
  EXPECT_EQ(TraceOf(options), "/of/all");
  options.http = "127.0.0.1:0";
  options.trace = "/of/this";
  EXPECT_EQ(HttpOf(options), "127.0.0.1:0");
  EXPECT_EQ(TraceOf(options), "/of/this");
  options.http.clear();
  setenv("TENSORHUB_WORKER_HTTP", "9101", 1);
  EXPECT_THAT(std::string(Check(options).message()), HasSubstr("TENSORHUB_WORKER_HTTP: \"9101\""));
  unsetenv("TENSORHUB_WORKER_HTTP");
  unsetenv("TENSORHUB_TRACE");
  EXPECT_EQ(HttpOf(options), "");
  EXPECT_THAT(Problem([](ConnectOptions& spoilt) { spoilt.http = "host:9-1"; }),
              HasSubstr("http: \"host:9-1\""));
}

TEST(ChecksTest, CallersOfTraces) {
  FetchOptions options;
  options.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  EXPECT_TRUE(Check(options).ok());
  for (const char* bad : {"00", "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                          "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
                          "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}) {
    options.traceparent = bad;
    EXPECT_THAT(std::string(Check(options).message()), HasSubstr("traceparent")) << bad;
  }
}

TEST(ChecksTest, ProblemsNameTheField) {
  for (const std::string server : {"", "hub", "hub:", ":7070", "hub:0", "hub:70000", "hub:7x"}) {
    EXPECT_THAT(Problem([&](ConnectOptions& o) { o.server = server; }), HasSubstr("server \""));
  }
  EXPECT_THAT(Problem([](ConnectOptions& o) { o.model = ""; }), HasSubstr("model"));
  EXPECT_THAT(Problem([](ConnectOptions& o) { o.group = "a b"; }), HasSubstr("group \"a b\""));
  EXPECT_THAT(Problem([](ConnectOptions& o) { o.rank = 1; }), HasSubstr("rank 1"));
  EXPECT_THAT(Problem([](ConnectOptions& o) { o.world_size = 0; }), HasSubstr("world_size 0"));
  EXPECT_THAT(Problem([](ConnectOptions& o) { o.world_size = 65537; }), HasSubstr("world_size"));
  EXPECT_THAT(Problem([](ConnectOptions& o) { o.location = "a/b/c/d/e/f"; }),
              HasSubstr("location"));
  EXPECT_THAT(Problem([](ConnectOptions& o) { o.connect_timeout = milliseconds(0); }),
              HasSubstr("connect_timeout"));
  EXPECT_THAT(Problem([](ConnectOptions& o) { o.attachment.resize((64u << 20) + 1); }),
              HasSubstr("attachment"));
}

TEST(ChecksTest, ProblemsAreOneLineWhateverTheNames) {
  const std::string wild = "a\n\x1b[2J:7070";
  for (const auto field : {&ConnectOptions::server, &ConnectOptions::model, &ConnectOptions::group,
                           &ConnectOptions::location}) {
    EXPECT_THAT(
        Problem([&](ConnectOptions& o) { o.*field = wild; }),
        AllOf(HasSubstr("\"a\\n\\033[2J:7070\""), Not(HasSubstr("\n")), Not(HasSubstr("\x1b"))));
  }
}

TEST(ChecksTest, TimeoutsAreBounded) {
  EXPECT_FALSE(CheckTimeout("timeout", milliseconds(-1)).ok());
  EXPECT_TRUE(Check(UnpublishOptions{milliseconds(0)}).ok());
  EXPECT_FALSE(Check(UnpublishOptions{milliseconds(-1)}).ok());
  EXPECT_TRUE(Check(LeaveOptions{milliseconds(0)}).ok());
  EXPECT_FALSE(Check(LeaveOptions{milliseconds(-1)}).ok());
  EXPECT_GT(Milliseconds(milliseconds::max()), 0);
  EXPECT_LT(Milliseconds(milliseconds::max()), std::numeric_limits<int64_t>::max() / 2);
}

TEST(ConnectTest, AWrongAddressIsOneLineThatNamesIt) {
  ConnectOptions options = Good();
  options.server = "127.0.0.1:1";
  options.connect_timeout = milliseconds(300);
  const absl::Status status = Client::Connect(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  const std::string line(status.message());
  EXPECT_THAT(line, HasSubstr("127.0.0.1:1 within 0.3 s"));
  EXPECT_THAT(line, HasSubstr("start tensorhub-server"));
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace tensorhub::libros
