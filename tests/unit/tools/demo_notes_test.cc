// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/unit/tools/files.h"
#include "tools/demo/notes.h"

namespace tensorhub::demo {
namespace {

FetchNote Example() {
  return {.group = "rollout-1",
          .rank = 0,
          .version = 3,
          .bytes = 10,
          .seconds = 0.5,
          .way = "served",
          .sources = "trainer/0",
          .digest_ok = true};
}

TEST(DemoNotesTest, DigestsAndFetchesComeBack) {
  safetensors::TempDirectory temp;
  const Notes notes(temp.str());
  EXPECT_EQ(notes.ReadDigest(1, 0).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(notes.WriteDigest(1, 0, {5, 6}).ok());
  EXPECT_EQ(notes.ReadDigest(1, 0).value(), (Fingerprint{5, 6}));
  ASSERT_TRUE(notes.WriteFetch(Example()).ok());
  const auto read = notes.ReadFetch("rollout-1", 0, 3);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->sources, "trainer/0");
  EXPECT_TRUE(read->digest_ok);
}

TEST(DemoNotesTest, WaitingNamesWhoIsLate) {
  safetensors::TempDirectory temp;
  const Notes notes(temp.str());
  ASSERT_TRUE(notes.WriteFetch(Example()).ok());
  EXPECT_TRUE(notes.WaitForFetches(3, 1, 1, std::chrono::milliseconds(0)).ok());
  const absl::Status late = notes.WaitForFetches(3, 1, 2, std::chrono::milliseconds(1));
  EXPECT_EQ(std::string(late.message()), "rollout-1 rank 1 did not fetch version 3 in time");
}

}  // namespace
}  // namespace tensorhub::demo
