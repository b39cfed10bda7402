// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// tensorhubctl's views of the hub: what is in them, as tables and as JSON.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "tests/integration/cluster.h"
#include "tests/integration/ctl/checkpoint_files.h"
#include "tests/integration/ctl/ctl.h"

namespace tensorhub::harness {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::MatchesRegex;

constexpr char kId[] = "[0-9a-f]{32}";
constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();

class ViewsTest : public testing::Test {
 protected:
  ViewsTest() { WriteFiles(dir_ / "in", HuggingFaceModel(1)); }

  std::unique_ptr<Process> Publish(const std::string& version, const std::string& group) {
    return ctl_.Publish(
        {"m/actor", version, dir_ / "in", "--group", group, "--location", "us/dc1/r1/h1"});
  }
  // The words of each line.
  std::vector<Arguments> Table(Arguments words) {
    std::istringstream text(ctl_.Text(std::move(words)));
    std::vector<Arguments> rows;
    for (std::string line; std::getline(text, line);) {
      std::istringstream cells(line);
      rows.emplace_back();
      for (std::string cell; cells >> cell;) rows.back().push_back(cell);
    }
    return rows;
  }

  const uint64_t bytes_ = 3 * (512 * 301 * 2 + 301 * 4);
  TempDir dir_;
  // Longer than any wait: a publisher that a test stops stays known.
  ServerProcess server_{{"--lease", "60s"}};
  Ctl ctl_{server_.address()};
};

TEST_F(ViewsTest, NothingYet) {
  EXPECT_THAT(ctl_.Text({"models"}), StartsWith("No models yet"));
  EXPECT_THAT(ctl_.Text({"workers"}), StartsWith("No workers"));
  EXPECT_THAT(ctl_.Text({"transfers"}), StartsWith("No transfers"));
  for (const std::string verb : {"models", "workers", "transfers"}) {
    EXPECT_EQ(ctl_.Json({verb}), (json{{verb, json::array()}}));
  }
}

TEST_F(ViewsTest, Models) {
  const auto publisher = Publish("7", "g");
  EXPECT_EQ(ctl_.Json({"models"}).at("models"), json::array({{{"model", "m/actor"},
                                                              {"latest", 7},
                                                              {"versions", 1},
                                                              {"replicas", 1},
                                                              {"workers", 1},
                                                              {"keep_latest", 0},
                                                              {"term", 0}}}));
  EXPECT_THAT(Table({"models"}), ElementsAre(Arguments{"MODEL", "LATEST", "VERSIONS", "REPLICAS",
                                                       "WORKERS", "KEEP", "TERM"},
                                             Arguments{"m/actor", "7", "1", "1", "1", "0", "0"}));
}

TEST_F(ViewsTest, Drain) {
  ExpectFailure(ctl_.Run({"drain", "m/actor/g"}), 1, {"\"m/actor/g\"", "tensorhubctl workers"});
  const auto first = Publish("7", "g");
  // It alone has the version: it may go, and the version with it.
  EXPECT_EQ(ctl_.Text({"drain", "m/actor/g/0"}),
            "m/actor/g/0: nobody reads from it; nobody else in service has version 7 whole, which "
            "ends with it\n");
  EXPECT_EQ(ctl_.Json({"workers"}).at("workers").at(0).at("withdrawn"), true);
  EXPECT_THAT(ctl_.Text({"workers"}), testing::HasSubstr("out of service"));
  EXPECT_EQ(ctl_.Text({"drain", "m/actor/g", "--undo"}), "");
  EXPECT_EQ(ctl_.Json({"workers"}).at("workers").at(0).at("withdrawn"), false);
  // Not so if it is wanted, until somebody else keeps it.
  ctl_.Text({"retain", "m/actor", "1"});
  const Finished waits = ctl_.Run({"drain", "m/actor/g", "--timeout", "300ms", "--every", "100ms"});
  EXPECT_EQ(waits.exit_code, 1);
  EXPECT_THAT(waits.output, testing::HasSubstr("version 7, which is wanted (latest), is kept by"));
  EXPECT_THAT(waits.errors, testing::HasSubstr("--undo"));
  EXPECT_THAT(ctl_.Text({"drain", "m/actor/g", "--force"}),
              StartsWith("m/actor/g/0: nobody reads"));
  const auto second = Publish("7", "h");
  EXPECT_EQ(ctl_.Text({"drain", "m/actor/g"}), "m/actor/g/0: nobody reads from it\n");
  const json drained = ctl_.Json({"drain", "m/actor/g"}).at("workers").at(0);
  EXPECT_EQ(drained.at("out"), true);
  EXPECT_EQ(drained.at("alone"), false);
  EXPECT_EQ(drained.at("version"), 7);
}

TEST_F(ViewsTest, Tree) {
  ExpectFailure(ctl_.Run({"tree", "m/actor"}), 1, {"unknown model m/actor"});
  const auto first = Publish("7", "g");
  const auto second = Publish("7", "h");
  EXPECT_EQ(ctl_.Text({"tree", "m/actor"}),
            "m/actor version 7\ng/0  complete  us/dc1/r1/h1\nh/0  complete  us/dc1/r1/h1\n");
  EXPECT_EQ(ctl_.Text({"tree", "m/actor", "8"}), "Nobody holds m/actor version 8.\n");
  const json tree = ctl_.Json({"tree", "m/actor", "latest"});
  EXPECT_EQ(tree.at("version"), 7);
  ASSERT_EQ(tree.at("tree").size(), 2u);
  EXPECT_EQ(tree.at("tree")[0].at("group"), "g");
  EXPECT_EQ(tree.at("tree")[0].at("readers"), json::array());
  EXPECT_THAT(ctl_.Text({"tree", "m/actor", "--dot"}), StartsWith("digraph \"m/actor version 7\""));
}

TEST_F(ViewsTest, Explain) {
  ExpectFailure(ctl_.Run({"explain", "m/actor"}), 1, {"m/actor", "nobody has joined"});
  const auto publisher = Publish("7", "g");
  EXPECT_THAT(ctl_.Text({"explain", "m/actor"}), StartsWith("No worker"));
  ctl_.Text({"fetch", "m/actor", "7", dir_ / "out"});
  const json fetches = ctl_.Json({"explain", "m/actor", "7"}).at("fetches");
  ASSERT_EQ(fetches.size(), 1u);
  const std::string group = fetches[0].at("group");
  EXPECT_EQ(ctl_.Json({"explain", "m/actor", "7", group}).at("fetches").size(), 1u);
  EXPECT_EQ(fetches[0].at("outcome"), "done");
  EXPECT_TRUE(fetches[0].at("read_ms").is_number());
  ASSERT_EQ(fetches[0].at("choices").size(), 1u);
  EXPECT_EQ(fetches[0].at("choices")[0].at("source"), "g/0");
  EXPECT_EQ(fetches[0].at("choices")[0].at("why"), "no other can serve");
  const std::string text = ctl_.Text({"explain", "m/actor", "latest"});
  EXPECT_THAT(text, StartsWith(group + "/0: version 7, done, joined "));
  EXPECT_THAT(text, HasSubstr("from g/0 ("));
  EXPECT_EQ(ctl_.Json({"explain", "m/actor", "6"}).at("fetches"), json::array());
  EXPECT_EQ(ctl_.Json({"explain", "m/actor", "7", "g"}).at("fetches"), json::array());
}

TEST_F(ViewsTest, Top) {
  const auto publisher = Publish("7", "g");
  const std::string text = ctl_.Text({"top", "--count", "1"});
  EXPECT_THAT(text, StartsWith("tensorhub " + server_.address() + "  workers 1  reads 0"));
  EXPECT_THAT(text, HasSubstr("m/actor"));
  EXPECT_THAT(text, HasSubstr("Nobody reads just now."));
  const json look = ctl_.Json({"top", "--count", "1"});
  EXPECT_EQ(look.at("workers"), 1);
  EXPECT_EQ(look.at("models")[0].at("latest"), 7);
  EXPECT_EQ(look.at("reads"), json::array());
  ExpectFailure(ctl_.Run({"top", "--every", "1ms"}), 1, {"--every", "100ms"});
  const auto endless = ctl_.Start({"top", "--every", "100ms", "-o", "json"});
  EXPECT_TRUE(endless->output().WaitFor("bytes_per_second", seconds(30))) << endless->Describe();
  endless->Signal(SIGINT);
  ExpectEndsWell(*endless);
}

// As bash asks for it: the words so far, the last of them to be completed.
TEST_F(ViewsTest, CompletionInBash) {
  const auto publisher = Publish("7", "g");
  const auto complete = [&](const std::string& words, int at) {
    const std::string script = "PATH=" + BinaryPath("") +
                               ":$PATH; export TENSORHUB_SERVER=" + server_.address() +
                               "; source <(tensorhubctl completion bash); COMP_WORDS=(" + words +
                               "); COMP_CWORD=" + std::to_string(at) +
                               "; _tensorhubctl_complete; echo \"${COMPREPLY[*]}\"";
    const Finished run = RunToEnd({.binary = "/bin/bash", .args = {"-c", script}});
    EXPECT_EQ(run.exit_code, 0) << run.errors;
    return run.output;
  };
  EXPECT_EQ(complete("tensorhubctl tr", 1), "transfers tree trace\n");
  EXPECT_EQ(complete("tensorhubctl tree --d", 2), "--dot\n");
  EXPECT_EQ(complete("tensorhubctl --server x tree ''", 4), "m/actor\n");
  EXPECT_EQ(complete("tensorhubctl tree m/actor ''", 3), "\n");  // files, by default
  EXPECT_EQ(complete("tensorhubctl status ''", 2), "\n");
  ExpectFailure(ctl_.Run({"completion", "tcsh"}), 2, {"tcsh", "bash, zsh, fish"});
}

TEST_F(ViewsTest, WhatIsKeptAndWhy) {
  const auto publisher = Publish("7", "g");
  EXPECT_EQ(ctl_.Text({"retain", "m/actor", "2"}), "");
  EXPECT_EQ(ctl_.Text({"pin", "m/actor", "7", "--name", "best", "--for", "1h"}), "");
  const auto kept_by = [this] {
    return ctl_.Json({"versions", "m/actor"}).at("versions")[0].at("kept_by");
  };
  EXPECT_EQ(kept_by(), (json{"latest", "pin best"}));
  EXPECT_EQ(ctl_.Json({"models"}).at("models")[0].at("keep_latest"), 2);
  EXPECT_EQ(ctl_.Text({"unpin", "m/actor", "--name", "best"}), "");
  EXPECT_EQ(ctl_.Text({"retain", "m/actor", "0"}), "");
  EXPECT_EQ(kept_by(), json::array());
  ExpectFailure(ctl_.Run({"unpin", "m/actor"}), 1, {"no pin named \"pinned\""});
  ExpectFailure(ctl_.Run({"pin", "m/actor", "8"}), 1, {"version 8", "does not exist"});
  ExpectFailure(ctl_.Run({"retain", "nobody", "1"}), 1, {"nobody"});
  ExpectFailure(ctl_.Run({"retain", "m/actor", "1025"}), 1, {"keep_latest 1025", "1024"});
}

TEST_F(ViewsTest, Supersede) {
  const auto old = Publish("7", "g");
  const auto newer = Publish("8", "h");
  EXPECT_EQ(ctl_.Json({"models"}).at("models")[0].at("latest"), 8);
  // It ends as soon as it hears of it, and its version with it.
  newer->Signal(SIGSTOP);
  EXPECT_EQ(ctl_.Text({"supersede", "m/actor", "7"}), "");
  const json model = ctl_.Json({"models"}).at("models")[0];
  EXPECT_EQ(model.at("latest"), 7);
  EXPECT_EQ(model.at("term"), 1);
  const json versions = ctl_.Json({"versions", "m/actor"}).at("versions");
  ASSERT_EQ(versions.size(), 2u);
  EXPECT_EQ(versions[0].at("state"), "visible");
  EXPECT_EQ(versions[1].at("state"), "superseded");
  ExpectFailure(ctl_.Run({"supersede", "m/actor", "6"}), 1, {"version 6", "does not exist"});
  // Who serves it says that it is over, and ends.
  newer->Signal(SIGCONT);
  EXPECT_EQ(newer->Wait(seconds(20)), 1);
  EXPECT_THAT(newer->errors().Text(), HasSubstr("is superseded: term 1 of the model was begun"));
}

TEST_F(ViewsTest, Versions) {
  const auto publisher = Publish(std::to_string(kHuge), "g");
  const json versions = ctl_.Json({"versions", "m/actor"}).at("versions");
  ASSERT_EQ(versions.size(), 1u);
  const json& version = versions[0];
  EXPECT_EQ(version.at("version").get<uint64_t>(), kHuge);
  EXPECT_EQ(version.at("state"), "visible");
  EXPECT_EQ(version.at("world_size"), 1);
  EXPECT_EQ(version.at("bytes"), bytes_);
  EXPECT_GT(version.at("chunk_bytes"), 0);
  EXPECT_EQ(version.at("complete_replicas"), 1);
  EXPECT_EQ(version.at("filling_replicas"), 0);
  EXPECT_THAT(version.at("publication").get<std::string>(), MatchesRegex(kId));
  ASSERT_EQ(version.at("layouts").size(), 1u);
  EXPECT_THAT(version.at("layouts")[0].get<std::string>(), MatchesRegex(kId));
  ASSERT_EQ(version.at("attachments").size(), 1u);
  EXPECT_THAT(version.at("attachments")[0].get<std::string>(), MatchesRegex(kId));
  const std::vector<Arguments> table = Table({"versions", "m/actor"});
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[0][0], "VERSION");
  EXPECT_EQ(table[1][0], std::to_string(kHuge));
  EXPECT_EQ(table[1].back(), version.at("publication").get<std::string>());
}

