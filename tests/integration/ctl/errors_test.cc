// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What goes wrong with tensorhubctl: one line that names the thing and what to do, the right exit
// code, and nothing left behind.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/integration/cluster.h"
#include "tests/integration/ctl/checkpoint_files.h"
#include "tests/integration/ctl/ctl.h"

namespace tensorhub::harness {
namespace {

class ErrorsTest : public testing::Test {
 protected:
  // The file's content is refused with a line that names the file and these.
  void ExpectRefused(const std::string& content, Arguments named) {
    const std::string path = dir_ / "bad.safetensors";
    std::ofstream(path, std::ios::binary) << content;
    named.push_back(path);
    ExpectFailure(ctl_.Run({"publish", "m/actor", "1", path}), 1, named);
  }
  void ExpectNobodyJoined() {
    EXPECT_EQ(ctl_.Json({"workers"}).at("workers"), nlohmann::json::array());
  }

  TempDir dir_;
  ServerProcess server_;
  Ctl ctl_{server_.address()};
};

std::string Tensor(const std::string& name, const std::string& shape, const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":"U8","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}";
}

TEST_F(ErrorsTest, HeadersThatLie) {
  const std::string data(16, 'x');
  const std::string good = "{" + Tensor("w", "[16]", "[0,16]") + "}";
  ExpectRefused("", {"no safetensors file", "only 0 bytes"});
  ExpectRefused("short", {"no safetensors file", "only 5 bytes"});
  ExpectRefused(RawSafetensors(good, data, 1u << 20), {"truncated", "claims 1048576 bytes"});
  ExpectRefused(RawSafetensors(good, data, ~uint64_t{0}), {"claims 18446744073709551615 bytes"});
  ExpectRefused(RawSafetensors("{", data), {"the header"});
  ExpectRefused(RawSafetensors(std::string(100000, '['), data), {"the header"});
  ExpectRefused(RawSafetensors("[]", data), {"no JSON object"});
  ExpectRefused(RawSafetensors(R"({"__metadata__":{"a":1}})", ""), {"__metadata__", "\"a\""});
  ExpectNobodyJoined();
}

TEST_F(ErrorsTest, TensorsThatLie) {
  const std::string data(16, 'x');
  const auto file = [&](const std::string& tensors) {
    return RawSafetensors("{" + tensors + "}", data);
  };
  ExpectRefused(file(Tensor("a", "[16]", "[0,16]") + "," + Tensor("b", "[8]", "[8,16]")),
                {"tensor \"b\" overlaps"});
  ExpectRefused(file(Tensor("w", "[32]", "[0,32]")), {"truncated", "tensor \"w\"", "has 16 bytes"});
  ExpectRefused(file(Tensor("w", "[8]", "[0,8]")), {"8 bytes after its last tensor"});
  ExpectRefused(file(Tensor("w", "[8]", "[8,16]")), {"tensor \"w\"", "hole"});
  ExpectRefused(file(Tensor("w", "[16]", "[16,0]")), {"tensor \"w\"", "data_offsets"});
  ExpectRefused(file(Tensor("w", "[15]", "[0,16]")), {"tensor \"w\"", "16 bytes"});
  ExpectRefused(file(Tensor("w", "[18446744073709551615,2]", "[0,16]")), {"tensor \"w\""});
  ExpectRefused(file(Tensor("w", "[16]", "[18446744073709551600,18446744073709551615]")),
                {"tensor \"w\""});
  ExpectRefused(file(Tensor("w", "[-16]", "[0,16]")), {"tensor \"w\"", "shape"});
  ExpectRefused(file(Tensor("w\\n\\u001b", "[16]", "[0,17]")), {"tensor \"w\\n\\033\""});
  ExpectNobodyJoined();
}

TEST_F(ErrorsTest, PathsThatAreNoCheckpoint) {
  ExpectFailure(ctl_.Run({"publish", "m/actor", "1", dir_ / "missing"}), 1, {dir_ / "missing"});
  std::filesystem::create_directory(dir_ / "empty");
  ExpectFailure(ctl_.Run({"publish", "m/actor", "1", dir_ / "empty"}), 1,
                {dir_ / "empty", "safetensors"});
  ExpectFailure(ctl_.Run({"publish", "m/actor", "1", "/dev/null"}), 1, {"/dev/null"});
  Files model = HuggingFaceModel(1);
  model.erase("model-00002-of-00003.safetensors");
  WriteFiles(dir_ / "model", model);
  ExpectFailure(ctl_.Run({"publish", "m/actor", "1", dir_ / "model"}), 1,
                {dir_ / "model", "model-00002-of-00003.safetensors"});
  ExpectNobodyJoined();
}

TEST_F(ErrorsTest, WhatNobodyHas) {
  ExpectFailure(ctl_.Run({"fetch", "m/none", "latest", dir_ / "out"}), 1,
                {"m/none", "tensorhubctl models"});
  ExpectFailure(ctl_.Run({"fetch", "m/none", "3", dir_ / "out"}), 1, {"m/none"});
  ExpectFailure(ctl_.Run({"versions", "m/none"}), 1, {"m/none"});
  ExpectFailure(ctl_.Run({"replicas", "m/none"}), 1, {"m/none"});
  WriteFiles(dir_ / "in", HuggingFaceModel(1));
  const auto publisher = ctl_.Publish({"m/actor", "1", dir_ / "in"});
  ExpectFailure(ctl_.Run({"fetch", "m/actor", "9", dir_ / "out"}), 1,
                {"version 9 of m/actor", "newest one held is 1"});
  EXPECT_EQ(NamesIn(dir_.path()), Arguments{"in"});
}

TEST_F(ErrorsTest, PublishesThatContradict) {
  WriteFiles(dir_ / "in", HuggingFaceModel(1));
  WriteFiles(dir_ / "other", {{"w.safetensors", SafetensorsFile({{"w", "F32", {9}}}, 1)}});
  const auto publisher = ctl_.Publish({"m/actor", "5", dir_ / "in", "--group", "g"});
  ExpectFailure(ctl_.Run({"publish", "m/actor", "5", dir_ / "other"}), 1, {"version 5", "layout"});
  ExpectFailure(ctl_.Run({"publish", "m/actor", "4", dir_ / "other"}), 1, {"4", "supersede"});
  ExpectFailure(ctl_.Run({"publish", "m/actor", "5", dir_ / "in", "--group", "g",
                          "--connect-timeout", "300ms"}),
                1, {"m/actor/g/0", "held by another worker"});
  EXPECT_EQ(ctl_.Json({"workers"}).at("workers").size(), 1u);
  Interrupt(*publisher);
}

TEST_F(ErrorsTest, PlacesThatCannotBeWritten) {
  WriteFiles(dir_ / "in", HuggingFaceModel(1));
  const auto publisher = ctl_.Publish({"m/actor", "1", dir_ / "in"});
  const auto fetch = [&](const std::string& to) { return ctl_.Run({"fetch", "m/actor", "1", to}); };
  ExpectFailure(fetch(dir_ / "in"), 1, {dir_ / "in", "no empty directory"});
  std::ofstream(dir_ / "file") << "mine";
  ExpectFailure(fetch(dir_ / "file"), 1, {dir_ / "file", "no empty directory"});
  ExpectFailure(fetch(dir_ / "file/out"), 1,
                {dir_ / "file/out", "Not a directory", "choose a place"});
  ExpectFailure(fetch(dir_ / "missing/out"), 1,
                {dir_ / "missing/out", "No such file", "choose a place"});
  // Nobody may make a folder there, root included.
  ExpectFailure(fetch("/proc/self/out"), 1, {"/proc/self", "choose another one"});
  ExpectFailure(fetch(dir_ / std::string(250, 'x')), 1, {dir_.path(), "choose a place"});
  EXPECT_EQ(NamesIn(dir_.path()), (Arguments{"file", "in"}));
  EXPECT_TRUE(FilesIn(dir_ / "in") == HuggingFaceModel(1));
}

// As with `| head -1`, whose next line nobody takes.
TEST_F(ErrorsTest, AWatchWhoseOutputIsLostEnds) {
  const Finished run =
      RunToEnd({.binary = "/bin/sh",
                .args = {"-c", R"(exec "$0" --server "$1" watch m/actor > /dev/full)",
                         BinaryPath("tensorhubctl"), server_.address()}});
  ExpectFailure(run, 1, {"standard output cannot be written"});
}

// R8: the data directory is lost, and with it which hub this is.
TEST_F(ErrorsTest, WorkersOfAHubWhoseDataIsLostAreAdopted) {
  const auto lost = ctl_.Json({"status"}).at("store_id").get<std::string>();
  WorkerProcess trainer;
  const auto join = [&](WorkerProcess& worker, const std::string& group) {
    ASSERT_THAT(worker.Do("connect server=" + server_.address() + " model=m group=" + group),
                testing::StartsWith("ok"));
    ASSERT_THAT(worker.Do("register"), testing::StartsWith("ok"));
  };
  join(trainer, "trainer");
  ASSERT_THAT(trainer.Do("fill 57"), testing::StartsWith("ok"));
  ASSERT_THAT(trainer.Do("publish 57"), testing::StartsWith("ok"));
  server_.Kill();
  for (const auto& entry : std::filesystem::directory_iterator(server_.data_dir())) {
    std::filesystem::remove_all(entry.path());
  }
  server_.Restart();
  ASSERT_TRUE(server_.process().errors().WaitFor("tensorhubctl adopt " + lost, seconds(60), 0));
  ExpectNobodyJoined();
  ExpectFailure(ctl_.Run({"adopt", "57"}), 2, {"57", "hub's id"});
  ExpectFailure(ctl_.Run({"adopt", ctl_.Json({"status"}).at("store_id").get<std::string>()}), 1,
                {"this hub's own"});
  EXPECT_EQ(ctl_.Text({"adopt", lost}), "");
  WorkerProcess rollout;
  join(rollout, "rollout");
  EXPECT_THAT(rollout.Do("fetch latest timeout=60000"), HasSubstr("version=57"));
  EXPECT_THAT(rollout.Do("check 57"), testing::StartsWith("ok"));
  ASSERT_THAT(trainer.Do("unpublish"), testing::StartsWith("ok"));
  // It is this hub's now, and so it is after a restart.
  server_.Restart();
  ASSERT_THAT(trainer.Do("fill 58"), testing::StartsWith("ok"));
  EXPECT_THAT(trainer.Do("publish 58"), testing::StartsWith("ok"));
  EXPECT_THAT(rollout.Do("fetch newer=57 timeout=60000"), HasSubstr("version=58"));
}

TEST_F(ErrorsTest, ServersThatAreNotThere) {
  WriteFiles(dir_ / "in", HuggingFaceModel(1));
  const std::vector<Arguments> calls = {{"models"},
                                        {"versions", "m/actor"},
                                        {"replicas", "m/actor"},
                                        {"workers"},
                                        {"transfers"},
                                        {"status"},
                                        {"watch", "m/actor"},
                                        {"publish", "m/actor", "1", dir_ / "in"},
                                        {"fetch", "m/actor", "1", dir_ / "out"},
                                        {"retain", "m/actor", "1"},
                                        {"pin", "m/actor", "1"},
                                        {"unpin", "m/actor"},
                                        {"supersede", "m/actor", "1"}};
  const std::string nobody = "127.0.0.1:" + std::to_string(FreePort());
  for (Arguments call : calls) {
    call.insert(call.end(), {"--connect-timeout", "200ms"});
    ExpectFailure(Ctl(nobody).Run(call), 1, {nobody, "start tensorhub-server"});
  }
  ExpectFailure(Ctl("nowhere.invalid:7070").Run({"models", "--connect-timeout", "200ms"}), 1,
                {"nowhere.invalid:7070"});
  EXPECT_EQ(NamesIn(dir_.path()), Arguments{"in"});
}

}  // namespace
}  // namespace tensorhub::harness
