// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/memory/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "common/random.h"
#include "worker_agent/memory/medium.h"

namespace tensorhub::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TensorBuffer Bytes(const std::string& name, void* data, uint64_t bytes) {
  return {.name = name, .dtype = "U8", .shape = {bytes}, .slice = {}, .data = data, .bytes = bytes};
}

std::string MessageOf(const std::vector<TensorBuffer>& tensors) {
  const absl::StatusOr<Memory> memory = Memory::Make(tensors);
  EXPECT_FALSE(memory.ok());
  return std::string(memory.status().message());
}

// Tensors of random sizes (also 0) at random places of an arena, in a random order of names.
struct Arena {
  explicit Arena(uint64_t seed) : random(seed), bytes(64 * 1024) {
    size_t place = 0;
    for (int i = 0; i < 60; ++i) {
      const size_t gap = random.Below(3) == 0 ? random.Below(50) : 0;
      const size_t size = random.Below(400);
      place += gap;
      // Names in the order of addresses for half of them, so that some merge and some do not.
      const uint64_t number = random.Below(2) == 0 ? static_cast<uint64_t>(i) : random.Below(1000);
      const std::string name = std::to_string(100000 + number * 100 + static_cast<uint64_t>(i));
      tensors.push_back(Bytes(name, bytes.data() + place, size));
      place += size;
    }
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Next());
  }

  // The byte space, the slow way.
  std::string Naive() const {
    std::vector<TensorBuffer> sorted = tensors;
    std::sort(sorted.begin(), sorted.end(),
              [](const TensorBuffer& a, const TensorBuffer& b) { return a.name < b.name; });
    std::string space;
    for (const TensorBuffer& tensor : sorted) {
      space.append(static_cast<const char*>(tensor.data), tensor.bytes);
    }
    return space;
  }

  Random random;
  std::vector<std::byte> bytes;
  std::vector<TensorBuffer> tensors;
};

std::string Gather(const std::vector<Memory::Piece>& pieces) {
  std::string text;
  for (const Memory::Piece& piece : pieces) {
    text.append(reinterpret_cast<const char*>(piece.data), piece.bytes);
  }
  return text;
}

TEST(MemoryTest, PiecesAreTheByteSpace) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Arena arena(seed);
    const absl::StatusOr<Memory> memory = Memory::Make(arena.tensors);
    ASSERT_TRUE(memory.ok()) << memory.status();
    const std::string space = arena.Naive();
    ASSERT_EQ(memory->total_bytes(), space.size());
    std::vector<Memory::Piece> pieces;
    for (int i = 0; i < 100; ++i) {
      const uint64_t begin = arena.random.Below(space.size() + 1);
      const uint64_t bytes = arena.random.Below(space.size() - begin + 1);
      memory->Pieces({begin, bytes}, pieces);
      ASSERT_EQ(Gather(pieces), space.substr(begin, bytes)) << "seed " << seed;
      for (size_t k = 1; k < pieces.size(); ++k) {
        ASSERT_NE(pieces[k - 1].data + pieces[k - 1].bytes, pieces[k].data) << "not merged";
      }
    }
  }
}

TEST(MemoryTest, CopyInWritesTheByteSpace) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Arena arena(seed);
    const absl::StatusOr<Memory> memory = Memory::Make(arena.tensors);
    ASSERT_TRUE(memory.ok()) << memory.status();
    std::string space = arena.Naive();
    std::vector<Memory::Piece> pieces;
    for (int i = 0; i < 50; ++i) {
      const uint64_t begin = arena.random.Below(space.size() + 1);
      std::string fresh(arena.random.Below(space.size() - begin + 1), '\0');
      for (char& byte : fresh) byte = static_cast<char>(arena.random.Next());
      memory->Pieces({begin, fresh.size()}, pieces);
      ASSERT_TRUE(memory->medium().CopyIn(pieces, fresh).ok());
      space.replace(begin, fresh.size(), fresh);
      ASSERT_EQ(arena.Naive(), space) << "seed " << seed;
    }
  }
}

// Fused weights: parts of one tensor in different parameters, in the order of their place.
TEST(MemoryTest, BoxesOfOneNameLieWhereTheLayoutHasThem) {
  std::string bytes = "vvkkqqqq";
  const auto rows = [&](size_t at, uint64_t begin, uint64_t count) {
    TensorBuffer tensor = Bytes("qkv", bytes.data() + at, count);
    tensor.slice = SliceSpec{{16}, {begin}};
    return tensor;
  };
  const absl::StatusOr<Memory> memory =
      Memory::Make({rows(0, 12, 2), rows(2, 8, 2), Bytes("empty", nullptr, 0), rows(4, 0, 4)});
  ASSERT_TRUE(memory.ok()) << memory.status();
  std::string space;
  for (const Memory::Segment& segment : memory->segments()) {
    space.append(reinterpret_cast<const char*>(segment.data), segment.bytes);
  }
  EXPECT_EQ(space, "qqqqkkvv");
  EXPECT_THAT(MessageOf({rows(0, 0, 4), rows(4, 2, 4)}), HasSubstr("slices that overlap"));
}

