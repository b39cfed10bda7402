// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Covers: R2.9

#include "server/core/terms.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/random.h"

namespace tensorhub::hub {
namespace {

TEST(TermsTest, SupersedeWhatIsNotBelowALaterOne) {
  Terms terms;
  EXPECT_EQ(terms.now(), Term{});
  EXPECT_FALSE(terms.Supersede(0, 50));
  terms.Begin({1, 40});
  terms.Begin({2, 50});
  EXPECT_FALSE(terms.Supersede(0, 39));
  EXPECT_TRUE(terms.Supersede(0, 40));
  EXPECT_FALSE(terms.Supersede(1, 49));
  EXPECT_TRUE(terms.Supersede(1, 50));
  EXPECT_FALSE(terms.Supersede(2, 50));
  EXPECT_FALSE(terms.Supersede(7, 50));  // as another hub knew it
}

TEST(TermsTest, AreToldFromOthersOfTheSameNumber) {
  Terms terms;
  terms.Begin({3, 40});
  EXPECT_FALSE(terms.Contradict({3, 40}));
  EXPECT_TRUE(terms.Contradict({3, 41}));
  EXPECT_FALSE(terms.Contradict({2, 7}));
}

// What is not kept changes nothing.
TEST(TermsTest, SayTheSameAsAllThatEverBegan) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    Terms terms;
    std::vector<Term> all;
    for (TermNumber number = 1; number <= 40; number += 1 + random.Below(2)) {
      all.push_back({number, random.Below(30)});
      terms.Begin(all.back());
      for (TermNumber of = 0; of <= number; ++of) {
        for (VersionNumber version = 0; version < 31; ++version) {
          bool superseded = false;
          for (const Term& term : all) superseded |= term.number > of && term.since <= version;
          EXPECT_EQ(terms.Supersede(of, version), superseded) << of << " " << version;
        }
      }
    }
  }
}

TEST(TermsTest, KeepTheNewest) {
  Terms terms;
  for (TermNumber number = 1; number <= 1000; ++number) terms.Begin({number, 10 * number});
  EXPECT_EQ(terms.line().size(), Terms::kKept);
  EXPECT_EQ(terms.now(), (Term{1000, 10000}));
  EXPECT_TRUE(terms.Supersede(998, 9990));
}

}  // namespace
}  // namespace tensorhub::hub
