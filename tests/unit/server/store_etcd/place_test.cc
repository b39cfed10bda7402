// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/etcd/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorhub::store {
namespace {

TEST(EtcdPlaceTest, MembersAndPrefix) {
  const auto place = EtcdPlace::Parse("etcd://h1:2379,10.0.0.2:2379,[::1]:2379/hubs/prod");
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_THAT(place->endpoints, testing::ElementsAre("h1:2379", "10.0.0.2:2379", "[::1]:2379"));
  EXPECT_EQ(place->prefix, "hubs/prod");
  EXPECT_EQ(place->ToString(), "etcd://h1:2379,10.0.0.2:2379,[::1]:2379/hubs/prod");
}

TEST(EtcdPlaceTest, WhatIsNoneIsRefusedWithAnExample) {
  for (const char* text :
       {"etcd://", "etcd://h1:2379", "etcd://h1:2379/", "etcd:///p", "etcd://h1/p", "etcd://:1/p",
        "etcd://h1:0/p", "etcd://h1:65536/p", "etcd://h1:x/p", "etcd://h1:1,/p",
        "etcd://h1:1,h1:1/p", "etcd://h1:1//p", "etcd://h1:1/p/", "etcd://h1:1/a//b",
        "etcd://h1:1/a b", "etcd://a@h1:1/p", "etcd://::1:1/p", "https://h1:1/p"}) {
    const absl::Status status = EtcdPlace::Parse(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("etcd://HOST:PORT"));
  }
}

}  // namespace
}  // namespace tensorhub::store
