// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/data_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace tensorhub::rpc {
namespace {

using testing::HasSubstr;

class DataDirTest : public testing::Test {
 protected:
  DataDirTest() {
    std::string pattern = testing::TempDir() + "/data_dir_test.XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~DataDirTest() override { std::filesystem::remove_all(root_); }

  ServerIdentity OpenOnce() {
    const auto dir = DataDir::Open(path());
    EXPECT_TRUE(dir.ok()) << dir.status();
    return dir.ok() ? (*dir)->identity() : ServerIdentity{};
  }
  std::string path() const { return root_ + "/made/as/needed"; }
  std::string identity_path() const { return path() + "/identity"; }
  void WriteIdentity(const std::string& content) {
    std::ofstream(identity_path(), std::ios::trunc) << content;
  }
  std::string ReadIdentity() {
    std::ostringstream content;
    content << std::ifstream(identity_path()).rdbuf();
    return content.str();
  }

  std::string root_;
};

TEST_F(DataDirTest, TheStoreStaysAndTheEpochRises) {
  const ServerIdentity first = OpenOnce();
  EXPECT_TRUE(static_cast<bool>(first.store_id));
  EXPECT_EQ(first.epoch, 1u);
  const ServerIdentity second = OpenOnce();
  EXPECT_EQ(second.store_id, first.store_id);
  EXPECT_EQ(second.epoch, 2u);
}

TEST_F(DataDirTest, SaysWhetherThereWasAnEarlierLife) {
  EXPECT_FALSE(DataDir::Open(path()).value()->existed());
  EXPECT_TRUE(DataDir::Open(path()).value()->existed());
}

TEST_F(DataDirTest, ASecondServerIsKeptOff) {
  const auto first = DataDir::Open(path());
  ASSERT_TRUE(first.ok());
  const auto second = DataDir::Open(path());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("another server is using " + path()));
}

TEST_F(DataDirTest, ADamagedIdentityIsRefusedAndLeftAlone) {
  OpenOnce();
  const std::string good = ReadIdentity();
  std::string flipped = good;
  flipped[good.find("epoch ") + 6] = '7';
  for (const std::string& bad : {std::string(), good.substr(0, 30), good + "x", flipped,
                                 std::string(5000, 'x'), std::string(good.size(), '\0')}) {
    WriteIdentity(bad);
    const auto dir = DataDir::Open(path());
    EXPECT_EQ(dir.status().code(), absl::StatusCode::kDataLoss) << bad;
    EXPECT_THAT(std::string(dir.status().message()), HasSubstr(identity_path()));
    EXPECT_EQ(ReadIdentity(), bad);
  }
}

TEST_F(DataDirTest, ACrashWhileWritingAsideDoesNoHarm) {
  const ServerIdentity first = OpenOnce();
  std::ofstream(identity_path() + ".new") << "half a li";
  EXPECT_EQ(OpenOnce().store_id, first.store_id);
}

TEST_F(DataDirTest, ADirectoryThatCannotBeMadeIsNamed) {
  std::ofstream(root_ + "/file") << "x";
  const auto dir = DataDir::Open(root_ + "/file/below");
  EXPECT_FALSE(dir.ok());
  EXPECT_THAT(std::string(dir.status().message()), HasSubstr(root_ + "/file/below"));
}

TEST_F(DataDirTest, AnIdentityThatCannotBeReplacedIsAnError) {
  OpenOnce();
  // Whatever the reason: a directory in the way fails also for root, unlike permissions.
  std::filesystem::create_directory(identity_path() + ".new");
  const auto dir = DataDir::Open(path());
  EXPECT_FALSE(dir.ok());
  EXPECT_THAT(std::string(dir.status().message()), HasSubstr("cannot write"));
}

TEST(IdentityWithoutStoreTest, LaterStartsHaveHigherEpochs) {
  const ServerIdentity identity = IdentityWithoutStore();
  EXPECT_FALSE(static_cast<bool>(identity.store_id));
  EXPECT_GT(identity.epoch, 1'700'000'000'000u);
}

}  // namespace
}  // namespace tensorhub::rpc
