// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The kernel's program for many copies, run on the CPU thread by thread.

#include "worker_agent/cuda/kernels/move_program.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/unit/worker_agent/cuda/kernels/scattered.h"
#include "worker_agent/cuda/kernels/host_team.h"
#include "worker_agent/cuda/kernels/tables.h"

namespace tensorhub::agent::kernels {
namespace {

void CarryOut(const std::vector<MovePiece>& pieces) {
  const MoveTables tables = MoveTables::Of(pieces);
  HostTeam<kMoveThreads> team;
  for (uint64_t block = 0; block < tables.blocks(); ++block) {
    MoveProgram(team, tables.moves.data(), tables.hints.data(), tables.windows, block);
  }
}

class MoveProgramTest : public ::testing::Test {
 protected:
  // Pieces of one text in one place, one behind another, and in places of their own.
  void Make(size_t bytes, size_t piece_max, size_t off) {
    text_ = RandomBytes(random_, bytes);
    scattered_ = std::make_unique<Scattered>(random_, text_, piece_max);
    contiguous_ = std::make_unique<Place>(bytes, off);
  }
  // From or to the contiguous place.
  std::vector<MovePiece> Moves(bool gather) {
    std::vector<MovePiece> moves;
    uint8_t* at = contiguous_->data();
    for (const DigestPiece& piece : scattered_->pieces()) {
      void* const there = const_cast<void*>(piece.data);
      moves.push_back(gather ? MovePiece{there, at, piece.bytes}
                             : MovePiece{at, there, piece.bytes});
      at += piece.bytes;
    }
    return moves;
  }
  void ExpectGathered() {
    CarryOut(Moves(/*gather=*/true));
    const std::string everything = contiguous_->Everything();
    const auto begin = static_cast<size_t>(contiguous_->data() - contiguous_->begin());
    EXPECT_TRUE(everything.substr(begin, text_.size()) == text_);
    EXPECT_EQ(everything.find_first_not_of('\0'), begin + text_.find_first_not_of('\0'));
    EXPECT_EQ(everything.find_last_not_of('\0'), begin + text_.find_last_not_of('\0'));
  }

  Random random_{9};
  std::string text_;
  std::unique_ptr<Scattered> scattered_;
  std::unique_ptr<Place> contiguous_;
};

TEST_F(MoveProgramTest, GathersIntoAnyPlace) {
  for (size_t off = 0; off < 16; ++off) {
    Make(20'000, 100, off);
    ExpectGathered();
  }
}

TEST_F(MoveProgramTest, GathersPiecesOfAnySize) {
  for (const size_t piece_max : {1, 5, 16, 17, 1000, 40'000}) {
    Make(60'000, piece_max, random_.Below(16));
    ExpectGathered();
  }
}

TEST_F(MoveProgramTest, Scatters) {
  for (const size_t piece_max : {3, 50, 3000}) {
    Make(30'000, piece_max, random_.Below(16));
    std::memcpy(contiguous_->data(), text_.data(), text_.size());
    for (const DigestPiece& piece : scattered_->pieces()) {
      std::memset(const_cast<void*>(piece.data), 0, piece.bytes);
    }
    CarryOut(Moves(/*gather=*/false));
    std::string got;
    for (const DigestPiece& piece : scattered_->pieces()) {
      got.append(static_cast<const char*>(piece.data), piece.bytes);
      const auto* const end = static_cast<const char*>(piece.data) + piece.bytes;
      EXPECT_EQ(end[0], 0) << "a byte behind a piece was written";
    }
    EXPECT_TRUE(got == text_);
  }
}

// A block's windows may begin within a move, at its end, and end many moves later.
TEST_F(MoveProgramTest, LargeAndSmallInOneTable) {
  std::vector<MovePiece> moves;
  std::deque<Place> places;
  std::vector<std::string> texts;
  for (int i = 0; i < 40; ++i) {
    const size_t bytes = i % 7 == 0 ? kWindowsPerBlock * 16 * 2 : 1 + random_.Below(64);
    texts.push_back(RandomBytes(random_, bytes));
    Place& from = places.emplace_back(bytes, random_.Below(16));
    std::memcpy(from.data(), texts.back().data(), bytes);
    Place& to = places.emplace_back(bytes, random_.Below(16));
    moves.push_back({from.data(), to.data(), bytes});
    moves.push_back({from.data(), to.data(), 0});
  }
  CarryOut(moves);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(std::memcmp(moves[2 * i].to, texts[i].data(), texts[i].size()), 0) << i;
  }
}

TEST_F(MoveProgramTest, NothingToDo) {
  EXPECT_EQ(MoveTables::Of({}).blocks(), 0u);
  const MovePiece empty;
  EXPECT_EQ(MoveTables::Of({&empty, 1}).blocks(), 0u);
}

}  // namespace
}  // namespace tensorhub::agent::kernels
