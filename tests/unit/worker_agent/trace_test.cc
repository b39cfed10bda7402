// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "worker_agent/seen/trace_file.h"
#include "worker_agent/seen/trace_lines.h"

namespace tensorhub::agent {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

std::vector<json> EventsOf(TraceLines& trace) {
  std::vector<json> events;
  std::istringstream lines(trace.Take());
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(line, EndsWith(","));
    events.push_back(json::parse(line.substr(0, line.size() - 1)));
  }
  return events;
}

json Find(const std::vector<json>& events, const std::string& phase, const std::string& name) {
  for (const json& event : events) {
    if (event["ph"] == phase && event["name"] == name) return event;
  }
  ADD_FAILURE() << "no " << phase << " " << name;
  return json();
}

FetchRecord Fetch() {
  FetchRecord fetch;
  fetch.begin_us = 100;
  fetch.end_us = 900;
  fetch.version = 7;
  fetch.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  fetch.spans = {{0, 100, 200}, {3, 200, 900}};
  fetch.streams.push_back({.peer = 5,
                           .read = 3,
                           .source = {"m", "trainer", 1},
                           .tier = Tier::kRack,
                           .way = "served over tcp",
                           .bytes = 10,
                           .begin_us = 250,
                           .end_us = 800});
  return fetch;
}

TEST(TraceLinesTest, AFetchAndTheArrowToIt) {
  TraceLines reader({{"m", "rollout", 2}, 77});
  reader.Add(Fetch(), 1000);
  const std::vector<json> read = EventsOf(reader);
  EXPECT_EQ(Find(read, "M", "process_name")["args"]["name"], "m rollout rank 2");
  const json fetch = Find(read, "X", "fetch version 7");
  EXPECT_EQ(fetch["ts"], 1100);
  EXPECT_EQ(fetch["dur"], 800);
  EXPECT_THAT(fetch["args"]["traceparent"].get<std::string>(), HasSubstr("0af7651916cd43dd"));
  EXPECT_EQ(Find(read, "X", "read")["tid"], fetch["tid"]);
  const json stream = Find(read, "X", "reads trainer/1");
  EXPECT_EQ(stream["args"]["bytes"], 10);
  EXPECT_EQ(stream["args"]["tier"], "rack");
  const json end = Find(read, "f", "source");
  EXPECT_EQ(end["tid"], stream["tid"]);
  EXPECT_EQ(end["ts"], 1799) << "within the slice";

  TraceLines source({{"m", "trainer", 1}, 5});
  source.Add(ServeRecord{77, 3, 260, 790, 10, "closed"}, 1000);
  const std::vector<json> served = EventsOf(source);
  const json begin = Find(served, "s", "source");
  EXPECT_EQ(begin["id"], end["id"]);
  EXPECT_NE(begin["pid"], end["pid"]);
  EXPECT_EQ(Find(served, "X", "serves")["args"]["read"], begin["id"]);
}

TEST(TraceLinesTest, WhatOverlapsHasTracksOfItsOwn) {
  TraceLines source({{"m", "trainer", 1}, 5});
  source.Add(ServeRecord{77, 1, 0, 100, 0, "closed"}, 0);
  source.Add(ServeRecord{77, 2, 50, 150, 0, "closed"}, 0);
  source.Add(ServeRecord{77, 3, 100, 160, 0, "closed"}, 0);
  std::vector<int> tracks;
  for (const json& event : EventsOf(source)) {
    if (event["ph"] == "X") tracks.push_back(event["tid"]);
  }
  EXPECT_THAT(tracks, ElementsAre(10002, 10003, 10002));
}

TEST(TraceLinesTest, NamesOfAnyBytes) {
  TraceLines trace({{"m\"\xff", "g\n", 0}, 5});
  FetchRecord fetch = Fetch();
  fetch.status = absl::AbortedError("\"\xfe\n");
  trace.Add(fetch, 0);
  EXPECT_FALSE(EventsOf(trace).empty());
}

TEST(TraceFileTest, OneFileOfAFolder) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "trace_file_test";
  std::filesystem::create_directories(folder);
  auto file = *TraceFile::In(folder);
  EXPECT_EQ(*TraceFile::In(folder), file);
  file->Add("{},\n");
  const std::string path = file->path();
  EXPECT_THAT(path, EndsWith(TraceFile::kSuffix));
  file.reset();
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "[\n{},\n");
  EXPECT_NE((*TraceFile::In(folder))->path(), path) << "an old one is not written over";
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(absl::IsFailedPrecondition(TraceFile::In(folder).status()));
}

}  // namespace
}  // namespace tensorhub::agent
