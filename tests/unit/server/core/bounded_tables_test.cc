// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R9: whatever clients do, the tables stay within their limits.
// Covers: R9.3

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/unit/server/core/hub_script.h"

namespace tensorhub::hub {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

HubOptions With(size_t HubLimits::*limit, size_t value) {
  HubOptions options;
  options.limits.*limit = value;
  return options;
}

TEST(BoundedTablesTest, Workers) {
  HubScript script(With(&HubLimits::workers, 2));
  EXPECT_THAT(script.Do("open a/0"), IsEmpty());
  EXPECT_THAT(script.Do("open b/0"), IsEmpty());
  EXPECT_THAT(script.Do("open c/0"), HasSubstr("RESOURCE_EXHAUSTED"));
  EXPECT_THAT(script.Do("open b/0"), Not(HasSubstr("RESOURCE"))) << "who is in comes back";
  script.Do("leave a/0");
  EXPECT_THAT(script.Do("open c/0"), IsEmpty());
}

TEST(BoundedTablesTest, Models) {
  HubScript script(With(&HubLimits::models, 1));
  EXPECT_THAT(script.Do("open x:a/0"), IsEmpty());
  EXPECT_THAT(script.Do("open y:a/0"), HasSubstr("RESOURCE_EXHAUSTED"));
}

TEST(BoundedTablesTest, DeadWorkersAreForgotten) {
  HubScript script(With(&HubLimits::dead_workers, 3));
  for (int i = 0; i < 50; ++i) {
    script.Do(absl::StrCat("open g", i, "/0"));
    script.Do(absl::StrCat("join g", i, "/0 latest"));
    script.Do(absl::StrCat("leave g", i, "/0"));
  }
  EXPECT_EQ(script.hub().Status().workers, 0u);  // the rest: CheckInvariants
}

TEST(BoundedTablesTest, Waits) {
  HubScript script(With(&HubLimits::waits, 1));
  EXPECT_THAT(script.Do("wait-version first m any"), IsEmpty());
  EXPECT_THAT(script.Do("wait-version second m any"), HasSubstr("RESOURCE_EXHAUSTED"));
  script.Do("wait 10000");
  EXPECT_THAT(script.Do("wait-version third m any"), IsEmpty());
}

TEST(BoundedTablesTest, PastVersions) {
  HubScript script(With(&HubLimits::past_versions, 5));
  script.Do("open t/0");
  for (int version = 1; version <= 20; ++version) {
    script.Do(absl::StrCat("publish t/0 v", version));
    script.Do("unpublish t/0");
  }
  EXPECT_LE(script.hub().Versions("m").size(), 6u);
  EXPECT_EQ(script.hub().Models().at(0).latest, 20u);
}

TEST(BoundedTablesTest, Pins) {
  HubScript script(With(&HubLimits::pins, 2));
  script.Do("open t/0");
  script.Do("publish t/0 v1");
  EXPECT_THAT(script.Do("pin silver v1"), HasSubstr("ok"));
  for (int ttl = 1000; ttl < 1050; ++ttl) {  // CheckInvariants counts the ends
    EXPECT_THAT(script.Do(absl::StrCat("pin gold v1 ttl=", ttl)), HasSubstr("ok"));
  }
  EXPECT_THAT(script.Do("pin third v1"), HasSubstr("RESOURCE_EXHAUSTED"));
  script.Do("wait 1100");
  EXPECT_THAT(script.Do("pin third v1"), HasSubstr("ok"));
}

TEST(BoundedTablesTest, UnusedDocumentsMakeRoomUsedOnesDoNot) {
  HubOptions options;
  options.limits.layouts.count = 2;
  options.limits.attachments.count = 1;
  HubScript script(options);
  EXPECT_THAT(script.Do("layout X"), HasSubstr("ok"));
  EXPECT_THAT(script.Do("layout L"), HasSubstr("ok"));
  script.Do("open t/0");
  EXPECT_THAT(script.Do("note A"), HasSubstr("ok"));
  EXPECT_THAT(script.Do("publish t/0 v1 note=A"), HasSubstr("ok"));
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(script.Do(absl::StrCat("layout Y", i)), HasSubstr("ok"));
  }
  EXPECT_THAT(script.Do("note B"), HasSubstr("RESOURCE_EXHAUSTED"));
  script.Do("open u/0 layout=Y9");
  EXPECT_THAT(script.Do("publish u/0 v2"), HasSubstr("ok"));
  EXPECT_THAT(script.Do("layout Z"), HasSubstr("RESOURCE_EXHAUSTED"));
  script.Do("unpublish t/0");
  EXPECT_THAT(script.Do("layout Z"), HasSubstr("ok"));
  EXPECT_THAT(script.Do("note B"), HasSubstr("ok"));
}

}  // namespace
}  // namespace tensorhub::hub