TEST_F(ViewsTest, Replicas) {
  const auto first = Publish("1", "group-1");
  const auto second = Publish("2", "group-2");
  EXPECT_EQ(ctl_.Json({"replicas", "m/actor"}).at("replicas").size(), 2u);
  const json replicas = ctl_.Json({"replicas", "m/actor", "2"}).at("replicas");
  ASSERT_EQ(replicas.size(), 1u);
  const json& replica = replicas[0];
  EXPECT_EQ(replica.at("medium"), "host");
  EXPECT_EQ(replica.at("version"), 2);
  EXPECT_EQ(replica.at("group"), "group-2");
  EXPECT_EQ(replica.at("rank"), 0);
  EXPECT_EQ(replica.at("state"), "complete");
  EXPECT_EQ(replica.at("readers"), 0);
  EXPECT_GE(replica.at("chunks"), 1);
  EXPECT_EQ(replica.at("valid_chunks"), replica.at("chunks"));
  EXPECT_EQ(replica.at("location"), "us/dc1/r1/h1");
  EXPECT_GT(replica.at("generation"), 0);
  EXPECT_THAT(replica.at("incarnation").get<std::string>(), MatchesRegex("[0-9a-f]{16}"));
  const std::vector<Arguments> table = Table({"replicas", "m/actor"});
  ASSERT_EQ(table.size(), 3u);
  EXPECT_EQ((Arguments{table[1].begin(), table[1].begin() + 5}),
            (Arguments{"1", "group-1", "0", "complete", "100%"}));
  EXPECT_THAT(ctl_.Text({"replicas", "m/actor", "3"}), StartsWith("Nobody holds version 3"));
}