TEST(MemoryTest, TensorsThatFollowOneAnotherAreOneSegment) {
  std::vector<std::byte> bytes(20000 * 8);
  std::vector<TensorBuffer> tensors;
  for (size_t i = 0; i < 20000; ++i) {
    tensors.push_back(Bytes(std::to_string(100000 + i), bytes.data() + i * 8, 8));
  }
  const absl::StatusOr<Memory> memory = Memory::Make(tensors);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(memory->segments().size(), 1u);
  EXPECT_EQ(memory->region_count(), 1u);
  std::vector<Memory::Piece> pieces;
  memory->Pieces({4, 1000}, pieces);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].data, bytes.data() + 4);
}

TEST(MemoryTest, RegionsAreRunsOfPages) {
  std::vector<std::byte> bytes(1 << 20);
  std::byte* page = bytes.data() + (4096 - reinterpret_cast<uintptr_t>(bytes.data()) % 4096);
  const absl::StatusOr<Memory> memory =
      Memory::Make({Bytes("a", page, 10), Bytes("b", page + 2000, 10),
                    Bytes("c", page + 100 * 4096, 10), Bytes("z", page + 90 * 4096, 0)});
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(memory->segments().size(), 3u);
  EXPECT_EQ(memory->region_count(), 2u);
}

TEST(MemoryTest, NoBytesAreLegal) {
  const absl::StatusOr<Memory> none = Memory::Make({});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->total_bytes(), 0u);
  const absl::StatusOr<Memory> empty = Memory::Make({Bytes("a", nullptr, 0)});
  ASSERT_TRUE(empty.ok()) << empty.status();
  std::vector<Memory::Piece> pieces(3);
  empty->Pieces({0, 0}, pieces);
  EXPECT_TRUE(pieces.empty());
  EXPECT_TRUE(empty->medium().CopyIn(pieces, "").ok());
}

TEST(MemoryTest, RefusalsNameTheTensor) {
  char bytes[64];
  EXPECT_THAT(MessageOf({Bytes("w", nullptr, 8)}), HasSubstr("\"w\": the address is null"));
  EXPECT_THAT(MessageOf({Bytes("w", bytes, 8), Bytes("v", bytes + 7, 8)}),
              HasSubstr("\"w\" and \"v\" overlap"));
  EXPECT_THAT(MessageOf({Bytes("w", bytes, 8), Bytes("w", bytes + 8, 8)}), HasSubstr("w"));
  TensorBuffer wrong = Bytes("w", bytes, 8);
  wrong.dtype = "float";
  EXPECT_THAT(MessageOf({wrong}), HasSubstr("\"w\": dtype \"float\" is unknown"));
  wrong = {.name = "w", .dtype = "F32", .shape = {2, 3}, .slice = {}, .data = bytes, .bytes = 20};
  EXPECT_THAT(MessageOf({wrong}),
              HasSubstr("20 bytes were given, but shape [2, 3] of F32 takes 24"));
}

TEST(MemoryTest, RefusalsAreOneLineWhateverTheNames) {
  char bytes[64];
  const std::string wild = "w\n\x1b[2J";
  const auto one_line =
      AllOf(HasSubstr("\"w\\n\\033[2J\""), Not(HasSubstr("\n")), Not(HasSubstr("\x1b")));
  EXPECT_THAT(MessageOf({Bytes(wild, nullptr, 8)}), one_line);
  EXPECT_THAT(MessageOf({Bytes(wild, bytes, UINT64_MAX)}), one_line);
  EXPECT_THAT(MessageOf({Bytes(wild, bytes, 8), Bytes("v", bytes + 7, 8)}), one_line);
  TensorBuffer wrong = Bytes(wild, bytes, 8);
  wrong.shape = {7};
  EXPECT_THAT(MessageOf({wrong}), one_line);
  wrong.dtype = wild;
  wrong.name = "v";
  EXPECT_THAT(MessageOf({wrong}), one_line);
  TensorBuffer device = Bytes(wild, bytes, 8);
  device.cuda = true;
  EXPECT_THAT(MessageOf({device, Bytes("v", bytes + 8, 8)}), one_line);
}

// Its addresses mean nothing here: whether they are the device's is for the driver to say.
TEST(MemoryTest, ADevicesTensorsAreLaidOutAsOthersAre) {
  char bytes[16];
  TensorBuffer tensor = Bytes("w", bytes, 8);
  EXPECT_EQ(Memory::Make({tensor})->cuda_device(), std::nullopt);
  tensor.cuda = true;
  tensor.cuda_device = 3;
  TensorBuffer other = Bytes("v", bytes + 8, 8);
  other.cuda = true;
  other.cuda_device = 3;
  const absl::StatusOr<Memory> memory = Memory::Make({tensor, other});
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(memory->cuda_device(), 3);
  EXPECT_EQ(memory->total_bytes(), 16u);
}

TEST(MemoryTest, TensorsInTwoPlacesAreRefused) {
  char bytes[16];
  TensorBuffer device = Bytes("w", bytes, 8);
  device.cuda = true;
  TensorBuffer other = Bytes("v", bytes + 8, 8);
  EXPECT_THAT(MessageOf({device, other}),
              HasSubstr("\"w\" is on CUDA device 0 and tensor \"v\" in host memory"));
  other.cuda = true;
  other.cuda_device = 1;
  EXPECT_THAT(MessageOf({device, other}),
              HasSubstr("\"w\" is on CUDA device 0 and tensor \"v\" on CUDA device 1"));
  // A tensor of no bytes is nowhere.
  EXPECT_TRUE(Memory::Make({device, Bytes("v", nullptr, 0)}).ok());
}

}  // namespace
}  // namespace tensorhub::agent
