// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The directory, and what servers without a database left in it.

#include "server/store/data_dir.h"

#include "absl/strings/str_cat.h"
#include "common/layout.h"
#include "tests/unit/server/store/store_files.h"

namespace tensorhub::store {
namespace {

using testing::HasSubstr;

constexpr char kOldId[] = "000102030405060708090a0b0c0d0e0f";

// As those servers wrote it.
std::string OldIdentity(uint64_t epoch) {
  const std::string body =
      absl::StrCat("tensorhub-identity 1\nstore ", kOldId, "\nepoch ", epoch, "\n");
  return absl::StrCat(body, "checksum ", ToHex(FingerprintOf(body)), "\n");
}

class DataDirTest : public StoreFilesTest {};

TEST_F(DataDirTest, WhatOlderServersKeptMovesInOnce) {
  Write("identity", OldIdentity(41));
  const Loaded first = LoadOnce();
  EXPECT_EQ(ToHex(first.identity.store_id), kOldId);
  EXPECT_EQ(first.identity.epoch, 42u);
  EXPECT_TRUE(first.earlier_life);
  EXPECT_FALSE(std::filesystem::exists(file("identity")));
  EXPECT_EQ(Content("identity.old"), OldIdentity(41));
  EXPECT_EQ(LoadOnce().identity.epoch, 43u);
}

// The database counts once it is there, whatever was not cleared away.
TEST_F(DataDirTest, ACrashWhileItMovesInDoesNoHarm) {
  Write("identity", OldIdentity(41));
  Write("hub.db.new", "half a databa");
  Write("hub.db.new-journal", "half a jour");
  EXPECT_EQ(LoadOnce().identity.epoch, 42u);
  Write("identity", OldIdentity(41));
  EXPECT_EQ(LoadOnce().identity.epoch, 43u);
  EXPECT_FALSE(std::filesystem::exists(file("identity")));
}

TEST_F(DataDirTest, ADamagedOldIdentityIsRefusedAndLeftAlone) {
  const std::string good = OldIdentity(3);
  std::string flipped = good;
  flipped[good.find("epoch ") + 6] = '7';
  for (const std::string& bad : {std::string(), good.substr(0, 30), good + "x", flipped,
                                 std::string(5000, 'x'), std::string(good.size(), '\0')}) {
    Write("identity", bad);
    const absl::Status status = Refused();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << bad;
    EXPECT_THAT(std::string(status.message()), HasSubstr(file("identity")));
    EXPECT_EQ(Content("identity"), bad);
    EXPECT_FALSE(std::filesystem::exists(file("hub.db")));
  }
}

TEST_F(DataDirTest, ADirectoryThatCannotBeMadeIsNamed) {
  std::ofstream(root_ + "/file") << "x";
  const auto dir = DataDir::Open(root_ + "/file/below");
  EXPECT_FALSE(dir.ok());
  EXPECT_THAT(std::string(dir.status().message()), HasSubstr(root_ + "/file/below"));
}

TEST_F(DataDirTest, ADatabaseThatCannotBeMadeIsAnError) {
  // Whatever the reason: a directory in the way fails also for root, unlike permissions.
  std::filesystem::create_directories(file("hub.db.new") + "/x");
  const absl::Status status = Refused();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(file("hub.db.new")));
}

}  // namespace
}  // namespace tensorhub::store