TEST_F(ViewsTest, Workers) {
  const auto publisher = Publish("4", "the-group");
  const json workers = ctl_.Json({"workers"}).at("workers");
  ASSERT_EQ(workers.size(), 1u);
  const json& worker = workers[0];
  EXPECT_EQ(worker.at("model"), "m/actor");
  EXPECT_EQ(worker.at("group"), "the-group");
  EXPECT_EQ(worker.at("rank"), 0);
  EXPECT_EQ(worker.at("world_size"), 1);
  EXPECT_EQ(worker.at("version"), 4);
  EXPECT_EQ(worker.at("connected"), true);
  EXPECT_EQ(worker.at("spot"), false);
  EXPECT_GT(worker.at("lease_left_ms"), 0);
  EXPECT_EQ(worker.at("location"), "us/dc1/r1/h1");
  const std::vector<Arguments> table = Table({"workers"});
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ((Arguments{table[1].begin(), table[1].begin() + 7}),
            (Arguments{"m/actor", "the-group", "0", "1", "4", "yes", "no"}));
}

TEST_F(ViewsTest, Transfers) {
  const auto publisher = Publish("4", "the-group");
  publisher->Signal(SIGSTOP);
  const auto reader =
      ctl_.Start({"fetch", "m/actor", "4", dir_ / "out", "--location", "us/dc1/r1/h2"});
  json transfers;
  ASSERT_TRUE(Eventually(seconds(20), [&] {
    transfers = ctl_.Json({"transfers"}).at("transfers");
    return !transfers.empty();
  })) << reader->Describe();
  ASSERT_EQ(transfers.size(), 1u);
  EXPECT_EQ(transfers[0].at("model"), "m/actor");
  EXPECT_EQ(transfers[0].at("version"), 4);
  EXPECT_THAT(transfers[0].at("reader_group").get<std::string>(), StartsWith("ctl-fetch-"));
  EXPECT_EQ(transfers[0].at("reader_rank"), 0);
  EXPECT_EQ(transfers[0].at("source_group"), "the-group");
  EXPECT_EQ(transfers[0].at("source_rank"), 0);
  EXPECT_EQ(transfers[0].at("tier"), "rack");
  EXPECT_EQ(transfers[0].at("valid_chunks"), 0);
  EXPECT_EQ(transfers[0].at("way"), nullptr);
  publisher->Signal(SIGCONT);
  ExpectEndsWell(*reader);
  EXPECT_TRUE(FilesIn(dir_ / "out") == HuggingFaceModel(1));
}

