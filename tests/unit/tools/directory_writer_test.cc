// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/safetensors/directory_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>

#include "tests/unit/tools/files.h"

namespace tensorhub::safetensors {
namespace {

using ::testing::HasSubstr;

Attachment One() {
  const std::string raw = Raw(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})");
  return {.files = {{"a.safetensors", ParseHeader("a", raw).value()}}, .extras = {}};
}

const std::byte* Data() { return reinterpret_cast<const std::byte*>("abc"); }

size_t EntriesOf(const std::string& directory) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory), {}));
}

TEST(DirectoryWriterTest, NothingIsSeenBeforeCommit) {
  TempDirectory temp;
  auto writer = DirectoryWriter::Create(temp / "out", 3);
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE((*writer)->Write(One(), Data()).ok());
  EXPECT_FALSE(std::filesystem::exists(temp / "out"));
  ASSERT_TRUE((*writer)->Commit().ok());
  EXPECT_TRUE(ReadFrom(temp / "out/a.safetensors").ends_with("}}abc"));
  writer->reset();
  EXPECT_EQ(EntriesOf(temp.str()), 1u);
}

TEST(DirectoryWriterTest, AnAbandonedWriterLeavesNothing) {
  TempDirectory temp;
  {
    auto writer = DirectoryWriter::Create(temp / "out", 3);
    ASSERT_TRUE((*writer)->Write(One(), Data()).ok());
  }
  EXPECT_EQ(EntriesOf(temp.str()), 0u);
  auto writer = DirectoryWriter::Create(temp / "out", 3);
  (*writer)->Abandon();
  EXPECT_EQ(EntriesOf(temp.str()), 0u);
  EXPECT_FALSE((*writer)->Write(One(), Data()).ok());
  EXPECT_FALSE((*writer)->Commit().ok());
  EXPECT_EQ(EntriesOf(temp.str()), 0u);
}

// One that was killed holds no lock any more.
TEST(DirectoryWriterTest, WhatAKilledWriterLeftIsRemoved) {
  TempDirectory temp;
  std::filesystem::create_directories(temp / "out.partial-0123456789abcdef/folder");
  WriteTo(temp / "out.partial-0123456789abcdef/folder/x", "left");
  WriteTo(temp / "out.partial", "somebody else's");
  const auto living = DirectoryWriter::Create(temp / "out", 3);
  ASSERT_TRUE(living.ok()) << living.status();
  EXPECT_EQ(EntriesOf(temp.str()), 2u);
  const auto other = DirectoryWriter::Create(temp / "out", 3);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(EntriesOf(temp.str()), 3u);
  EXPECT_TRUE((*living)->Write(One(), Data()).ok());
}

TEST(DirectoryWriterTest, MemoryIsToldFromDisks) {
  EXPECT_TRUE(DirectoryWriter::IsInMemory("/dev/shm/out"));
  EXPECT_FALSE(DirectoryWriter::IsInMemory("/proc/out"));
}

TEST(DirectoryWriterTest, AnEmptyDirectoryIsReplacedAFullOneIsNot) {
  TempDirectory temp;
  std::filesystem::create_directory(temp / "empty");
  auto writer = DirectoryWriter::Create((temp / "empty").string() + "/", 3);
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE((*writer)->Write(One(), Data()).ok());
  ASSERT_TRUE((*writer)->Commit().ok());
  const auto again = DirectoryWriter::Create(temp / "empty", 3);
  EXPECT_EQ(again.status().code(), absl::StatusCode::kAlreadyExists);
  WriteTo(temp / "file", "x");
  EXPECT_FALSE(DirectoryWriter::Create(temp / "file", 3).ok());
}

