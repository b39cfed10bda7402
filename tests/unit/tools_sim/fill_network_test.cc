// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Links of 1 GB/s, shards of 100 MB in 100 chunks of 1 MB, hops of 10 us: a shard takes 100 ms, a
// chunk 1 ms, and a reader begins 20 us after it was attached.

#include "tools/sim/fill_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "common/random.h"

namespace tensorhub::sim {
namespace {

constexpr double kRate = 1e9;
constexpr double kBytes = 1e8;
constexpr double kChunk = 1e6;
constexpr Nanos kLatency = 10 * kMicrosecond;
constexpr Nanos kRoundTrip = 2 * kLatency;
constexpr Nanos kShardTime = 100 * kMillisecond;
constexpr Nanos kChunkTime = kMillisecond;
// Times are rounded to nanoseconds, once for each change of a rate.
constexpr Nanos kRounding = 2 * kMicrosecond;

MATCHER_P(IsAbout, time, "") { return arg > time - kRounding && arg < time + kRounding; }

class FillNetworkTest : public ::testing::Test {
 protected:
  struct Node {
    FillId fill = 0;
    LinkId out = 0;
    LinkId in = 0;
  };

  Node AddNode(bool whole = false) {
    return {network_.AddFill(kBytes, kChunk, whole), network_.AddLink(kRate),
            network_.AddLink(kRate)};
  }
  void Read(const Node& reader, const Node& source) {
    network_.Attach(reader.fill, source.fill, {{source.out, reader.in}, kLatency}, now_);
  }
  void RunUntil(Nanos end) {
    while (const auto next = network_.NextTime()) {
      if (*next > end) break;
      now_ = *next;
      std::vector<FillId> whole;
      network_.Advance(now_, whole);
      for (const FillId fill : whole) done_[fill] = now_;
    }
    std::vector<FillId> none;
    network_.Advance(now_ = end, none);
  }
  void RunToTheEnd() {
    while (const auto next = network_.NextTime()) RunUntil(*next);
  }

