// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// tensorhubctl publish and fetch: files go in and come out, bit for bit, or not at all.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <filesystem>

#include "tests/integration/cluster.h"
#include "tests/integration/ctl/checkpoint_files.h"
#include "tests/integration/ctl/ctl.h"
#include "tests/integration/worker/content.h"

namespace tensorhub::harness {
namespace {

using nlohmann::json;

class FilesTest : public testing::Test {
 protected:
  // The versions that can be fetched, oldest first.
  std::vector<uint64_t> Versions() {
    std::vector<uint64_t> versions;
    const json listed = ctl_.Json({"versions", "m/actor"});
    for (const json& version : listed.at("versions")) {
      if (version.at("state") == "visible") versions.push_back(version.at("version"));
    }
    return versions;
  }
  // Fetches into a folder that is not there yet, which then holds exactly these.
  void ExpectFetched(const std::string& version, const Files& files) {
    const std::string folder = dir_ / ("out-" + version);
    EXPECT_THAT(ctl_.Text({"fetch", "m/actor", version, folder}), StartsWith("fetched m/actor"));
    const Files fetched = FilesIn(folder);
    EXPECT_EQ(fetched.size(), files.size());
    for (const auto& [name, content] : files) {
      ASSERT_TRUE(fetched.contains(name)) << name;
      EXPECT_TRUE(fetched.at(name) == content) << name << " differs";
    }
    std::filesystem::remove_all(folder);
    EXPECT_EQ(NamesIn(dir_.path()), names_before_);
  }
  // A checkpoint of these files, to be published.
  std::string Make(const std::string& name, const Files& files) {
    WriteFiles(dir_ / name, files);
    names_before_ = NamesIn(dir_.path());
    return dir_ / name;
  }

  TempDir dir_;
  std::vector<std::string> names_before_;
  // Longer than any wait: a publisher that a test stops stays known.
  ServerProcess server_{{"--lease", "60s"}};
  Ctl ctl_{server_.address()};
};

TEST_F(FilesTest, ASingleFile) {
  const Files files = {
      {"odd.safetensors",
       SafetensorsFile(OddTensors(), 1, {{"format", "pt"}, {"note", "ä\n\"b\""}})}};
  const std::string folder = Make("in", files);
  const auto publisher = ctl_.Publish({"m/actor", "7", folder + "/odd.safetensors"});
  EXPECT_THAT(publisher->output().Text(), HasSubstr("m/actor version 7 (11 tensors, "));
  ExpectFetched("7", files);
  ExpectFetched("latest", files);
  Interrupt(*publisher);
}

TEST_F(FilesTest, AHuggingFaceDirectory) {
  const Files files = HuggingFaceModel(1);
  const auto publisher = ctl_.Publish({"m/actor", "1", Make("in", files)});
  ExpectFetched("1", files);
  const json fetched = ctl_.Json({"fetch", "m/actor", "latest", dir_ / "out"});
  EXPECT_EQ(fetched.at("model"), "m/actor");
  EXPECT_EQ(fetched.at("version"), 1);
  EXPECT_EQ(fetched.at("directory"), dir_ / "out");
  EXPECT_EQ(fetched.at("ranks"), 1);
  EXPECT_EQ(fetched.at("files"), 4);
  EXPECT_EQ(fetched.at("bytes"), 3 * (512 * 301 * 2 + 301 * 4));
  EXPECT_THAT(fetched.at("sources").get<std::string>(), StartsWith("ctl-publish-"));
  EXPECT_GT(fetched.at("total_seconds"), 0);
  EXPECT_TRUE(FilesIn(dir_ / "out") == files);
  Interrupt(*publisher);
}

TEST_F(FilesTest, SeveralFilesAndNoTensorAtAll) {
  const Files files = {{"a.safetensors", SafetensorsFile({{"w", "F32", {9}}}, 1)},
                       {"b.safetensors", SafetensorsFile({}, 1, {{"only", "metadata"}})}};
  const std::string folder = Make("in", files);
  const auto publisher = ctl_.Publish(
      {"m/actor", "2", folder + "/a.safetensors", folder + "/b.safetensors", "--wait"});
  ExpectFetched("2", files);
  Interrupt(*publisher);
}

TEST_F(FilesTest, TheLatestOfTwoVersions) {
  const Files old_files = HuggingFaceModel(1);
  const Files new_files = HuggingFaceModel(2);
  const auto old_publisher = ctl_.Publish({"m/actor", "1", Make("old", old_files)});
  const auto new_publisher = ctl_.Publish({"m/actor", "2", Make("new", new_files)});
  ExpectFetched("latest", new_files);
  ExpectFetched("1", old_files);
  EXPECT_EQ(Versions(), (std::vector<uint64_t>{1, 2}));
  // `latest` stays what it was; the version named is what could be had.
  Interrupt(*new_publisher);
  ExpectFailure(ctl_.Run({"fetch", "m/actor", "latest", dir_ / "out"}), 1,
                {"nobody holds version 2 of m/actor", "the newest one held is 1"});
  EXPECT_EQ(NamesIn(dir_.path()), names_before_);
  Interrupt(*old_publisher);
}

TEST_F(FilesTest, InterruptedPublishersAreGoneAtOnce) {
  const std::string folder = Make("in", HuggingFaceModel(1));
  for (const int signal : {SIGINT, SIGTERM}) {
    const auto publisher = ctl_.Publish({"m/actor", "5", folder, "--group", "the-group"});
    EXPECT_EQ(Versions(), std::vector<uint64_t>{5});
    publisher->Signal(signal);
    ExpectEndsWell(*publisher);
    EXPECT_EQ(Versions(), std::vector<uint64_t>{});
    EXPECT_EQ(ctl_.Json({"workers"}).at("workers"), json::array());
  }
}

TEST_F(FilesTest, PublishForAWhile) {
  const std::string folder = Make("in", HuggingFaceModel(1));
  const auto publisher =
      ctl_.Start({"publish", "m/actor", "5", folder, "--for", "300ms", "-o", "json"});
  ExpectEndsWell(*publisher);
  const json published = json::parse(publisher->output().Text());
  EXPECT_EQ(published.at("model"), "m/actor");
  EXPECT_EQ(published.at("version"), 5);
  EXPECT_EQ(published.at("tensors"), 9);
  EXPECT_EQ(published.at("bytes"), 3 * (512 * 301 * 2 + 301 * 4));
  EXPECT_EQ(Versions(), std::vector<uint64_t>{});
}

// The data of each tensor in a safetensors file.
std::map<std::string, std::string> TensorsIn(const std::string& file) {
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof(length));
  std::map<std::string, std::string> tensors;
  const json header = json::parse(file.substr(8, length));
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__") continue;
    const uint64_t begin = tensor.at("data_offsets")[0];
    tensors[name] =
        file.substr(8 + length + begin, tensor.at("data_offsets")[1].get<uint64_t>() - begin);
  }
  return tensors;
}

