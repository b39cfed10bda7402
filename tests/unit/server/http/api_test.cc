// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/http/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "tests/unit/server/core/hub_script.h"

namespace tensorhub::http {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Column(const Json& rows, const char* key) {
  std::vector<std::string> values;
  for (const Json& row : rows) {
    values.push_back(row.at(key).is_string() ? row.at(key).get<std::string>() : row.at(key).dump());
  }
  return values;
}

class ApiTest : public testing::Test {
 protected:
  ApiTest()
      : api_([this] { return answers_ ? std::optional<Facts>(TheFacts()) : std::nullopt; },
             [this](const auto& reader) {
               if (answers_) reader(script_.hub(), script_.now());
               return answers_;
             }) {
    script_.Do("layout L bytes=40960");  // ten chunks
  }

  Facts TheFacts() {
    Facts facts;
    facts.hub = FactsOf(script_.hub(), script_.now());
    facts.version = "1.2.3";
    return facts;
  }

  Json Get(const std::string& target) {
    const absl::StatusOr<Json> json = api_.Get(target);
    EXPECT_TRUE(json.ok()) << target << ": " << json.status();
    return json.value_or(Json());
  }
  absl::Status Fault(const std::string& target) { return api_.Get(target).status(); }

  // Readers a and b in a chain behind the trainer, and c, which has joined alone.
  void Broadcast() {
    for (const char* worker : {"t", "a", "b", "c"}) {
      script_.Do(absl::StrCat("open ", worker, "/0 at=us/dc0/r0/h-", worker));
    }
    script_.Do("publish t/0 v1");
    for (const char* reader : {"a", "b"}) {
      script_.Do(absl::StrCat("join ", reader, "/0 v1"));
      script_.Do(absl::StrCat("begin ", reader, "/0"));
    }
    script_.Do("progress a/0 6");
  }