// Two ranks have it by rows, and somebody reads it as one.
TEST_F(ViewsTest, HowItIsCut) {
  const auto publisher = ctl_.Publish({"m/actor", "4", dir_ / "in", "--ranks", "2"});
  publisher->Signal(SIGSTOP);
  const auto reader = ctl_.Start({"fetch", "m/actor", "4", dir_ / "out", "--ranks", "1"});
  json transfers;
  ASSERT_TRUE(Eventually(seconds(20), [&] {
    transfers = ctl_.Json({"transfers"}).at("transfers");
    return !transfers.empty();
  })) << reader->Describe();
  EXPECT_THAT(transfers[0].at("sharding").get<std::string>(), MatchesRegex("[0-9a-f]{32}"));
  EXPECT_EQ(transfers[0].at("full"), true);
  const json replicas = ctl_.Json({"replicas", "m/actor"});
  for (const json& replica : replicas.at("replicas")) {
    const bool published = replica.at("state") == "complete";
    EXPECT_EQ(replica.at("sharding"), published ? json() : transfers[0].at("sharding"));
    EXPECT_EQ(replica.at("full"), true);
  }
  publisher->Signal(SIGCONT);
  ExpectEndsWell(*reader);
}

TEST_F(ViewsTest, Status) {
  const auto publisher = Publish("4", "g");
  const json status = ctl_.Json({"status"});
  EXPECT_EQ(status.at("server"), server_.address());
  EXPECT_EQ(status.at("listen"), server_.address());
  EXPECT_EQ(status.at("data_dir"), server_.data_dir());
  EXPECT_EQ(status.at("server_version"), TENSORHUB_VERSION);
  EXPECT_THAT(status.at("store_id").get<std::string>(), MatchesRegex(kId));
  EXPECT_EQ(status.at("epoch"), 1);
  EXPECT_EQ(status.at("recovering"), false);
  EXPECT_EQ(status.at("models"), 1);
  EXPECT_EQ(status.at("workers"), 1);
  EXPECT_EQ(status.at("connected"), 1);
  EXPECT_EQ(status.at("references"), 1);
  EXPECT_EQ(status.at("transfers"), 0);
  const auto before = status.at("refused");
  ExpectFailure(ctl_.Run({"retain", "nobody", "1"}), 1, {"nobody"});
  const auto refused = ctl_.Json({"status"}).at("refused");
  EXPECT_EQ(refused.at("NOT_FOUND"), before.value("NOT_FOUND", 0) + 1);
  EXPECT_THAT(ctl_.Text({"status"}), HasSubstr("\nRefused:    "));
  EXPECT_THAT(ctl_.Text({"status"}),
              HasSubstr("\nStore:      " + status.at("store_id").get<std::string>() + "\n"));
}

