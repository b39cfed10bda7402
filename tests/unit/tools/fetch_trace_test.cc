// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/fetch_trace.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

namespace tensorhub::ctl {
namespace {

using nlohmann::ordered_json;

v1::FetchInfo* Add(v1::ExplainFetchesResponse& response, const std::string& group, int64_t age_ms) {
  v1::FetchInfo* fetch = response.add_fetches();
  fetch->set_group(group);
  fetch->set_version(7);
  fetch->set_ended(true);
  fetch->set_age_ms(age_ms);
  fetch->set_join_ms(10);
  fetch->set_drain_ms(20);
  fetch->set_assign_ms(5);
  fetch->set_read_ms(100);
  fetch->set_commit_ms(3);
  return fetch;
}

void Choose(v1::FetchInfo& fetch, int64_t after_ms, const std::string& source) {
  v1::SourceChoiceInfo* choice = fetch.add_choices();
  choice->set_after_ms(after_ms);
  choice->set_group(source);
  choice->set_tier("rack");
}

// Two readers, of which one is moved from the trainer to the other.
std::vector<ordered_json> Example() {
  v1::ExplainFetchesResponse response;
  Choose(*Add(response, "first", 500), 35, "trainer");
  v1::FetchInfo* second = Add(response, "second", 450);
  Choose(*second, 35, "trainer");
  Choose(*second, 60, "first");
  return TraceOf("m", response);
}

using Track = std::pair<int, int>;
Track TrackOf(const ordered_json& event) {
  return {event.at("pid").get<int>(), event.at("tid").get<int>()};
}

std::vector<ordered_json> Slices(const std::string& name) {
  std::vector<ordered_json> found;
  for (const ordered_json& event : Example()) {
    if (event.at("ph") == "X" && event.at("name") == name) found.push_back(event);
  }
  return found;
}

TEST(FetchTraceTest, PhasesFollowOneAnother) {
  const auto reads = Slices("read");
  ASSERT_EQ(reads.size(), 2u);
  EXPECT_EQ(reads[0].at("ts"), 35'000);
  EXPECT_EQ(reads[0].at("dur"), 100'000);
  EXPECT_EQ(reads[1].at("ts"), 85'000);  // it joined 50 ms later
  EXPECT_EQ(Slices("commit")[0].at("ts"), 135'000);
  EXPECT_EQ(Slices("fetch version 7")[0].at("dur"), 138'000);
}

TEST(FetchTraceTest, ByTheTimeOfTheDay) {
  v1::ExplainFetchesResponse response;
  Add(response, "first", 500);
  for (const ordered_json& event : TraceOf("m", response, 1'000'000)) {
    if (event.at("ph") == "X" && event.at("name") == "join") {
      EXPECT_EQ(event.at("ts"), 999'500'000);
    }
  }
}

TEST(FetchTraceTest, ASourceServesUntilTheNextOneDoes) {
  const auto slices = Slices("serves second rank 0");
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0].at("ts"), 85'000);
  EXPECT_EQ(slices[0].at("dur"), 25'000);
  EXPECT_EQ(slices[1].at("ts"), 110'000);
  EXPECT_EQ(slices[1].at("dur"), 75'000);
  EXPECT_NE(TrackOf(slices[0]).first, TrackOf(slices[1]).first);
}

// What a viewer needs: names of all tracks, both ends of each arrow on a slice, slices that nest.
TEST(FetchTraceTest, IsWellFormed) {
  std::map<Track, std::string> names;
  std::map<Track, std::vector<std::pair<int64_t, int64_t>>> slices;
  std::map<uint64_t, std::map<std::string, ordered_json>> arrows;
  for (const ordered_json& event : Example()) {
    const std::string kind = event.at("ph");
    if (event.at("name") == "thread_name") names[TrackOf(event)] = event.at("args").at("name");
    if (kind == "X") {
      const int64_t begin = event.at("ts");
      slices[TrackOf(event)].emplace_back(begin, begin + event.at("dur").get<int64_t>());
    }
    if (kind == "s" || kind == "f") arrows[event.at("id")][kind] = event;
  }
  EXPECT_EQ(arrows.size(), 3u);
  for (const auto& [id, ends] : arrows) {
    ASSERT_EQ(ends.size(), 2u) << id;
    for (const auto& [kind, event] : ends) {
      const int64_t at = event.at("ts");
      bool on_slice = false;
      for (const auto& [begin, end] : slices[TrackOf(event)]) on_slice |= begin <= at && at <= end;
      EXPECT_TRUE(on_slice) << kind << " " << id;
    }
  }
  for (const auto& [track, spans] : slices) {
    EXPECT_TRUE(names.contains(track));
    for (const auto& one : spans) {
      for (const auto& other : spans) {
        const bool apart = one.second <= other.first || other.second <= one.first;
        const bool inside = (one.first >= other.first && one.second <= other.second) ||
                            (other.first >= one.first && other.second <= one.second);
        EXPECT_TRUE(apart || inside) << names[track];
      }
    }
  }
}

TEST(FetchTraceTest, NothingIsNothing) { EXPECT_TRUE(TraceOf("m", {}).empty()); }

}  // namespace
}  // namespace tensorhub::ctl
