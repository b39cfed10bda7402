// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/memory.h"

#include <gtest/gtest.h>

namespace tensorhub::fault {
namespace {

constexpr uint64_t kChunk = 4 * kCellBytes;
constexpr ContentId kContent = 7;

class MemoryTest : public testing::Test {
 protected:
  // As a frame would: the cells that the range touches, of the content.
  void WriteContent(uint64_t begin, uint64_t bytes) {
    Cells cells;
    Memory source(memory_.chunking());
    source.Fill(kContent, 0);
    source.Read(begin, 0, Memory::CellsIn(begin, bytes), cells);
    memory_.Write(begin, bytes, cells.data());
  }
  bool Holds() const { return memory_.Holds(kContent, 0, 0, memory_.chunking().count()); }

  Memory memory_{Chunking{2 * kChunk - 100, kChunk}};
};

TEST_F(MemoryTest, HoldsWhatWasWrittenWhole) {
  WriteContent(0, kChunk);
  EXPECT_TRUE(memory_.Holds(kContent, 0, 0, 1));
  EXPECT_FALSE(Holds());
  WriteContent(kChunk, kChunk - 100);
  EXPECT_TRUE(Holds());
  EXPECT_FALSE(memory_.Holds(kContent, 1, 0, 1));
  EXPECT_FALSE(memory_.Holds(kContent + 1, 0, 0, 1));
}

TEST_F(MemoryTest, PartsOfACellAddUpFromFrontToBack) {
  WriteContent(0, kChunk);
  WriteContent(kChunk, 100);
  WriteContent(kChunk + 100, kChunk - 200);
  EXPECT_TRUE(Holds());
}

TEST_F(MemoryTest, APartOfACellIsNotTheCell) {
  memory_.Fill(kContent, 0);
  const Cell other = Garbage(1);
  memory_.Write(10, 20, &other);
  EXPECT_FALSE(memory_.Holds(kContent, 0, 0, 1));
  WriteContent(0, 10);
  WriteContent(30, kCellBytes - 30);
  EXPECT_FALSE(memory_.Holds(kContent, 0, 0, 1));
}

TEST_F(MemoryTest, WhatTheWordCountsMayNotBeWritten) {
  memory_.SetWord({5, 1});
  EXPECT_FALSE(memory_.MayWrite(0, 1));
  EXPECT_FALSE(memory_.MayWrite(kChunk - 1, 1));
  EXPECT_TRUE(memory_.MayWrite(kChunk, 1));
}

TEST_F(MemoryTest, OnlyADigestSeesRotUntilTheGenerationIsOver) {
  const Chunking chunking = memory_.chunking();
  memory_.Fill(kContent, 0);
  memory_.SetWord({5, 2});
  const uint64_t before = memory_.DigestOf(chunking.begin(0), chunking.size(0));
  memory_.Rot(1, 7);
  EXPECT_NE(memory_.DigestOf(chunking.begin(0), chunking.size(0)), before);
  EXPECT_TRUE(memory_.rotten());
  EXPECT_TRUE(Holds());
  memory_.SetWord({6, 0});
  EXPECT_FALSE(memory_.rotten());
  EXPECT_FALSE(Holds());
}

}  // namespace
}  // namespace tensorhub::fault