// The next event of `watch`, without what differs from run to run.
json NextEvent(Process& watch) {
  const auto line = watch.output().Next(seconds(20));
  EXPECT_TRUE(line.has_value()) << watch.Describe();
  if (!line.has_value()) return {};
  json event = json::parse(*line, nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(event.is_object()) << *line;
  event.erase("revision");
  return event;
}

json Change(const std::string& kind, uint64_t version) {
  return {{"kind", kind}, {"version", version}, {"group", "g"}};
}

TEST_F(ViewsTest, WatchSeesAVersionComeAndGo) {
  const auto watch = ctl_.Start({"watch", "m/actor", "-o", "json"});
  EXPECT_EQ(
      NextEvent(*watch),
      (json{
          {"kind", "listing"}, {"latest", nullptr}, {"workers", 0}, {"versions", json::array()}}));
  const auto publisher = Publish("6", "g");
  EXPECT_EQ(NextEvent(*watch), Change("worker-joined", 0));
  EXPECT_EQ(NextEvent(*watch), Change("version-visible", 6));
  EXPECT_EQ(NextEvent(*watch), Change("replica-complete", 6));
  Interrupt(*publisher);
  EXPECT_EQ(NextEvent(*watch), Change("replica-gone", 6));
  EXPECT_EQ(NextEvent(*watch), Change("version-gone", 6));
  EXPECT_EQ(NextEvent(*watch), Change("worker-left", 0));
  Interrupt(*watch);
}

TEST_F(ViewsTest, WatchSeesATermBegin) {
  const auto old = Publish("7", "g");
  const auto newer = Publish("8", "h");
  const auto watch = ctl_.Start({"watch", "m/actor", "-o", "json"});
  EXPECT_EQ(NextEvent(*watch).at("latest"), 8);
  EXPECT_EQ(ctl_.Text({"supersede", "m/actor", "7"}), "");
  EXPECT_EQ(NextEvent(*watch), (json{{"kind", "term-begun"}, {"version", 8}, {"group", ""}}));
  Interrupt(*watch);
}

TEST_F(ViewsTest, WatchEndsWhenItHasSeenEnough) {
  const auto publisher = Publish("6", "g");
  const std::string seen = ctl_.Text({"watch", "m/actor", "--count", "1"});
  EXPECT_THAT(seen, HasSubstr("m/actor: 1 workers, latest version 6; 6 visible, "));
  EXPECT_THAT(ctl_.Text({"watch", "m/actor", "--for", "100ms"}), HasSubstr("latest version 6"));
}

TEST_F(ViewsTest, WatchRidesOutARestart) {
  const auto watch = ctl_.Start({"watch", "m/actor", "-o", "json"});
  EXPECT_EQ(NextEvent(*watch).at("kind"), "listing");
  server_.Restart();
  EXPECT_EQ(NextEvent(*watch).at("kind"), "listing");
  watch->Signal(SIGINT);
  EXPECT_EQ(watch->Wait(seconds(20)), 0);
  EXPECT_THAT(watch->errors().Text(), HasSubstr("connected to " + server_.address() + " again"));
}

}  // namespace
}  // namespace tensorhub::harness
