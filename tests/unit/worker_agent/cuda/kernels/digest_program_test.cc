// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The kernel's program for digests, run on the CPU thread by thread, against the host's digests.

#include "worker_agent/cuda/kernels/digest_program.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "tests/unit/worker_agent/cuda/kernels/scattered.h"
#include "worker_agent/cuda/kernels/host_team.h"
#include "worker_agent/cuda/kernels/tables.h"

namespace tensorhub::agent::kernels {
namespace {

constexpr size_t kTurnBytes = kDigestWarps * kBlockBytes;

class DigestProgramTest : public ::testing::Test {
 protected:
  uint64_t Digest(const std::vector<DigestPiece>& pieces) {
    DigestTables tables;
    const DigestPiece other{"another chunk", 13};
    tables.Add({&other, 1});  // so that no index is right by being 0
    tables.Add(pieces);
    HostTeam<kDigestThreads> team;
    uint64_t digest = 0;
    ChunkDigestProgram</*kCopies=*/false>(team, tables.chunks.at(1), tables.pieces.data(), *shared_,
                                          &digest);
    return digest;
  }
  // Copies them on the way, to places of their own, each `shift` behind the source's alignment.
  uint64_t DigestAndCopy(const std::vector<DigestPiece>& pieces, size_t shift) {
    std::deque<Place> places;
    std::vector<MovePiece> moves;
    for (const DigestPiece& piece : pieces) {
      const size_t off = (reinterpret_cast<uintptr_t>(piece.data) + shift) % 16;
      moves.push_back({piece.data, places.emplace_back(piece.bytes, off).data(), piece.bytes});
    }
    DigestTables tables;
    tables.AddCopied({});
    tables.AddCopied(moves);
    HostTeam<kDigestThreads> team;
    uint64_t digest = 0;
    ChunkDigestProgram</*kCopies=*/true>(team, tables.chunks.at(1), tables.pieces.data(), *shared_,
                                         &digest);
    for (size_t i = 0; i < moves.size(); ++i) ExpectCopied(moves[i], places[i]);
    return digest;
  }
  static void ExpectCopied(const MovePiece& move, Place& place) {
    std::string expected(place.Everything().size(), '\0');
    const auto begin = static_cast<size_t>(place.data() - place.begin());
    expected.replace(begin, move.bytes, static_cast<const char*>(move.from), move.bytes);
    EXPECT_TRUE(place.Everything() == expected) << move.bytes << " bytes, or beside them";
  }
  // In one piece that begins anywhere, and in pieces of up to `piece_max`; copied or not.
  void ExpectSame(size_t bytes, size_t piece_max) {
    const std::string text = RandomBytes(random_, bytes);
    const DigestPiece whole{text.data(), text.size()};
    const uint64_t expected = ChunkDigest(&whole, 1);
    const Whole one(text, random_.Below(16));
    EXPECT_EQ(Digest(one.pieces), expected) << bytes << " bytes";
    EXPECT_EQ(DigestAndCopy(one.pieces, random_.Below(16)), expected) << bytes << " bytes";
    const Scattered many(random_, text, piece_max);
    EXPECT_EQ(Digest(many.pieces()), expected)
        << bytes << " bytes in pieces of up to " << piece_max;
    EXPECT_EQ(DigestAndCopy(many.pieces(), random_.Below(16)), expected)
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
  for (int i = 0; i < 60; ++i) {
    const size_t bytes = 1 + random_.Below(100'000);
    ExpectSame(bytes, 1 + random_.Below(20'000));
  }
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
    for (size_t shift = 0; shift < 16; ++shift) {
      EXPECT_EQ(DigestAndCopy(Whole(text, off).pieces, shift), ChunkDigest(&whole, 1))
          << off << ", " << shift;
    }
  }
}

TEST_F(DigestProgramTest, CopiesAreStoredByTheSixteenOrNotMadeSo) {
  const std::string text = RandomBytes(random_, 100'000);
  Place even(text.size(), 0);
  Place odd(text.size(), 4);
  const auto moves = [&](Place& to, size_t cut) {
    auto* const from = const_cast<char*>(text.data());
    return std::vector<MovePiece>{{from, to.data(), cut},
                                  {from + cut, to.data() + cut, text.size() - cut}};
  };
  EXPECT_TRUE(CopiesEvenly(moves(even, 50'001)));
  EXPECT_FALSE(CopiesEvenly(moves(odd, 50'001)));
  // A few bytes elsewhere are nothing; what comes behind four of them may be all.
  std::vector<MovePiece> some = {{text.data(), odd.data(), 300},
                                 {text.data() + 300, even.data() + 300, 90'000}};
  EXPECT_TRUE(CopiesEvenly(some));
  some = {{text.data(), even.data(), 4}, {text.data() + 16, even.data() + 16, 90'000}};
  EXPECT_FALSE(CopiesEvenly(some));
  EXPECT_TRUE(CopiesEvenly({}));
  // Sixteens that lie in two pieces count as well, however these lie.
  some.clear();
  for (size_t at = 0; at + 100 <= text.size(); at += 100) {
    some.push_back({text.data() + at, even.data() + at, 100});
  }
  EXPECT_FALSE(CopiesEvenly(some));
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
