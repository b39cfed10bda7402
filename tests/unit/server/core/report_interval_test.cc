// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// With many workers each reports less often, so that all together report no more than one hub
// takes, and nobody counts as slow for that.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/unit/server/core/hub_script.h"

namespace tensorhub::hub {
namespace {

using testing::HasSubstr;
using testing::Not;

HubOptions Reports(uint32_t per_second) {
  HubOptions options;
  options.reports_per_second = per_second;
  return options;
}

// A trainer with a version of 1000 chunks, and readers of it.
class Cluster {
 public:
  explicit Cluster(uint32_t reports_per_second) : script_(Reports(reports_per_second)) {
    Do(absl::StrCat("layout L bytes=", 1000 * 4096));
    Do("open t/0 at=us/dc1/r1");
    Do("publish t/0 v1");
  }
  std::string Do(const std::string& line) { return script_.Do(line); }
  std::string Begin(const std::string& name, const std::string& rack = "") {
    Do(absl::StrCat("open ", name, "/0", rack.empty() ? "" : " at=us/dc1/" + rack));
    Do(absl::StrCat("join ", name, "/0 v1"));
    return Do(absl::StrCat("begin ", name, "/0"));
  }

 private:
  HubScript script_;
};

TEST(ReportIntervalTest, GrowsWithTheWorkers) {
  Cluster cluster(10);
  EXPECT_THAT(cluster.Begin("a"), HasSubstr("reporting every 200 ms"));
  EXPECT_THAT(cluster.Begin("b"), HasSubstr("reporting every 300 ms"));
  cluster.Do("leave a/0");
  EXPECT_THAT(cluster.Begin("c"), HasSubstr("reporting every 300 ms"));
}

TEST(ReportIntervalTest, IsATenthOfASecondWhereTheyAreFew) {
  EXPECT_THAT(Cluster(50'000).Begin("a"), Not(HasSubstr("reporting")));
}

// Heartbeats come between the reports, once a second, and find that nothing has moved.
TEST(ReportIntervalTest, NobodyIsSlowBetweenTwoReports) {
  Cluster cluster(2);
  for (int i = 0; i < 5; ++i) cluster.Begin(absl::StrCat("r", i));
  std::string said;
  for (int ms = 100; ms <= 30'000; ms += 100) {
    said += cluster.Do("wait 100");
    for (int i = 0; i < 5; ++i) {
      if ((ms + 700 * i) % 3000 != 0) continue;
      said += cluster.Do(absl::StrCat("progress r", i, "/0 ", ms / 40 - i));
    }
  }
  EXPECT_THAT(said, Not(HasSubstr("<- read")));
}

// What is said when somebody in the far reader's rack has everything, so long after that reader's
// report that it had 700 of 1000 chunks, at 78 chunks per second.
std::string FinishNear(int ms_later) {
  Cluster cluster(1);
  cluster.Begin("far", "r2");
  cluster.Begin("near", "r2");
  cluster.Do("wait 8900");
  cluster.Do("progress far/0 700");
  cluster.Do("progress near/0 690");
  cluster.Do(absl::StrCat("wait ", ms_later));
  return cluster.Do("finish near/0");
}

TEST(ReportIntervalTest, NobodyMovesForTheLittleThatIsMissingByNow) {
  EXPECT_THAT(FinishNear(200), HasSubstr("far/0 <- read 2 from near/0 (rack)"));
  EXPECT_THAT(FinishNear(2700), Not(HasSubstr("<- read")));
}

}  // namespace
}  // namespace tensorhub::hub
