// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/etcd/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorhub::store {
namespace {

TEST(EtcdKeysTest, NamesComeBackFromTheirKeys) {
  const EtcdKeys keys("a/b");
  const std::string key = keys.Worker({"m/x", "50%/2F", 7});
  EXPECT_EQ(key, "a/b/w/m%2Fx/50%25%2F2F/7");
  EXPECT_THAT(*WordsOf(key.substr(keys.all().size())),
              testing::ElementsAre("w", "m/x", "50%/2F", "7"));
  EXPECT_EQ(WordsOf("m/%41"), std::nullopt);
  EXPECT_EQ(WordsOf("m/%"), std::nullopt);
}

TEST(EtcdKeysTest, PartsSortAsTheyCountAndEndBeforeTheNextKey) {
  const std::string key = EtcdKeys("p").Model("m");
  EXPECT_LT(PartKey(key, 9), PartKey(key, 10));
  EXPECT_LT(PartKey(key, 99'999'999), AfterAll(key + "/part/"));
  EXPECT_GT(EtcdKeys("p").Model("m0"), AfterAll(key + "/part/"));
}

}  // namespace
}  // namespace tensorhub::store