// A version of two ranks that no file was ever made of: the files' names and headers are ours.
TEST_F(FilesTest, AVersionOfTwoRanks) {
  Cluster cluster;
  const std::vector<Worker> trainers = cluster.JoinGroup("trainer", 2, "tensors=5 bytes=100003");
  for (const Worker& trainer : trainers) FillAndPublish(*trainer, 3);
  const Ctl ctl(cluster.server().address());
  EXPECT_EQ(ctl.Json({"fetch", "m/actor", "3", dir_ / "out"}).at("ranks"), 2);
  const Files files = FilesIn(dir_ / "out");
  ASSERT_EQ(files.size(), 2u);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    const std::string name = "model-rank-0000" + std::to_string(rank + 1) + "-of-00002.safetensors";
    ASSERT_TRUE(files.contains(name));
    const auto tensors = TensorsIn(files.at(name));
    EXPECT_EQ(tensors.size(), 5u);
    for (const auto& [tensor, data] : tensors) {
      EXPECT_EQ(worker::FirstDifference({3, rank, tensor}, data.data(), data.size()), std::nullopt);
    }
  }
}

// Whoever tries it with files: as several ranks hold it, as whole tensors, and as others cut it.
TEST_F(FilesTest, TensorsCutByRows) {
  const std::vector<FileTensor> tensors = {{"embed", "F32", {1000, 64}},
                                           {"odd", "BF16", {5, 3}},
                                           {"norm", "F16", {64}},
                                           {"scale", "F32", {}}};
  const std::string whole = SafetensorsFile(tensors, 7);
  const std::string folder = Make("in", {{"model.safetensors", whole}, {"config.json", "{}"}});
  const auto publisher = ctl_.Publish({"m/actor", "1", folder, "--ranks", "3"});
  ctl_.Text({"fetch", "m/actor", "1", dir_ / "three"});
  EXPECT_EQ(NamesIn(dir_ / "three"),
            (std::vector<std::string>{"config.json", "model-rank-00001-of-00003.safetensors",
                                      "model-rank-00002-of-00003.safetensors",
                                      "model-rank-00003-of-00003.safetensors"}));
  ctl_.Text({"fetch", "m/actor", "1", dir_ / "two", "--ranks", "2"});
  EXPECT_EQ(NamesIn(dir_ / "two"),
            (std::vector<std::string>{"config.json", "model-rank-00001-of-00002.safetensors",
                                      "model-rank-00002-of-00002.safetensors"}));
  ctl_.Text({"fetch", "m/actor", "1", dir_ / "whole", "--ranks", "1"});
  const Files fetched = FilesIn(dir_ / "whole");
  EXPECT_EQ(TensorsIn(fetched.at("model.safetensors")), TensorsIn(whole));
  EXPECT_EQ(fetched.at("config.json"), "{}");
  for (const char* ranks : {"0", "65"}) {
    ExpectFailure(ctl_.Run({"fetch", "m/actor", "1", dir_ / "out", "--ranks", ranks}), 2,
                  {"--ranks", "is no number of ranks; give 1 to 64"});
    ExpectFailure(ctl_.Run({"publish", "m/actor", "2", folder, "--ranks", ranks}), 2,
                  {"--ranks", "is no number of ranks; give 1 to 64"});
  }
  Interrupt(*publisher);
}

