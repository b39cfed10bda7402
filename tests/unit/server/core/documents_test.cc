// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

namespace tensorhub::hub {
namespace {

using testing::HasSubstr;

constexpr DocumentLimits kMany{100, uint64_t{1} << 20};

std::shared_ptr<const Layout> LayoutWith(const std::string& tensor, uint64_t offset = 0) {
  TensorSpec spec{tensor, DType::kU8, {4}, SliceSpec{{64}, {offset}}};
  return std::make_shared<const Layout>(*Layout::Make({spec}));
}

Fingerprint PrintOf(uint64_t low) { return Fingerprint{0, low}; }

std::shared_ptr<const std::string> TextOf(size_t count) {
  return std::make_shared<const std::string>(count, 'x');
}

class DocumentsTest : public testing::Test {
 protected:
  std::set<Fingerprint> in_use_;
  int asked_ = 0;

  Documents::InUse InUse() { return use_; }

 private:
  std::function<std::set<Fingerprint>()> use_ = [this] {
    ++asked_;
    return in_use_;
  };
};

TEST_F(DocumentsTest, AreThereOnceTheyWerePut) {
  Documents documents(kMany, kMany);
  const auto layout = LayoutWith("a");
  EXPECT_EQ(documents.FindLayout(layout->fingerprint()), nullptr);
  EXPECT_TRUE(*documents.PutLayout(layout, InUse()));
  EXPECT_FALSE(*documents.PutLayout(layout, InUse())) << "it is there already";
  EXPECT_EQ(documents.FindLayout(layout->fingerprint()), layout);
  EXPECT_TRUE(documents.PutAttachment(PrintOf(1), TextOf(3), InUse()).ok());
  EXPECT_EQ(*documents.FindAttachment(PrintOf(1)), "xxx");
  EXPECT_FALSE(documents.HasAttachment(PrintOf(2)));
  EXPECT_EQ(asked_, 0) << "while there is room, nobody has to say what is in use";
  documents.CheckInvariants();
}

TEST_F(DocumentsTest, WhatIsNoneIsRefused) {
  Documents documents(kMany, kMany);
  EXPECT_TRUE(absl::IsInvalidArgument(documents.PutLayout(nullptr, InUse()).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(documents.PutAttachment({}, TextOf(1), InUse())));
  EXPECT_TRUE(absl::IsInvalidArgument(documents.PutAttachment(PrintOf(1), nullptr, InUse())));
}

TEST_F(DocumentsTest, OnesThatNothingRestsOnMakeRoom) {
  Documents documents({2, kMany.bytes}, {2, kMany.bytes});
  const auto used = LayoutWith("a"), idle = LayoutWith("b"), more = LayoutWith("c");
  ASSERT_TRUE(documents.PutLayout(used, InUse()).ok());
  ASSERT_TRUE(documents.PutLayout(idle, InUse()).ok());
  in_use_ = {used->fingerprint()};
  EXPECT_TRUE(*documents.PutLayout(more, InUse()));
  EXPECT_TRUE(documents.HasLayout(used->fingerprint()));
  EXPECT_FALSE(documents.HasLayout(idle->fingerprint()));
  in_use_.insert(more->fingerprint());
  const absl::Status full = documents.PutLayout(idle, InUse()).status();
  EXPECT_TRUE(absl::IsResourceExhausted(full));
  EXPECT_THAT(std::string(full.message()), HasSubstr("in 2 of them are in use"));
  documents.CheckInvariants();
}

TEST_F(DocumentsTest, BytesAreBoundedToo) {
  Documents documents(kMany, {100, 10});
  ASSERT_TRUE(documents.PutAttachment(PrintOf(1), TextOf(6), InUse()).ok());
  in_use_ = {PrintOf(1)};
  EXPECT_TRUE(absl::IsResourceExhausted(documents.PutAttachment(PrintOf(2), TextOf(5), InUse())));
  in_use_.clear();
  EXPECT_TRUE(documents.PutAttachment(PrintOf(2), TextOf(10), InUse()).ok());
  EXPECT_FALSE(documents.HasAttachment(PrintOf(1)));
  documents.CheckInvariants();
}

TEST_F(DocumentsTest, ATableThatLayoutsShareIsKeptOnce) {
  Documents documents(kMany, kMany);
  const auto first = LayoutWith("a", 0), second = LayoutWith("a", 4);
  ASSERT_NE(first->fingerprint(), second->fingerprint());
  ASSERT_NE(first->table(), second->table());
  ASSERT_TRUE(documents.PutLayout(first, InUse()).ok());
  ASSERT_TRUE(documents.PutLayout(second, InUse()).ok());
  EXPECT_EQ(documents.FindLayout(second->fingerprint())->table(), first->table());
  documents.CheckInvariants();
}

TEST_F(DocumentsTest, TellHowTwoLayoutsDiffer) {
  Documents documents(kMany, kMany);
  const auto mine = LayoutWith("a"), theirs = LayoutWith("b");
  ASSERT_TRUE(documents.PutLayout(mine, InUse()).ok());
  EXPECT_EQ(documents.Difference(mine->fingerprint(), theirs->fingerprint()),
            "fingerprints differ");
  ASSERT_TRUE(documents.PutLayout(theirs, InUse()).ok());
  EXPECT_EQ(documents.Difference(mine->fingerprint(), theirs->fingerprint()),
            DescribeDifference(*mine, *theirs));
}

}  // namespace
}  // namespace tensorhub::hub
