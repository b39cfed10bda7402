// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/safetensors/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <set>

#include "common/limits.h"
#include "tests/unit/tools/files.h"
#include "tools/safetensors/directory_writer.h"

namespace tensorhub::safetensors {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// One tensor of bytes; the header is padded to make the data unaligned.
std::string FileOf(const std::string& tensor, const std::string& data) {
  const std::string size = std::to_string(data.size());
  return Raw("{\"" + tensor + R"(":{"dtype":"U8","shape":[)" + size + R"(],"data_offsets":[0,)" +
             size + "]}} ") +
         data;
}

std::string OpenError(const std::vector<std::string>& paths) {
  const auto checkpoint = Checkpoint::Open(paths);
  if (checkpoint.ok()) return "opened";
  const std::string message(checkpoint.status().message());
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  return message;
}

std::string OpenError(const std::string& path) { return OpenError(std::vector<std::string>{path}); }

// Loads, sends the attachment around, and writes all files again.
void RoundTrip(const std::vector<std::string>& paths, const std::string& out) {
  const auto checkpoint = Checkpoint::Open(paths);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  std::vector<std::byte> memory(checkpoint->contents().data_bytes());
  ASSERT_TRUE(checkpoint->Load(memory.data()).ok());
  const auto contents = Decode(Encode(checkpoint->contents()).value());
  ASSERT_TRUE(contents.ok()) << contents.status();
  auto writer = DirectoryWriter::Create(out, memory.size());
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE((*writer)->Write(*contents, memory.data()).ok());
  ASSERT_TRUE((*writer)->Commit().ok());
}

class CheckpointTest : public ::testing::Test {
 protected:
  // Two shards and their index.
  void WriteSharded(const std::string& index) {
    WriteTo(temp_ / "one.safetensors", FileOf("a", "first"));
    WriteTo(temp_ / "two.safetensors", FileOf("b", "second"));
    WriteTo(temp_ / "model.safetensors.index.json", index);
  }

  TempDirectory temp_;
  const std::string index_ =
      "{\n  \"metadata\": {\"total_size\": 11},\n"
      "  \"weight_map\": {\"a\": \"one.safetensors\", \"b\": \"two.safetensors\"}\n}\n";
};

TEST_F(CheckpointTest, OneFileComesBackBitForBit) {
  WriteTo(temp_ / "x.safetensors", FileOf("a", std::string(5'000'001, 'q')));
  RoundTrip({temp_ / "x.safetensors"}, temp_ / "out");
  EXPECT_EQ(ReadFrom(temp_ / "out/x.safetensors"), ReadFrom(temp_ / "x.safetensors"));
}

TEST_F(CheckpointTest, ShardsAndIndexComeBackBitForBit) {
  WriteSharded(index_);
  WriteTo(temp_ / "not-in-the-index.safetensors", "nonsense");
  RoundTrip({temp_.str()}, temp_ / "out");
  for (const char* name : {"one.safetensors", "two.safetensors", "model.safetensors.index.json"}) {
    EXPECT_EQ(ReadFrom(temp_ / "out" / name), ReadFrom(temp_ / name)) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(temp_ / "out/not-in-the-index.safetensors"));
}

TEST_F(CheckpointTest, SeveralFilesWithoutIndexAndEmptyTensors) {
  WriteTo(temp_ / "one.safetensors", FileOf("a", ""));
  WriteTo(temp_ / "two.safetensors", FileOf("b", "x"));
  WriteTo(temp_ / "three.safetensors", Raw("{}"));
  RoundTrip({temp_.str()}, temp_ / "out");
  for (const char* name : {"one.safetensors", "two.safetensors", "three.safetensors"}) {
    EXPECT_EQ(ReadFrom(temp_ / "out" / name), ReadFrom(temp_ / name)) << name;
  }
}

TEST_F(CheckpointTest, TheSingleFileGoesBeforeTheIndex) {
  WriteSharded(index_);
  WriteTo(temp_ / "model.safetensors", FileOf("all", "x"));
  const auto checkpoint = Checkpoint::Open({temp_.str()});
  ASSERT_TRUE(checkpoint.ok());
  EXPECT_EQ(checkpoint->contents().tensor_count(), 1u);
}

TEST_F(CheckpointTest, LoadsSingleTensorsAndPlacesAll) {
  WriteSharded(index_);
  const auto checkpoint = Checkpoint::Open({temp_.str()});
  ASSERT_TRUE(checkpoint.ok());
  std::string one(6, '\0');
  const TensorEntry& entry = checkpoint->contents().files[1].header.tensors[0];
  ASSERT_TRUE(checkpoint->LoadTensor(1, entry, reinterpret_cast<std::byte*>(one.data())).ok());
  EXPECT_EQ(one, "second");
  std::string all(11, '\0');
  auto* memory = reinterpret_cast<std::byte*>(all.data());
  ASSERT_TRUE(checkpoint->Load(memory).ok());
  EXPECT_EQ(all, "firstsecond");
  EXPECT_EQ(Place(checkpoint->contents(), memory)[1].data, memory + 5);
}

TEST_F(CheckpointTest, MissingAndStrangeFiles) {
  EXPECT_THAT(OpenError(temp_ / "missing"), HasSubstr("missing: cannot be opened"));
  EXPECT_THAT(OpenError(temp_.str()), HasSubstr("holds no *.safetensors file"));
  EXPECT_THAT(OpenError("/dev/null"), HasSubstr("not a regular file"));
}

TEST_F(CheckpointTest, TruncatedOrLongerData) {
  const std::string whole = FileOf("a", "0123456789");
  WriteTo(temp_ / "f", whole.substr(0, whole.size() - 1));
  EXPECT_THAT(OpenError(temp_ / "f"),
              HasSubstr("is truncated: tensor \"a\" ends at byte 10 of the data, which has 9"));
  WriteTo(temp_ / "f", whole + "x");
  EXPECT_THAT(OpenError(temp_ / "f"), HasSubstr("1 bytes after its last tensor"));
  WriteTo(temp_ / "f", whole.substr(0, 20));
  EXPECT_THAT(OpenError(temp_ / "f"), HasSubstr("truncated: its header claims"));
  WriteTo(temp_ / "f", "");
  EXPECT_THAT(OpenError(temp_ / "f"), HasSubstr("only 0 bytes"));
}

TEST_F(CheckpointTest, OneTensorInTwoFiles) {
  WriteTo(temp_ / "one.safetensors", FileOf("a", "x"));
  WriteTo(temp_ / "two.safetensors", FileOf("a", "x"));
  EXPECT_THAT(OpenError(temp_.str()), HasSubstr("two.safetensors: tensor \"a\" is also in"));
  EXPECT_THAT(OpenError({temp_ / "one.safetensors", temp_ / "one.safetensors"}),
              HasSubstr("another file has the same name"));
}

TEST_F(CheckpointTest, BadIndexes) {
  const auto says = [&](const std::string& index) {
    WriteSharded(index);
    return OpenError(temp_.str());
  };
  EXPECT_THAT(says("nonsense"), HasSubstr("the index is not valid JSON"));
  EXPECT_THAT(says("[]"), HasSubstr("no object \"weight_map\""));
  EXPECT_THAT(says("{\"weight_map\": []}"), HasSubstr("no object \"weight_map\""));
  EXPECT_THAT(says("{\"weight_map\": {\"a\": 1}}"), HasSubstr("\"a\" is given no file name"));
  EXPECT_THAT(says(R"({"weight_map": {"a": "../one.safetensors"}})"),
              HasSubstr("begins with a dot"));
  EXPECT_THAT(says(R"({"weight_map": {"a": "/one.safetensors"}})"), HasSubstr("is empty"));
  EXPECT_THAT(says(R"({"weight_map": {"a": ".."}})"), HasSubstr("begins with a dot"));
  EXPECT_THAT(says(R"({"weight_map": {"a": "gone.safetensors"}})"),
              HasSubstr("names the missing shard \"gone.safetensors\""));
  EXPECT_THAT(says(R"({"weight_map": {"c": "one.safetensors"}})"),
              HasSubstr("tensor \"c\" is not in \"one.safetensors\""));
  EXPECT_THAT(says(R"({"weight_map": {"a": "one.safetensors", "a": "two.safetensors"}})"),
              HasSubstr("repeats the key \"a\""));
}

TEST_F(CheckpointTest, WhatLoadsTheWeightsTravelsAlong) {
  WriteSharded(index_);
  WriteTo(temp_ / "config.json", "{}");
  WriteTo(temp_ / "tokenizer.model", "t");
  WriteTo(temp_ / "optimizer.pt", "not this");
  WriteTo(temp_ / "pytorch_model.bin.index.json", "nor this");
  WriteTo(temp_ / ".cache.json", "nor this");
  std::filesystem::create_directory(temp_ / "folder.json");
  RoundTrip({temp_.str()}, temp_ / "out");
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(temp_ / "out")) {
    names.insert(entry.path().filename());
  }
  EXPECT_THAT(names, ElementsAre("config.json", "model.safetensors.index.json", "one.safetensors",
                                 "tokenizer.model", "two.safetensors"));
  const auto bare = Checkpoint::Open({temp_.str()}, {.companions = false});
  ASSERT_TRUE(bare.ok());
  EXPECT_EQ(bare->contents().extras.size(), 1u);
}

TEST_F(CheckpointTest, ACompanionThatIsTooLargeStaysBehind) {
  WriteTo(temp_ / "model.safetensors", FileOf("a", "x"));
  WriteTo(temp_ / "config.json", "{}");
  WriteTo(temp_ / "huge.json", "");
  std::filesystem::resize_file(temp_ / "huge.json", kAttachmentBytesMax);
  const auto checkpoint = Checkpoint::Open({temp_.str()});
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_THAT(checkpoint->left_out(), ElementsAre("huge.json"));
  EXPECT_TRUE(Encode(checkpoint->contents()).ok());
}

TEST_F(CheckpointTest, APipelineIsItsFolders) {
  for (const char* folder : {"unet", "vae", "scheduler", ".git"}) {
    std::filesystem::create_directory(temp_ / folder);
    WriteTo(temp_ / folder / "config.json", folder);
  }
  WriteTo(temp_ / "unet/diffusion_pytorch_model.safetensors", FileOf("w", "unet"));
  WriteTo(temp_ / "unet/diffusion_pytorch_model.fp16.safetensors", FileOf("w", "u"));
  WriteTo(temp_ / "vae/diffusion_pytorch_model.safetensors", FileOf("w", "vae"));
  EXPECT_THAT(OpenError(temp_.str()), HasSubstr("folders in it do, name one: unet, vae"));
  WriteTo(temp_ / "model_index.json", "{}");
  RoundTrip({temp_.str()}, temp_ / "out");
  for (const char* name :
       {"model_index.json", "unet/config.json", "unet/diffusion_pytorch_model.safetensors",
        "vae/config.json", "vae/diffusion_pytorch_model.safetensors", "scheduler/config.json"}) {
    EXPECT_EQ(ReadFrom(temp_ / "out" / name), ReadFrom(temp_ / name)) << name;
  }
  EXPECT_FALSE(
      std::filesystem::exists(temp_ / "out/unet/diffusion_pytorch_model.fp16.safetensors"));
  std::filesystem::create_directory(temp_ / "text");
  WriteTo(temp_ / "text/pytorch_model.bin", "x");
  EXPECT_THAT(OpenError(temp_.str()), HasSubstr("text: has its weights in \"pytorch_model.bin\""));
}

TEST_F(CheckpointTest, AnIndexMayNameFolders) {
  std::filesystem::create_directory(temp_ / "weights");
  WriteTo(temp_ / "weights/a.safetensors", FileOf("a", "x"));
  WriteTo(temp_ / "model.safetensors.index.json",
          R"({"weight_map": {"a": "weights/a.safetensors"}})");
  RoundTrip({temp_.str()}, temp_ / "out");
  EXPECT_TRUE(std::filesystem::exists(temp_ / "out/weights/a.safetensors"));
}

TEST_F(CheckpointTest, NumberedShardsWithoutAnIndexAreComplete) {
  WriteTo(temp_ / "m-00001-of-00003.safetensors", FileOf("a", "x"));
  WriteTo(temp_ / "m-00003-of-00003.safetensors", FileOf("c", "x"));
  EXPECT_THAT(OpenError(temp_.str()), HasSubstr("missing shard \"m-00002-of-00003.safetensors\""));
  WriteTo(temp_ / "m-00002-of-00003.safetensors", FileOf("b", "x"));
  EXPECT_EQ(OpenError(temp_.str()), "opened");
  WriteTo(temp_ / "m-00002-of-00002.safetensors", FileOf("d", "x"));
  EXPECT_THAT(OpenError(temp_.str()), HasSubstr("shards of 2 and of 3 files"));
}

TEST_F(CheckpointTest, AFileThatIsWrittenToMeanwhileIsRefused) {
  const std::string content = FileOf("a", "0123456789");
  std::vector<std::byte> memory(10);
  const auto load_after = [&](const auto& change) {
    WriteTo(temp_ / "f", content);
    const auto checkpoint = Checkpoint::Open({temp_ / "f"});
    change();
    const absl::Status status = checkpoint->Load(memory.data());
    return std::string(status.message());
  };
  EXPECT_EQ(load_after([] {}), "");
  const auto touch = [&] {
    std::filesystem::last_write_time(
        temp_ / "f", std::filesystem::file_time_type::clock::now() + std::chrono::seconds(1));
  };
  EXPECT_THAT(load_after(touch), HasSubstr("was written to while it was read"));
  const auto replace = [&] {
    WriteTo(temp_ / "g", content);
    std::filesystem::last_write_time(temp_ / "g", std::filesystem::last_write_time(temp_ / "f"));
    std::filesystem::rename(temp_ / "g", temp_ / "f");
  };
  EXPECT_THAT(load_after(replace), HasSubstr("was written to while it was read"));
}

// And a version's space on disk is free again once its files are deleted.
TEST_F(CheckpointTest, NoFileStaysOpen) {
  WriteSharded(index_);
  const auto open_files = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = open_files();
  const auto checkpoint = Checkpoint::Open({temp_.str()});
  EXPECT_EQ(open_files(), before);
}

TEST_F(CheckpointTest, AFileThatShrinksIsNoticed) {
  WriteTo(temp_ / "f", FileOf("a", "0123456789"));
  const auto checkpoint = Checkpoint::Open({temp_ / "f"});
  ASSERT_TRUE(checkpoint.ok());
  std::filesystem::resize_file(temp_ / "f", 70);
  std::vector<std::byte> memory(10);
  EXPECT_EQ(checkpoint->Load(memory.data()).code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace tensorhub::safetensors
