// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Covers: R5.3, R5.13

#include "server/core/source_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/random.h"
#include "server/core/holder_index.h"
#include "server/core/tables.h"

namespace tensorhub::hub {
namespace {

Candidate Make(Serial serial, Tier tier = Tier::kDatacenter) {
  Candidate candidate;
  candidate.serial = serial;
  candidate.tier = tier;
  return candidate;
}

TEST(SourceSelectionTest, NobodyIsNobody) { EXPECT_FALSE(Best({})); }

TEST(SourceSelectionTest, TheOwnDatacenterComesBeforeAllElse) {
  Candidate here = Make(2), far = Make(1, Tier::kRemote);
  here.behind = here.slow = here.unreliable = true;
  here.readers = 9;
  EXPECT_EQ(Best({far, here})->serial, here.serial);
}

TEST(SourceSelectionTest, AheadComesBeforeNear) {
  Candidate near = Make(1, Tier::kHost), ahead = Make(2);
  near.behind = true;
  EXPECT_EQ(Best({near, ahead})->serial, ahead.serial);
}

TEST(SourceSelectionTest, NotSlowComesBeforeNear) {
  Candidate near = Make(1, Tier::kHost), other = Make(2);
  near.slow = true;
  EXPECT_EQ(Best({near, other})->serial, other.serial);
}

TEST(SourceSelectionTest, AFreePlaceComesBeforeNear) {
  Candidate near = Make(1, Tier::kRack), idle = Make(2);
  near.crowded = true;
  idle.unreliable = true;
  EXPECT_EQ(Best({near, idle})->serial, idle.serial);
}

TEST(SourceSelectionTest, NearComesBeforeFewerReaders) {
  Candidate near = Make(2, Tier::kRack), idle = Make(1);
  near.readers = 2;
  near.unreliable = true;
  EXPECT_EQ(Best({near, idle})->serial, near.serial);
}

TEST(SourceSelectionTest, OnesOwnHostHasAPlaceMore) {
  const SourcePolicy policy(1);
  EXPECT_EQ(policy.PlacesFor(Tier::kHost), 2u);
  for (const Tier tier : {Tier::kRack, Tier::kDatacenter, Tier::kRemote}) {
    EXPECT_EQ(policy.PlacesFor(tier), 1u);
    EXPECT_FALSE(policy.IsCrowded(tier, 0));
    EXPECT_TRUE(policy.IsCrowded(tier, 1));
  }
}

TEST(SourceSelectionTest, OneIsFreeThatHasAllAndFeedsFewerThanItsPlaces) {
  const SourcePolicy policy(2);
  EXPECT_FALSE(policy.IsFree(std::nullopt));
  EXPECT_TRUE(policy.IsFree(HolderRank{.readers = 1, .spot = true, .depth = 3}));
  EXPECT_FALSE(policy.IsFree(HolderRank{.readers = 2}));
  EXPECT_FALSE(policy.IsFree(HolderRank{.steps_missing = 1}));
  EXPECT_FALSE(policy.IsFree(HolderRank{.slow = true}));
  EXPECT_FALSE(policy.IsFree(HolderRank{.unreliable = true}));
}

TEST(SourceSelectionTest, UnreliableComesLastInItsTier) {
  Candidate a = Make(1), b = Make(2);
  a.unreliable = true;
  b.readers = 3;
  EXPECT_EQ(Best({a, b})->serial, b.serial);
}

TEST(SourceSelectionTest, RemoteGoesByUplinkBeforeReaders) {
  Candidate a = Make(1, Tier::kRemote), b = Make(2, Tier::kRemote);
  a.uplink = 1;
  b.readers = 1;
  EXPECT_EQ(Best({a, b})->serial, b.serial);
}

TEST(SourceSelectionTest, ThenFewestReadersThenProgressThenStable) {
  Candidate a = Make(1), b = Make(2);
  a.readers = 1;
  b.steps_missing = 9;
  EXPECT_TRUE(IsBetter(b, a));
  b.readers = 1;
  EXPECT_TRUE(IsBetter(a, b));
  b.steps_missing = 0;
  a.spot = true;
  EXPECT_TRUE(IsBetter(b, a));
  a.spot = false;
  EXPECT_TRUE(IsBetter(a, b)) << "of equal ones the first";
}

TEST(SourceSelectionTest, ProgressCountsInSteps) {
  EXPECT_EQ(StepsMissing(0, 512), kProgressSteps);
  EXPECT_EQ(StepsMissing(1, 512), kProgressSteps);
  EXPECT_EQ(StepsMissing(16, 512), kProgressSteps - 1);
  EXPECT_EQ(StepsMissing(511, 512), 1u);
  EXPECT_EQ(StepsMissing(512, 512), 0u);
  EXPECT_EQ(StepsMissing(kChunkCountMax, kChunkCountMax), 0u);
  EXPECT_EQ(StepsMissing(0, 0), 0u) << "a shard of no bytes is whole";
}

TEST(SourceSelectionTest, PeopleAreToldWhatDecides) {
  Candidate a = Make(1), b = Make(2);
  EXPECT_EQ(WhatDecides(a, b), "came first");
  b.depth = 1;
  EXPECT_EQ(WhatDecides(a, b), "reads through fewer");
  b.behind = true;
  EXPECT_EQ(WhatDecides(a, b), "has what it lacks");
}

// The first cells of the rows of the first table under that heading.
std::vector<std::string> DocumentedRules() {
  std::ifstream document(ARCHITECTURE);
  EXPECT_TRUE(document.is_open()) << ARCHITECTURE;
  std::vector<std::string> rules;
  std::string line;
  while (std::getline(document, line) && line != "## Source selection") continue;
  while (std::getline(document, line) && (rules.empty() || line.starts_with("|"))) {
    if (!line.starts_with("| ") || line.starts_with("| |") || line.starts_with("| -")) continue;
    const std::vector<std::string> cells = absl::StrSplit(line, " | ");
    rules.emplace_back(absl::StripPrefix(cells.front(), "| "));
  }
  return rules;
}

TEST(SourceSelectionTest, TheDocumentHasTheRanking) {
  std::vector<std::string> rules;
  for (const Criterion& by : kRanking) rules.emplace_back(by.rule);
  EXPECT_THAT(DocumentedRules(), testing::ElementsAreArray(rules));
}

TEST(SourceSelectionTest, EachClassIsThereOnceAndTheBetterFirst) {
  const auto one_of = [](const SourceClass& wanted) {
    Candidate candidate = Make(1, wanted.tier);
    candidate.behind = wanted.behind;
    candidate.slow = wanted.slow;
    candidate.crowded = wanted.crowded;
    return candidate;
  };
  const auto& classes = ClassesInOrder();
  EXPECT_FALSE(classes.front().behind || classes.front().slow || classes.front().crowded);
  for (size_t i = 1; i < classes.size(); ++i) {
    EXPECT_TRUE(IsBetter(one_of(classes[i - 1]), one_of(classes[i]))) << i;
  }
}

// Holders of one place, as one reader there sees them.
class Holders {
 public:
  Holders(Random& random, uint32_t readers_per_source)
      : policy_(readers_per_source),
        tier_(static_cast<Tier>(random.Below(4))),
        allowed_(static_cast<uint32_t>(random.Below(kProgressSteps + 1))) {
    for (uint64_t count = random.Below(40); count > 0; --count) Add(random);
  }