  FillNetwork network_;
  Nanos now_ = 0;
  std::map<FillId, Nanos> done_;
};

TEST_F(FillNetworkTest, OneReaderTakesItsBytesOverItsRate) {
  const Node trainer = AddNode(true);
  const Node reader = AddNode();
  Read(reader, trainer);
  RunToTheEnd();
  EXPECT_THAT(done_.at(reader.fill), IsAbout(kShardTime + kRoundTrip));
  EXPECT_NEAR(network_.BytesThrough(trainer.out), kBytes, 1);
  EXPECT_NEAR(network_.BytesThrough(trainer.in), 0, 1);
}

TEST_F(FillNetworkTest, AFanOutSharesTheSender) {
  const Node trainer = AddNode(true);
  std::vector<Node> readers;
  for (int i = 0; i < 7; ++i) readers.push_back(AddNode());
  for (const Node& reader : readers) Read(reader, trainer);
  RunToTheEnd();
  for (const Node& reader : readers) {
    EXPECT_THAT(done_.at(reader.fill), IsAbout(7 * kShardTime + kRoundTrip));
  }
}

// What a relay by chunks takes: each hop costs one chunk and one latency.
TEST_F(FillNetworkTest, AChainCostsOneChunkPerHop) {
  std::vector<Node> chain{AddNode(true)};
  for (int i = 0; i < 50; ++i) {
    chain.push_back(AddNode());
    Read(chain[chain.size() - 1], chain[chain.size() - 2]);
  }
  RunToTheEnd();
  for (size_t hop = 1; hop < chain.size(); ++hop) {
    const auto hops = static_cast<Nanos>(hop - 1);
    EXPECT_THAT(done_.at(chain[hop].fill),
                IsAbout(kShardTime + kRoundTrip + hops * (kChunkTime + kLatency)))
        << hop;
  }
}

TEST_F(FillNetworkTest, WhatIsSentAheadOfTheConfirmationAddsToTheHop) {
  network_ = FillNetwork(kChunk / 2);
  const Node trainer = AddNode(true);
  const Node first = AddNode();
  const Node second = AddNode();
  Read(first, trainer);
  Read(second, first);
  RunToTheEnd();
  EXPECT_THAT(done_.at(second.fill) - done_.at(first.fill),
              IsAbout(kChunkTime + kChunkTime / 2 + kLatency));
}

TEST_F(FillNetworkTest, AReaderIsNeverAheadOfItsSource) {
  std::vector<Node> chain{AddNode(true)};
  for (int i = 0; i < 10; ++i) {
    chain.push_back(AddNode());
    Read(chain[chain.size() - 1], chain[chain.size() - 2]);
  }
  for (Nanos at = 0; at < 120 * kMillisecond; at += 777 * kMicrosecond) {
    RunUntil(at);
    for (size_t hop = 1; hop < chain.size(); ++hop) {
      EXPECT_LE(network_.ValidChunks(chain[hop].fill, at),
                network_.ValidChunks(chain[hop - 1].fill, at));
    }
  }
}

TEST_F(FillNetworkTest, WhoJoinsLateCatchesUpAtItsOwnRate) {
  const Node trainer = AddNode(true);
  const Node first = AddNode();
  const Node late = AddNode();
  Read(first, trainer);
  RunUntil(kShardTime / 2);
  Read(late, first);
  RunToTheEnd();
  EXPECT_THAT(done_.at(late.fill), IsAbout(kShardTime / 2 + kRoundTrip + kShardTime));
}

// Half of its rate goes to each while both read; the second one then follows the first.
TEST_F(FillNetworkTest, ARelayOfASlowSourceIsAsSlow) {
  const Node trainer = AddNode(true);
  const Node slow = AddNode();
  const Node behind = AddNode();
  const LinkId wide_area = network_.AddLink(kRate / 10);
  network_.Attach(slow.fill, trainer.fill, {{trainer.out, wide_area, slow.in}, kLatency}, 0);
  Read(behind, slow);
  RunToTheEnd();
  EXPECT_THAT(done_.at(slow.fill), IsAbout(10 * kShardTime + kRoundTrip));
  EXPECT_THAT(done_.at(behind.fill), IsAbout(10 * kShardTime + kRoundTrip + kChunkTime + kLatency));
}

TEST_F(FillNetworkTest, WhoChangesTheSourceKeepsWholeChunks) {
  const Node trainer = AddNode(true);
  const Node other = AddNode(true);
  const Node reader = AddNode();
  Read(reader, trainer);
  RunUntil(kRoundTrip + 40 * kMillisecond + kMillisecond / 2);
  network_.Detach(reader.fill, now_);
  EXPECT_EQ(network_.ValidChunks(reader.fill, now_), 40u);
  EXPECT_NEAR(network_.bytes_thrown_away(), kChunk / 2, 1e3);
  Read(reader, other);
  RunToTheEnd();
  EXPECT_THAT(done_.at(reader.fill), IsAbout(2 * kRoundTrip + kShardTime + kMillisecond / 2));
}

TEST_F(FillNetworkTest, ASourceThatStopsHoldsUpItsReaders) {
  const Node trainer = AddNode(true);
  const Node middle = AddNode();
  const Node last = AddNode();
  Read(middle, trainer);
  Read(last, middle);
  RunUntil(kShardTime / 2);
  network_.Detach(middle.fill, now_);
  RunUntil(kShardTime);
  EXPECT_EQ(network_.ValidChunks(last.fill, now_), network_.ValidChunks(middle.fill, now_));
  Read(middle, trainer);
  RunToTheEnd();
  EXPECT_THAT(done_.at(last.fill) - done_.at(middle.fill), IsAbout(kChunkTime + kLatency));
}

// Bytes that arrived are bytes that were sent, and every reader ends with all of them.
TEST_F(FillNetworkTest, RandomForestsLoseNothing) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    network_ = FillNetwork();
    now_ = 0;
    done_.clear();
    Random random(seed);
    std::vector<Node> nodes{AddNode(true), AddNode(true)};
    for (int i = 0; i < 30; ++i) {
      nodes.push_back(AddNode());
      Read(nodes.back(), nodes[random.Below(nodes.size() - 1)]);
      if (random.Below(2) == 0) RunUntil(now_ + static_cast<Nanos>(random.Below(kShardTime)));
    }
    RunToTheEnd();
    double sent = 0;
    for (const Node& node : nodes) sent += network_.BytesThrough(node.out);
    EXPECT_NEAR(sent, 30 * kBytes, 1e3);
    EXPECT_EQ(done_.size(), 30u);
  }
}

}  // namespace
}  // namespace tensorhub::sim
