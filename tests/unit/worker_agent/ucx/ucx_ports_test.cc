// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/ucx_ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

#include "absl/strings/str_cat.h"
#include "worker_agent/ucx/ucx_worker.h"

namespace tensorhub::agent {
namespace {

using ::testing::HasSubstr;

class UcxPortsTest : public ::testing::Test {
 protected:
  ~UcxPortsTest() override {
    unsetenv("UCX_TCP_PORT_RANGE");
    unsetenv("TENSORHUB_UCX_TCP_PORT_RANGE");
    unsetenv("UCX_TLS");
    for (const int fd : taken_) close(fd);
  }
  // Somebody listens at it from now on; 0: at any.
  uint16_t Take(uint16_t port = 0) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    taken_.push_back(fd);
    sockaddr_in at = {};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_ANY);
    at.sin_port = htons(port);
    socklen_t bytes = sizeof(at);
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    if (bind(fd, address, bytes) != 0 || listen(fd, 1) != 0) return 0;
    return getsockname(fd, address, &bytes) == 0 ? ntohs(at.sin_port) : 0;
  }
  // Two that follow one another, of which the first is taken, the other free.
  uint16_t TakeBeforeAFree() {
    while (true) {
      const uint16_t port = Take();
      if (port == 65535 || Take(port + 1) == 0) continue;
      close(taken_.back());
      taken_.pop_back();
      return port;
    }
  }
  static absl::StatusOr<std::unique_ptr<UcxWorker>> Open() {
    UcxWorker::Options options;
    options.features = UCP_FEATURE_AM;
    options.transports = "tcp";
    return UcxWorker::Create(options);
  }
  static void Give(const char* variable, uint16_t first, uint16_t last) {
    setenv(variable, absl::StrCat(first, "-", last).c_str(), 1);
  }

  std::vector<int> taken_;
};

TEST_F(UcxPortsTest, WithoutARangeTheSystemChooses) {
  EXPECT_FALSE(UcxPorts::OfUser()->chosen());
  setenv("UCX_TCP_PORT_RANGE", "0", 1);
  EXPECT_FALSE(UcxPorts::OfUser()->chosen());
}

TEST_F(UcxPortsTest, EachFreePortIsTakenOnce) {
  const uint16_t taken = TakeBeforeAFree();
  Give("UCX_TCP_PORT_RANGE", taken, taken + 1);
  UcxPorts ports = UcxPorts::OfUser().value();
  EXPECT_TRUE(ports.chosen());
  EXPECT_EQ(ports.TakeFree().value(), taken + 1);
  const absl::Status none = ports.TakeFree().status();
  EXPECT_EQ(none.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(none.message()),
              HasSubstr(absl::StrCat("of UCX_TCP_PORT_RANGE=", taken, "-", taken + 1)));
}

TEST_F(UcxPortsTest, OurNameCountsBeforeUcxs) {
  setenv("UCX_TCP_PORT_RANGE", "1-2", 1);
  const uint16_t taken = Take();
  Give("TENSORHUB_UCX_TCP_PORT_RANGE", taken, taken);
  EXPECT_THAT(std::string(UcxPorts::OfUser()->TakeFree().status().message()),
              HasSubstr("TENSORHUB_UCX_TCP_PORT_RANGE="));
}

TEST_F(UcxPortsTest, WhatIsNoRangeIsRefusedByName) {
  for (const char* range : {"70000-80000", "1000-70000", "2000-1000", "0-10", "many", "1-", "-5"}) {
    setenv("UCX_TCP_PORT_RANGE", range, 1);
    const absl::Status status = UcxPorts::OfUser().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << range;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("UCX_TCP_PORT_RANGE=", range)));
  }
}

// UCX by itself would look for a free one for ever.
TEST_F(UcxPortsTest, AWorkerTakesTheLastOneAndTheNextNone) {
  const uint16_t taken = TakeBeforeAFree();
  Give("UCX_TCP_PORT_RANGE", taken, taken + 1);
  const auto worker = Open();
  ASSERT_TRUE(worker.ok()) << worker.status();
  EXPECT_EQ(Take(taken + 1), 0) << "the worker listens there";
  const absl::Status next = Open().status();
  EXPECT_EQ(next.code(), absl::StatusCode::kResourceExhausted) << next;
  EXPECT_THAT(std::string(next.message()), HasSubstr("UCX_TCP_PORT_RANGE="));
}

TEST_F(UcxPortsTest, WhatLeavesNoTransportIsNamed) {
  setenv("UCX_TLS", "gaudi_gdr", 1);
  UcxWorker::Options options;
  options.features = UCP_FEATURE_AM;
  options.transports = "gaudi_gdr";
  const absl::Status status = UcxWorker::Create(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("UCX_TLS=gaudi_gdr leaves nothing"));
}

}  // namespace
}  // namespace tensorhub::agent