// What does not say where it lies in the whole cannot be cut anew.
TEST_F(FilesTest, RanksThatAreNoSlices) {
  Cluster cluster;
  const std::vector<Worker> trainers = cluster.JoinGroup("trainer", 2, "tensors=5 bytes=100003");
  for (const Worker& trainer : trainers) FillAndPublish(*trainer, 3);
  const Ctl ctl(cluster.server().address());
  ExpectFailure(ctl.Run({"fetch", "m/actor", "3", dir_ / "out", "--ranks", "1"}), 1,
                {"a rank does not say which slice", "leave --ranks out"});
  EXPECT_FALSE(std::filesystem::exists(dir_ / "out"));
}

TEST_F(FilesTest, GoingBackToAnOlderVersion) {
  const Files files = HuggingFaceModel(1);
  const std::string folder = Make("in", files);
  Interrupt(*ctl_.Publish({"m/actor", "7", folder}));
  ExpectFailure(ctl_.Run({"publish", "m/actor", "5", folder}), 1,
                {"version 5 is below the latest, 7"});
  const auto publisher = ctl_.Publish({"m/actor", "5", folder, "--supersede"});
  ExpectFetched("latest", files);
  EXPECT_EQ(Versions(), std::vector<uint64_t>{5});
  Interrupt(*publisher);
}

TEST_F(FilesTest, AFetchTakesNoLongerThanItsTimeout) {
  const auto publisher = ctl_.Publish({"m/actor", "1", Make("in", HuggingFaceModel(1))});
  publisher->Signal(SIGSTOP);
  ExpectFailure(ctl_.Run({"fetch", "m/actor", "1", dir_ / "out", "--timeout", "500ms"}), 1,
                {"version 1", "of 8 chunks here", "timeout"});
  EXPECT_EQ(NamesIn(dir_.path()), names_before_);
  publisher->Signal(SIGCONT);
}

TEST_F(FilesTest, AnInterruptedFetchLeavesNothing) {
  const auto publisher =
      ctl_.Publish({"m/actor", "1", Make("in", HuggingFaceModel(1)), "--location", "us/dc1/r1/h1"});
  publisher->Signal(SIGSTOP);
  const auto reader = ctl_.Start({"fetch", "m/actor", "1", dir_ / "out"});
  ASSERT_TRUE(Eventually(seconds(20), [&] { return NamesIn(dir_.path()) != names_before_; }));
  ASSERT_TRUE(Eventually(seconds(20), [&] {
    return !ctl_.Json({"transfers"}).at("transfers").empty();
  })) << reader->Describe();
  reader->Signal(SIGINT);
  EXPECT_EQ(reader->Wait(seconds(20)), 128 + SIGINT);
  EXPECT_EQ(reader->output().Text(), "");
  EXPECT_EQ(NamesIn(dir_.path()), names_before_);
  publisher->Signal(SIGCONT);
}

}  // namespace
}  // namespace tensorhub::harness
