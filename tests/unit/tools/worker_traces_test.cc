// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/worker_traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tensorhub::ctl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class WorkerTracesTest : public testing::Test {
 protected:
  WorkerTracesTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    Write("reader.trace.json", R"([
{"name":"process_name","cat":"m","ph":"M","pid":1},
{"name":"fetch version 7","cat":"m","ph":"X","args":{"version":7}},
{"name":"reads a/0","cat":"m","ph":"X","args":{"version":7,"read":"0x1"}},
{"name":"source","cat":"m","ph":"f","id":"0x1"},
{"name":"reads b/0","cat":"m","ph":"X","args":{"version":8,"read":"0x2"}},
)");
    Write("source.trace.json", R"([
{"name":"serves","cat":"m","ph":"X","args":{"read":"0x1"}},
{"name":"source","cat":"m","ph":"s","id":"0x1"},
{"name":"serves 2","cat":"m","ph":"X","args":{"read":"0x2"}},
{"name":"serves another","cat":"other","ph":"X","args":{"read":"0x3"}},
{"ph":7},
{"name":"cut","ca)");
    Write("notes.txt", "{}");
  }
  ~WorkerTracesTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  std::vector<std::string> Names(std::optional<uint64_t> version) {
    std::vector<std::string> names;
    const auto traces = ReadWorkerTraces(folder_, "m", version);
    for (const auto& event : traces->events) {
      names.push_back(event.at("name"));
    }
    return names;
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / "worker_traces_test";
};

TEST_F(WorkerTracesTest, AllOfAModel) {
  EXPECT_THAT(Names(std::nullopt),
              ElementsAre("process_name", "fetch version 7", "reads a/0", "source", "reads b/0",
                          "serves", "source", "serves 2"));
  const WorkerTraces traces = *ReadWorkerTraces(folder_, "m", std::nullopt);
  EXPECT_EQ(traces.files, 2u);
  EXPECT_EQ(traces.unread_lines, 2u);
}

TEST_F(WorkerTracesTest, WhatSourcesServedOfAVersion) {
  EXPECT_THAT(Names(7), ElementsAre("process_name", "fetch version 7", "reads a/0", "source",
                                    "serves", "source"));
  EXPECT_THAT(Names(8), ElementsAre("process_name", "reads b/0", "serves 2"));
  EXPECT_THAT(Names(9), ElementsAre("process_name"));
}

TEST_F(WorkerTracesTest, NothingThere) {
  EXPECT_THAT(ReadWorkerTraces(folder_, "another", std::nullopt)->events, IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(ReadWorkerTraces(folder_ / "x", "m", std::nullopt).status()));
}

}  // namespace
}  // namespace tensorhub::ctl