  hub::HubScript script_;
  bool answers_ = true;
  const Api api_;
};

TEST_F(ApiTest, StatusOfAnEmptyHub) {
  const Json status = Get("/api/v1/status");
  EXPECT_EQ(status["server_version"], "1.2.3");
  EXPECT_EQ(status["workers"], 0);
  EXPECT_EQ(status["security"], "plain");
  EXPECT_EQ(status["certificate_ends"], nullptr);
  EXPECT_EQ(status["alerts"], Json::array());
  EXPECT_EQ(Get("/api/v1/models")["models"], Json::array());
  EXPECT_EQ(Get("/api/v1/workers")["next"], nullptr);
}

TEST_F(ApiTest, StatusCountsTransfers) {
  Broadcast();
  const Json status = Get("/api/v1/status");
  EXPECT_EQ(status["transfers"], 2);
  EXPECT_EQ(status["transfers_by_tier"]["rack"], 2);
  EXPECT_EQ(status["transfers_by_tier"]["none"], 0);
  script_.Do("stalls c/0 4000");
  script_.Do("wait 1000");
  EXPECT_EQ(Get("/api/v1/status")["stalled"], 1);
  EXPECT_THAT(Column(Get("/api/v1/status")["alerts"], "name"),
              ElementsAre("TensorHubWorkersStandStill"));
}

TEST_F(ApiTest, ModelsAndWhoIsBehind) {
  Broadcast();
  script_.Do("finish a/0");
  script_.Do("unpublish t/0");
  script_.Do("publish t/0 v4");
  const Json model = Get("/api/v1/models")["models"].at(0);
  EXPECT_EQ(model["model"], "m");
  EXPECT_EQ(model["latest"], 4);
  EXPECT_EQ(model["latest_held"], true);
  EXPECT_EQ(model["workers"], 4);
  EXPECT_EQ(model["behind"], 2);
  EXPECT_EQ(model["lag_max"], 3);
}

TEST_F(ApiTest, ModelsByParts) {
  for (const char* model : {"d", "b", "a/x", "c"}) script_.Do(absl::StrCat("open ", model, ":g/0"));
  Json part = Get("/api/v1/models?limit=3");
  EXPECT_THAT(Column(part["models"], "model"), ElementsAre("a/x", "b", "c"));
  EXPECT_EQ(part["next"], "c");
  part = Get("/api/v1/models?limit=3&after=c");
  EXPECT_THAT(Column(part["models"], "model"), ElementsAre("d"));
  EXPECT_EQ(part["next"], nullptr);
  EXPECT_EQ(Get("/api/v1/models?limit=4")["next"], nullptr);
}

TEST_F(ApiTest, VersionsOfAModelWhoseNameHasSlashes) {
  script_.Do("open team/actor:t/0");
  script_.Do("publish team/actor:t/0 v7");
  for (const char* name : {"team/actor", "team%2Factor", "team%2factor"}) {
    const Json json = Get(absl::StrCat("/api/v1/models/", name, "/versions"));
    EXPECT_EQ(json["model"], "team/actor");
    EXPECT_THAT(Column(json["versions"], "version"), ElementsAre("7"));
    EXPECT_THAT(Column(json["versions"], "state"), ElementsAre("visible"));
  }
}

TEST_F(ApiTest, VersionsNewestFirstAndByParts) {
  script_.Do("open t/0");
  for (int version = 1; version <= 5; ++version) {
    script_.Do(absl::StrCat("publish t/0 v", version));
    script_.Do("unpublish t/0 force");
  }
  const Json first = Get("/api/v1/models/m/versions?limit=2");
  EXPECT_THAT(Column(first["versions"], "version"), ElementsAre("5", "4"));
  EXPECT_EQ(first["next"], 4);
  const Json last = Get("/api/v1/models/m/versions?limit=3&after=4");
  EXPECT_THAT(Column(last["versions"], "version"), ElementsAre("3", "2", "1"));
  EXPECT_EQ(last["next"], nullptr);
}

TEST_F(ApiTest, WhoReadsFromWhom) {
  Broadcast();
  const Json tree = Get("/api/v1/versions?model=m");
  EXPECT_EQ(tree["version"], 1);
  EXPECT_EQ(tree["members"], 3);
  EXPECT_EQ(tree["complete"], 1);
  EXPECT_THAT(Column(tree["replicas"], "group"), ElementsAre("t", "a", "b"));
  const Json& root = tree["replicas"][0];
  EXPECT_EQ(root["sources"], 0);
  EXPECT_EQ(root["reads"], false);
  EXPECT_FALSE(root.contains("source_group"));
  const Json& reader = tree["replicas"][1];
  EXPECT_EQ(reader["source_group"], "t");
  EXPECT_EQ(reader["source_rank"], 0);
  EXPECT_EQ(reader["tier"], "rack");
  EXPECT_EQ(reader["state"], "filling");
  EXPECT_EQ(reader["valid_chunks"], 6);
  EXPECT_EQ(reader["chunks"], 10);
  EXPECT_EQ(tree["replicas"][2]["source_group"], "a");
}

TEST_F(ApiTest, OfALongChainTheRestIsCounted) {
  script_.Do("open t/0");
  script_.Do("publish t/0 v1");
  for (int i = 0; i < 20; ++i) {
    script_.Do(absl::StrCat("open r", i, "/0"));
    script_.Do(absl::StrCat("join r", i, "/0 v1"));
    script_.Do(absl::StrCat("begin r", i, "/0"));
  }
  const Json tree = Get("/api/v1/versions?model=m&version=1&limit=5");
  EXPECT_EQ(tree["members"], 21);
  EXPECT_EQ(tree["left_out"], 16);
  EXPECT_EQ(tree["idle_left_out"], 0);
  ASSERT_EQ(tree["replicas"].size(), 5u);
  // One chain: all that are left out are below each of those that are shown.
  for (const Json& replica : tree["replicas"]) EXPECT_EQ(replica["below_left_out"], 16);
}

TEST_F(ApiTest, HoldersThatFeedNobodyComeLast) {
  for (const char* worker : {"a-idle", "t", "z"}) script_.Do(absl::StrCat("open ", worker, "/0"));
  script_.Do("publish a-idle/0 v1");
  script_.Do("publish t/0 v1");
  script_.Do("join z/0 v1");
  script_.Do("begin z/0");
  const Json tree = Get("/api/v1/versions?model=m&limit=2");
  EXPECT_EQ(tree["replicas"][1]["group"], "z");
  EXPECT_EQ(tree["idle_left_out"], 1);
  EXPECT_EQ(Get("/api/v1/versions?model=m")["idle_left_out"], 0);
}

TEST_F(ApiTest, WorkersByPartsAndByState) {
  Broadcast();
  const Json first = Get("/api/v1/workers?model=m&limit=3");
  EXPECT_THAT(Column(first["workers"], "group"), ElementsAre("a", "b", "c"));
  ASSERT_TRUE(first["next"].is_string());
  const std::string cursor = first["next"];
  const Json rest = Get(absl::StrCat("/api/v1/workers?model=m&after=0+m+c"));
  EXPECT_EQ(cursor, "0 m c");
  EXPECT_THAT(Column(rest["workers"], "group"), ElementsAre("t"));
  EXPECT_EQ(rest["next"], nullptr);
  EXPECT_THAT(Column(Get("/api/v1/workers?state=filling")["workers"], "group"),
              ElementsAre("a", "b"));
  script_.Do("drop c/0");
  EXPECT_THAT(Column(Get("/api/v1/workers?state=disconnected")["workers"], "group"),
              ElementsAre("c"));
  EXPECT_EQ(Get("/api/v1/workers?state=stalled")["workers"], Json::array());
}

TEST_F(ApiTest, WorkersThatDrainOrAreBehind) {
  Broadcast();
  script_.Do("unpublish t/0 drain=5000");
  EXPECT_THAT(Column(Get("/api/v1/workers?state=draining")["workers"], "group"), ElementsAre("t"));
  script_.Do("publish c/0 v9");
  EXPECT_THAT(Column(Get("/api/v1/workers?state=behind")["workers"], "group"),
              testing::IsSupersetOf({"a", "b"}));
}

// Whoever reaches the port sees it: nothing in it lets them do more (docs/security.md).
TEST_F(ApiTest, NothingThatCouldBeUsedAsAKey) {
  Broadcast();
  for (const char* target : {"/api/v1/models/m/versions", "/api/v1/versions?model=m",
                             "/api/v1/workers", "/api/v1/models", "/api/v1/status"}) {
    const std::string text = ToText(Get(target));
    for (const char* key : {"incarnation", "publication", "layout", "attachment", "generation",
                            "endpoint", "data_dir"}) {
      EXPECT_THAT(text, testing::Not(HasSubstr(key))) << target;
    }
  }
}

TEST_F(ApiTest, AnswersAreOneLine) {
  Broadcast();
  const std::string text = ToText(Get("/api/v1/workers"));
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST_F(ApiTest, BadRequestsNameTheFaultAndTheRemedy) {
  script_.Do("open t/0");
  const std::map<std::string, const char*> faults = {
      {"/api/v1/models?limit=0", "limit: \"0\"; give a number from 1 to 1000"},
      {"/api/v1/models?limit=1001", "from 1 to 1000"},
      {"/api/v1/models?offset=3", "there is limit, after"},
      {"/api/v1/status?x=1", "give none"},
      {"/api/v1/versions", "model \"\": is empty"},
      {"/api/v1/versions?model=m&version=latest", "version: \"latest\"; give a number"},
      {"/api/v1/models/%zz/versions", "%25"},
      {"/api/v1/models/a%20b/versions", "a space"},
      {"/api/v1/models/m/versions?after=-1", "after: \"-1\""},
      {"/api/v1/workers?state=sad", "state: \"sad\"; give all"},
      {"/api/v1/workers?after=m", "what `next`"},
      {"/api/v1/workers?after=x+m+g", "what `next`"}};
  for (const auto& [target, what] : faults) {
    const absl::Status fault = Fault(target);
    EXPECT_EQ(fault.code(), absl::StatusCode::kInvalidArgument) << target;
    EXPECT_THAT(std::string(fault.message()), HasSubstr(what)) << target;
  }
}

TEST_F(ApiTest, WhatIsNotThere) {
  script_.Do("open t/0");
  for (const char* target :
       {"/api/", "/api/v2/status", "/api/v1/models/m", "/api/v1/models/versions", "/api/v1/status/",
        "/api/v1/models/x/versions", "/api/v1/versions?model=x", "/api/v1/workers?model=x"}) {
    EXPECT_EQ(Fault(target).code(), absl::StatusCode::kNotFound) << target;
  }
  EXPECT_EQ(Get("/api/v1/versions?model=m")["version"], nullptr);
  EXPECT_EQ(Get("/api/v1/versions?model=m&version=3")["members"], 0);
}

// R9: whatever is asked, there is an answer or a fault of one line.
TEST_F(ApiTest, TargetsOfAnyKind) {
  Broadcast();
  const std::vector<std::string> pieces = {"/api/v1",
                                           "/models",
                                           "/versions",
                                           "/workers",
                                           "/status",
                                           "/",
                                           "?",
                                           "&",
                                           "=",
                                           "%",
                                           "%2F",
                                           "%00",
                                           "limit",
                                           "after",
                                           "model",
                                           "version",
                                           "state",
                                           "m",
                                           "0",
                                           "1",
                                           "18446744073709551616",
                                           "-1",
                                           "+",
                                           "0+m+a",
                                           "stalled",
                                           std::string(300, 'x'),
                                           "\xff",
                                           "\n",
                                           "#"};
  Random random(7);
  size_t answers = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string target = "/api/v1";
    for (uint64_t i = 1 + random.Below(9); i > 0; --i) {
      target += pieces[random.Below(pieces.size())];
    }
    const absl::StatusOr<Json> json = api_.Get(target);
    const std::string said = json.ok() ? ToText(*json) : std::string(json.status().message());
    EXPECT_LE(said.size(), 100'000u) << target;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), json.ok() ? 1 : 0) << target;
    answers += json.ok() ? 1 : 0;
  }
  EXPECT_GT(answers, 100u);  // it gets that far
}

TEST_F(ApiTest, AHubThatDoesNotAnswer) {
  answers_ = false;
  for (const char* target : {"/api/v1/status", "/api/v1/models", "/api/v1/models/m/versions",
                             "/api/v1/versions?model=m", "/api/v1/workers"}) {
    EXPECT_EQ(Fault(target).code(), absl::StatusCode::kUnavailable) << target;
  }
}

}  // namespace
}  // namespace tensorhub::http
