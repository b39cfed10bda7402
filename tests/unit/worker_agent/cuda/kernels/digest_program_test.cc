// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The kernel's program for digests, run on the CPU thread by thread, against the host's digests.

#include "worker_agent/cuda/kernels/digest_program.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/unit/worker_agent/cuda/kernels/scattered.h"
#include "worker_agent/cuda/kernels/host_team.h"
#include "worker_agent/cuda/kernels/tables.h"

namespace tensorhub::agent::kernels {
namespace {

constexpr size_t kTurnBytes = kDigestWarps * kBlockBytes;

class DigestProgramTest : public testing::Test {
 protected:
  uint64_t Digest(const std::vector<DigestPiece>& pieces) {
    DigestTables tables;
    const DigestPiece other{"another chunk", 13};
    tables.Add({&other, 1});  // so that no index is right by being 0
    tables.Add(pieces);
    HostTeam<kDigestThreads> team;
    uint64_t digest = 0;
    ChunkDigestProgram(team, tables.chunks.at(1), tables.pieces.data(), *shared_, &digest);
    return digest;
  }
  // In one piece that begins anywhere, and in pieces of up to `piece_max`.
  void ExpectSame(size_t bytes, size_t piece_max) {
    const std::string text = RandomBytes(random_, bytes);
    const DigestPiece whole{text.data(), text.size()};
    const uint64_t expected = ChunkDigest(&whole, 1);
    EXPECT_EQ(Digest(Whole(text, random_.Below(16)).pieces), expected) << bytes << " bytes";
    EXPECT_EQ(Digest(Scattered(random_, text, piece_max).pieces()), expected)
        << bytes << " bytes in pieces of up to " << piece_max;
  }

  struct Whole {
    Whole(const std::string& text, size_t off) : place(text.size(), off) {
      std::memcpy(place.data(), text.data(), text.size());
      pieces = {{place.data(), text.size()}};
    }
    Place place;
    std::vector<DigestPiece> pieces;
  };

  Random random_{7};
  std::unique_ptr<DigestShared> shared_ = std::make_unique<DigestShared>();
};

TEST_F(DigestProgramTest, EveryShortLength) {
  for (size_t bytes = 0; bytes <= 300; ++bytes) ExpectSame(bytes, 1 + bytes % 20);
}

TEST_F(DigestProgramTest, AroundStripesBlocksAndTurns) {
  for (const size_t multiple :
       {size_t{64}, size_t{960}, size_t{1024}, size_t{1088}, size_t{2048}, size_t{15 * 1024},
        kTurnBytes, kTurnBytes + 1024, 2 * kTurnBytes, 3 * kTurnBytes}) {
    for (size_t bytes = multiple - 2; bytes <= multiple + 2; ++bytes) {
      if (bytes > kShortMax) ExpectSame(bytes, 500);
    }
  }
}

TEST_F(DigestProgramTest, AnyLength) {
  for (int i = 0; i < 60; ++i) ExpectSame(1 + random_.Below(100'000), 1 + random_.Below(20'000));
}

TEST_F(DigestProgramTest, ManyTinyPieces) {
  ExpectSame(40'000, 3);
  ExpectSame(40'000, 40);
}

TEST_F(DigestProgramTest, EveryAlignment) {
  const std::string text = RandomBytes(random_, 5000);
  const DigestPiece whole{text.data(), text.size()};
  for (size_t off = 0; off < 16; ++off) {
    EXPECT_EQ(Digest(Whole(text, off).pieces), ChunkDigest(&whole, 1)) << off;
  }
}

// The sums of one warp in another's place, or of a turn in the next one's, would show.
TEST_F(DigestProgramTest, AnyByteMatters) {
  std::string text(2 * kTurnBytes + 777, '\0');
  const uint64_t zeros = Digest(Whole(text, 0).pieces);
  for (size_t at = 0; at < text.size(); at += 1 + random_.Below(2000)) {
    text[at] = 1;
    const DigestPiece whole{text.data(), text.size()};
    const uint64_t digest = Digest(Whole(text, 0).pieces);
    EXPECT_NE(digest, zeros) << at;
    EXPECT_EQ(digest, ChunkDigest(&whole, 1)) << at;
    text[at] = 0;
  }
}

}  // namespace
}  // namespace tensorhub::agent::kernels