TEST(DirectoryWriterTest, WhatAppearedMeanwhileStays) {
  TempDirectory temp;
  auto writer = DirectoryWriter::Create(temp / "out", 3);
  ASSERT_TRUE((*writer)->Write(One(), Data()).ok());
  std::filesystem::create_directory(temp / "out");
  WriteTo(temp / "out/precious", "x");
  EXPECT_FALSE((*writer)->Commit().ok());
  writer->reset();
  EXPECT_EQ(ReadFrom(temp / "out/precious"), "x");
  EXPECT_EQ(EntriesOf(temp.str()), 1u);
}

TEST(DirectoryWriterTest, DisksAndPlacesThatCannotTakeIt) {
  TempDirectory temp;
  const auto huge = DirectoryWriter::Create(temp / "out", std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(huge.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(huge.status().message()), HasSubstr("bytes left"));
  const auto missing = DirectoryWriter::Create(temp / "missing/out", 3);
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()),
              HasSubstr((temp / "missing/out").string() + ": cannot be made (No such file"));
  // Its name is too long to be looked at, like one in a folder that may not be searched.
  const auto unknown = DirectoryWriter::Create(temp / std::string(300, 'x'), 3);
  EXPECT_THAT(std::string(unknown.status().message()),
              HasSubstr("cannot be made (File name too long)"));
  EXPECT_FALSE(DirectoryWriter::Create("", 3).ok());
}

// Makes a directory the current one while this object lives.
class InDirectory {
 public:
  explicit InDirectory(const std::filesystem::path& path)
      : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(path);
  }
  ~InDirectory() { std::filesystem::current_path(before_); }
  InDirectory(const InDirectory&) = delete;
  InDirectory& operator=(const InDirectory&) = delete;

 private:
  const std::filesystem::path before_;
};

void ExpectToStay(const std::string& directory, const std::string& reason) {
  const absl::Status status = DirectoryWriter::CheckVacant(directory);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << directory;
  EXPECT_THAT(std::string(status.message()), HasSubstr(directory + ": " + reason)) << directory;
  EXPECT_THAT(std::string(status.message()), HasSubstr("name a directory in it, such as "));
  EXPECT_FALSE(DirectoryWriter::Create(directory, 3).ok()) << directory;
}

// Before all is fetched, and not when it is to be renamed.
TEST(DirectoryWriterTest, DotsAndTheCurrentDirectoryAreNotReplaced) {
  TempDirectory temp;
  const std::string current = temp / "current";
  std::filesystem::create_directory(current);
  std::filesystem::create_directory(temp / "empty");
  const InDirectory in(current);
  for (const std::string name : {".", "./", "./.", current.c_str()}) {
    ExpectToStay(name, "is the current directory");
  }
  for (const char* name : {"..", "../", "../empty/.", "../empty/./"}) {
    ExpectToStay(name, "ends in . or ..");
  }
  EXPECT_EQ(EntriesOf(current), 0u);
  EXPECT_EQ(EntriesOf(temp.str()), 2u);
  for (const char* name : {"../empty", "model", "./model", ".model", "model."}) {
    EXPECT_EQ(DirectoryWriter::CheckVacant(name), absl::OkStatus()) << name;
  }
}

TEST(DirectoryWriterTest, AMountPointIsNotReplaced) {
  TempDirectory temp;
  const std::string volume = temp / "volume";
  std::filesystem::create_directory(volume);
  if (mount("none", volume.c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "nothing can be mounted here: " << std::strerror(errno);
  }
  const absl::Status whole = DirectoryWriter::CheckVacant(volume);
  EXPECT_EQ(whole.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(whole.message()), HasSubstr("name a directory in it, such as " + volume));
  {
    auto writer = DirectoryWriter::Create(volume + "/model", 3);
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE((*writer)->Write(One(), Data()).ok());
    EXPECT_EQ((*writer)->Commit(), absl::OkStatus());
    EXPECT_EQ(EntriesOf(volume), 1u);
  }
  EXPECT_EQ(umount(volume.c_str()), 0);
}

}  // namespace
}  // namespace tensorhub::safetensors
