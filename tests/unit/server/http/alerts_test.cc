// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/http/alerts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tensorhub::http {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kNow = 1'700'000'000;
constexpr int64_t kDay = 24 * 3600;

std::vector<std::string> NamesOf(const Facts& facts) {
  std::vector<std::string> names;
  for (const Alert& alert : AlertsOf(facts, kNow)) names.push_back(alert.name);
  return names;
}

hub::ModelView Model(uint32_t workers, uint32_t behind, bool held) {
  hub::ModelView model;
  model.model = "actor";
  model.has_latest = true;
  model.latest = 5;
  model.latest_held = held;
  model.workers = workers;
  model.behind = behind;
  return model;
}

TEST(AlertsTest, NoneWhereAllIsWell) {
  Facts facts;
  facts.look_s = 1;
  facts.certificate_ends = kNow + 7 * kDay;
  facts.hub.models = {Model(4, 2, true)};
  EXPECT_THAT(AlertsOf(facts, kNow), IsEmpty());
}

TEST(AlertsTest, Server) {
  Facts facts;
  facts.hub.status.recovering = true;
  facts.look_s = 1.2;
  EXPECT_THAT(NamesOf(facts), ElementsAre("TensorHubRecoversTooLong", "TensorHubSlow"));
}

TEST(AlertsTest, CertificateThatEndsWithinAWeek) {
  Facts facts;
  facts.certificate_ends = kNow + 7 * kDay - 1;
  ASSERT_THAT(NamesOf(facts), ElementsAre("TensorHubCertificateEnds"));
  EXPECT_THAT(AlertsOf(facts, kNow)[0].summary, HasSubstr("7.0 days"));
  facts.certificate_ends = kNow - 1;
  EXPECT_THAT(AlertsOf(facts, kNow)[0].summary, HasSubstr("has ended"));
}

TEST(AlertsTest, Fleet) {
  Facts facts;
  facts.hub.fleet.reads_without_source = 1;
  facts.hub.fleet.stalled = 2;
  ASSERT_THAT(NamesOf(facts), ElementsAre("TensorHubReadersWait", "TensorHubWorkersStandStill"));
  EXPECT_EQ(AlertsOf(facts, kNow)[0].summary, "1 reader has no source");
  EXPECT_EQ(AlertsOf(facts, kNow)[1].summary, "2 workers stand still");
}

TEST(AlertsTest, ModelsAndTheWorstFirst) {
  Facts facts;
  facts.hub.fleet.stalled = 1;
  facts.hub.models = {Model(4, 3, true), Model(4, 0, false)};
  EXPECT_THAT(NamesOf(facts), ElementsAre("TensorHubVersionLost", "TensorHubWorkersStandStill",
                                          "TensorHubFleetBehind"));
  EXPECT_EQ(AlertsOf(facts, kNow)[0].model, "actor");
}

TEST(AlertsTest, AModelWithoutAVersionHasLostNone) {
  Facts facts;
  facts.hub.models = {Model(4, 0, false)};
  facts.hub.models[0].latest = 0;
  EXPECT_THAT(AlertsOf(facts, kNow), IsEmpty());
}

}  // namespace
}  // namespace tensorhub::http