  Serial BestOfAll() const {
    std::vector<Candidate> candidates;
    for (const Holder& holder : scope_.holders) {
      if (may_serve_[holder.serial - 1]) candidates.push_back(CandidateOf(holder));
    }
    const std::optional<Candidate> best = Best(candidates);
    return best ? best->serial : 0;
  }

  Serial FoundByClass() const {
    for (const SourceClass& wanted : ClassesInOrder()) {
      if (wanted.tier != tier_) continue;
      const Worker* first = FirstOf(scope_, policy_, wanted, allowed_, [&](const Worker& worker) {
        return may_serve_[worker.serial - 1];
      });
      if (first != nullptr) return first->serial;
    }
    return 0;
  }

 private:
  void Add(Random& random) {
    Worker& worker = workers_.emplace_back();
    worker.serial = workers_.size();
    may_serve_.push_back(random.Below(3) != 0);
    HolderRank rank;
    rank.slow = random.Below(2) == 0;
    rank.unreliable = random.Below(2) == 0;
    rank.readers = static_cast<uint32_t>(random.Below(4));
    rank.steps_missing = static_cast<uint32_t>(random.Below(kProgressSteps + 1));
    rank.spot = random.Below(2) == 0;
    rank.depth = static_cast<uint32_t>(random.Below(3));
    scope_.holders.insert({rank, worker.serial, &worker});
  }

  Candidate CandidateOf(const Holder& holder) const {
    Candidate candidate = Make(holder.serial, tier_);
    static_cast<HolderRank&>(candidate) = holder.rank;
    candidate.behind = holder.rank.steps_missing > allowed_;
    candidate.crowded = policy_.IsCrowded(tier_, holder.rank.readers);
    return candidate;
  }

  const SourcePolicy policy_;
  const Tier tier_;
  const uint32_t allowed_;
  std::deque<Worker> workers_;  // which stay where they are
  std::vector<bool> may_serve_;
  Scope scope_;
};

TEST(SourceSelectionTest, ClassByClassTheIndexHasTheBestOfAll) {
  int found = 0;
  for (uint64_t seed = 1; seed <= 5000; ++seed) {
    Random random(seed);
    const Holders holders(random, static_cast<uint32_t>(1 + seed % 3));
    ASSERT_EQ(holders.FoundByClass(), holders.BestOfAll()) << "seed " << seed;
    if (holders.BestOfAll() != 0) ++found;
  }
  EXPECT_GT(found, 4000);
}

}  // namespace
}  // namespace tensorhub::hub
