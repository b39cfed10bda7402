// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/transport/shared_memory_description.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/random.h"

namespace tensorhub::agent {
namespace {

class SharedMemoryDescriptionTest : public ::testing::Test {
 protected:
  SharedMemoryDescriptionTest() : first_(4096), second_(8192) {
    regions_.push_back({first_.data(), first_.size() * 8, "key one", ""});
    regions_.push_back({second_.data(), second_.size() * 8, std::string("key\0two", 7), ""});
  }

  static TensorBuffer Tensor(const std::string& name, void* data, uint64_t bytes) {
    return {
        .name = name, .dtype = "U8", .shape = {bytes}, .slice = {}, .data = data, .bytes = bytes};
  }

  static Memory MakeMemory(const std::vector<TensorBuffer>& tensors) {
    absl::StatusOr<Memory> memory = Memory::Make(tensors);
    EXPECT_TRUE(memory.ok()) << memory.status();
    return *std::move(memory);
  }

  SharedMemoryDescription Example() {
    const Memory memory =
        MakeMemory({Tensor("a", second_.data() + 10, 1000), Tensor("b", first_.data() + 5, 300),
                    Tensor("c", second_.data() + 1000, 77)});
    absl::StatusOr<SharedMemoryDescription> made =
        DescribeSharedMemory(memory, regions_, first_.data(), "address");
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }

  std::vector<uint64_t> first_;
  std::vector<uint64_t> second_;
  std::vector<SharedRegion> regions_;
};

TEST_F(SharedMemoryDescriptionTest, Survives) {
  const SharedMemoryDescription made = Example();
  const std::string encoded = Encode(made);
  const absl::StatusOr<SharedMemoryDescription> read = DecodeSharedMemoryDescription(encoded);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Encode(*read), encoded);
  EXPECT_EQ(read->host, HostIdentity());
  EXPECT_EQ(read->address, "address");
  EXPECT_EQ(read->total_bytes(), 1377u);
  EXPECT_EQ(read->regions[1].packed_key, std::string("key\0two", 7));
}

// A device's memory: without a place for the word, with a second key for peers in this process.
TEST_F(SharedMemoryDescriptionTest, SurvivesWithoutAWord) {
  const Memory memory = MakeMemory({Tensor("a", second_.data() + 10, 1000)});
  regions_[1].local_key = "here";
  const absl::StatusOr<SharedMemoryDescription> made =
      DescribeSharedMemory(memory, regions_, nullptr, "address");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(made->word_by_message);
  const std::string encoded = Encode(*made);
  const absl::StatusOr<SharedMemoryDescription> read = DecodeSharedMemoryDescription(encoded);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Encode(*read), encoded);
  EXPECT_TRUE(read->word_by_message);
  EXPECT_EQ(read->process, LocalProcess());
  EXPECT_EQ(read->regions[1].local_key, "here");
  for (size_t size = 0; size < encoded.size(); ++size) {
    EXPECT_FALSE(DecodeSharedMemoryDescription(encoded.substr(0, size)).ok()) << size;
  }
}

TEST_F(SharedMemoryDescriptionTest, FindsPlaces) {
  const SharedMemoryDescription made = Example();
  const SharedMemoryDescription::Place place = PlaceWalk(made, 990).Take(20);
  EXPECT_EQ(place.region, 1u);
  EXPECT_EQ(place.offset, 80u + 990);
  EXPECT_EQ(place.bytes, 10u);
  EXPECT_EQ(PlaceWalk(made, 1000).Take(1).region, 0u);
  EXPECT_EQ(PlaceWalk(made, 1000).Take(1).offset, 40u);
  EXPECT_EQ(PlaceWalk(made, 1376).Take(1).offset, 8076u);
  PlaceWalk walk(made, 990);
  EXPECT_EQ(walk.Take(20).bytes, 10u);  // up to the segment's end
  EXPECT_EQ(walk.Take(4).offset, 40u);
  EXPECT_EQ(walk.Take(4).offset, 44u);
}

TEST_F(SharedMemoryDescriptionTest, PrivateMemoryIsNotDescribed) {
  std::vector<uint64_t> elsewhere(100);
  const Memory outside =
      MakeMemory({Tensor("a", first_.data() + 1, 80), Tensor("b", elsewhere.data(), 80)});
  EXPECT_EQ(DescribeSharedMemory(outside, regions_, first_.data(), "x").status().code(),
            absl::StatusCode::kNotFound);
  const Memory inside = MakeMemory({Tensor("a", first_.data() + 1, 80)});
  EXPECT_EQ(DescribeSharedMemory(inside, regions_, elsewhere.data(), "x").status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(SharedMemoryDescriptionTest, ASegmentMayCrossNeighbouringRegions) {
  const std::vector<SharedRegion> halves = {{first_.data(), 4096, "1", ""},
                                            {first_.data() + 512, 4096, "2", ""}};
  const Memory memory = MakeMemory({Tensor("a", first_.data() + 256, 4096)});
  const absl::StatusOr<SharedMemoryDescription> made =
      DescribeSharedMemory(memory, halves, first_.data(), "x");
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_EQ(made->segments.size(), 2u);
  EXPECT_EQ(made->segments[0].bytes, 2048u);
  EXPECT_EQ(made->segments[1].region, 1u);
  EXPECT_EQ(made->segments[1].offset, 0u);
}

TEST_F(SharedMemoryDescriptionTest, WhatDoesNotFitIsRefused) {
  const SharedMemoryDescription good = Example();
  const auto refused = [](const SharedMemoryDescription& bad) {
    return DecodeSharedMemoryDescription(Encode(bad)).status().code() ==
           absl::StatusCode::kInvalidArgument;
  };
  SharedMemoryDescription bad = good;
  bad.segments[1].region = 2;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.segments[1].bytes = bad.regions[0].bytes;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.segments[0].offset = ~uint64_t{0} - 10;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.segments[0].bytes = 0;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.word_offset = bad.regions[0].bytes - 7;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.word_offset = 4;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.word_region = 7;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.regions[0].bytes = ~uint64_t{0};
  EXPECT_TRUE(refused(bad));
  EXPECT_FALSE(DecodeSharedMemoryDescription("").ok());
  EXPECT_FALSE(DecodeSharedMemoryDescription(Encode(good) + "x").ok());
}

TEST_F(SharedMemoryDescriptionTest, DamageNeverEscapesTheChecks) {
  const std::string good = Encode(Example());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(DecodeSharedMemoryDescription(good.substr(0, size)).ok()) << size;
  }
  Random random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = good;
    for (uint64_t k = random.Below(4) + 1; k > 0; --k) {
      damaged[random.Below(damaged.size())] = static_cast<char>(random.Next());
    }
    const absl::StatusOr<SharedMemoryDescription> read = DecodeSharedMemoryDescription(damaged);
    if (!read.ok()) continue;
    EXPECT_EQ(Encode(*read), damaged);
    for (uint64_t at = 0; at < read->total_bytes();) {
      const SharedMemoryDescription::Place place =
          PlaceWalk(*read, at).Take(read->total_bytes() - at);
      ASSERT_LE(place.offset + place.bytes, read->regions.at(place.region).bytes);
      at += place.bytes;
    }
  }
}

}  // namespace
}  // namespace tensorhub::agent
