// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/sharding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/refusals.h"

namespace tensorhub {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Rows [begin, end) of a matrix of 8 rows of 3.
TensorSpec Rows(std::string name, uint64_t begin, uint64_t end, DType dtype = DType::kBF16) {
  return {std::move(name), dtype, {end - begin, 3}, SliceSpec{{8, 3}, {begin, 0}}};
}

Layout Of(std::vector<TensorSpec> tensors) { return Layout::Make(tensors).value(); }

absl::StatusOr<Sharding> MakeOf(const std::vector<Layout>& layouts) {
  std::vector<const Layout*> by_rank;
  for (const Layout& layout : layouts) by_rank.push_back(&layout);
  return Sharding::Make(by_rank);
}

TEST(Sharding, KeepsTensorsByNameAndSlicesByBox) {
  const auto sharding = MakeOf({Of({Rows("b", 4, 8), Rows("a", 0, 8)}), Of({Rows("b", 0, 4)})});
  ASSERT_TRUE(sharding.ok()) << sharding.status();
  ASSERT_EQ(sharding->tensors().size(), 2u);
  EXPECT_EQ(sharding->tensors()[1].name, "b");
  EXPECT_THAT(sharding->tensors()[1].global_shape, ElementsAre(8, 3));
  ASSERT_EQ(sharding->slices(1).size(), 2u);
  const Sharding::Slice& upper = sharding->slices(1)[0];
  const Sharding::Slice& lower = sharding->slices(1)[1];
  EXPECT_EQ(upper.shard, 1u);
  EXPECT_EQ(ShowBox(sharding->box(1, lower)), "[4:8, 0:3]");
  EXPECT_EQ(lower.byte_offset, 48u);  // behind the whole of "a"
}

TEST(Sharding, EqualSlicesAreOneShardWhereverTheyAre) {
  const Layout upper = Of({Rows("w", 0, 4)});
  const Layout lower = Of({Rows("w", 4, 8)});
  const auto hsdp = MakeOf({upper, lower, upper, lower});
  ASSERT_TRUE(hsdp.ok()) << hsdp.status();
  ASSERT_EQ(hsdp->shards().size(), 2u);
  EXPECT_THAT(hsdp->shards()[0].ranks, ElementsAre(0, 2));
  EXPECT_THAT(hsdp->shards()[1].ranks, ElementsAre(1, 3));
  EXPECT_EQ(hsdp->ShardOf(3), 1u);
  EXPECT_EQ(hsdp->ShardOf(4), std::nullopt);
  EXPECT_EQ(hsdp->slices(0).size(), 2u);
}

TEST(Sharding, TensorsWithoutASliceAreWholeInAGroupOfOneAndRefusedInOthers) {
  const Layout whole = Of({{"w", DType::kF32, {2, 3}, std::nullopt}, Rows("x", 0, 8)});
  const auto alone = MakeOf({whole});
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(ShowBox(alone->box(0, alone->slices(0)[0])), "[0:2, 0:3]");
  const auto two = MakeOf({whole, whole});
  EXPECT_EQ(two.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(two.status().message()),
              AllOf(HasSubstr("tensor \"w\" of rank 0"), HasSubstr("of rank 1"),
                    HasSubstr("its place in the whole one"), Not(HasSubstr("\"x\""))));
}

TEST(Sharding, RanksThatAreNotAtHandAreLeftOut) {
  const Layout lower = Of({Rows("w", 4, 8)});
  const std::vector<const Layout*> by_rank = {nullptr, &lower};
  const auto sharding = Sharding::Make(by_rank);
  ASSERT_TRUE(sharding.ok()) << sharding.status();
  EXPECT_EQ(sharding->ShardOf(0), std::nullopt);
  EXPECT_EQ(sharding->ShardOf(1), 0u);
}

TEST(Sharding, RanksThatDifferInATensorAreNamed) {
  const auto dtype = MakeOf({Of({Rows("w", 0, 4)}), Of({Rows("w", 4, 8, DType::kF16)})});
  EXPECT_EQ(dtype.status().code(), kInvalid);
  EXPECT_THAT(
      std::string(dtype.status().message()),
      HasSubstr("tensor \"w\" is BF16 [8, 3] at the ranks before and F16 [8, 3] at rank 1"));
  TensorSpec other = Rows("w", 4, 8);
  other.slice->global_shape = {9, 3};
  EXPECT_EQ(MakeOf({Of({Rows("w", 0, 4)}), Of({other})}).status().code(), kInvalid);
}

TEST(Sharding, EmptySlicesCostNothing) {
  const auto sharding = MakeOf({Of({Rows("w", 0, 8)}), Of({Rows("w", 8, 8)})});
  ASSERT_TRUE(sharding.ok()) << sharding.status();
  EXPECT_EQ(sharding->slices(0).size(), 1u);
  EXPECT_EQ(sharding->shards()[1].total_bytes, 0u);
}

TEST(Sharding, ItsIdIsOfTheRanksInTheirOrder) {
  const std::vector<Fingerprint> a = {{1, 2}, {3, 4}};
  const std::vector<Fingerprint> b = {{3, 4}, {1, 2}};
  const std::vector<Fingerprint> c = {{1, 2}};
  EXPECT_EQ(IdOfSharding(a), IdOfSharding(a));
  EXPECT_NE(IdOfSharding(a), IdOfSharding(b));
  EXPECT_NE(IdOfSharding(a), IdOfSharding(c));
  EXPECT_NE(IdOfSharding({}), ShardingId());
}

// FSDP of many tensors alike: the names once, the boxes once, 16 bytes a slice.
TEST(Sharding, IsKeptFlat) {
  constexpr uint64_t kRanks = 64, kTensors = 500;
  ShardingBuilder builder(kRanks);
  for (Rank rank = 0; rank < kRanks; ++rank) {
    std::vector<TensorSpec> tensors;
    for (uint64_t i = 0; i < kTensors; ++i) {
      tensors.push_back({absl::StrCat("model.layers.", i, ".mlp.experts.down_proj.weight"),
                         DType::kBF16,
                         {2, 64},
                         SliceSpec{{2 * kRanks, 64}, {2 * rank, 0}}});
    }
    builder.Add(rank, Of(std::move(tensors)));
  }
  const auto sharding = std::move(builder).Build();
  ASSERT_TRUE(sharding.ok()) << sharding.status();
  EXPECT_LT(sharding->BytesKept(), 20 * kRanks * kTensors);
}

// --- layouts that lie ---------------------------------------------------------------------------

// A shard of one matrix of 8 x 3 bytes, in slices of rows, as a test wants it.
class Lie {
 public:
  Lie& Add(std::vector<uint64_t> offset, std::vector<uint64_t> shape, uint64_t byte_offset,
           std::vector<uint64_t> global = {8, 3}) {
    numbers_.push_back({std::move(global), std::move(offset), std::move(shape)});
    const auto& [whole, begin, extent] = numbers_.back();
    shard_.slices.push_back({"w", DType::kU8, whole, begin, extent, byte_offset});
    return *this;
  }
  std::string Error() {
    shard_.total_bytes = 24;
    ShardingBuilder builder(1);
    builder.Add(0, shard_);
    const auto sharding = std::move(builder).Build();
    if (sharding.ok()) return "";
    EXPECT_EQ(sharding.status().code(), kInvalid);
    return std::string(sharding.status().message());
  }

 private:
  struct Numbers {
    std::vector<uint64_t> global, offset, shape;
  };
  std::deque<Numbers> numbers_;
  ShardSlices shard_;
};

TEST(Sharding, SeveralBoxesOfOneTensorAreFine) {
  EXPECT_EQ(Lie().Add({0, 0}, {2, 3}, 0).Add({4, 0}, {2, 3}, 6).Error(), "");
}

TEST(Sharding, SlicesThatLieAreRefused) {
  const std::string outside = "not inside its global shape";
  const std::string order = "out of order";
  EXPECT_THAT(Lie().Add({4, 0}, {5, 3}, 0).Error(), HasSubstr(outside));
  EXPECT_THAT(Lie().Add({~uint64_t{0}, 0}, {2, 3}, 0).Error(), HasSubstr(outside));
  EXPECT_THAT(Lie().Add({0}, {5, 3}, 0).Error(), HasSubstr(outside));
  EXPECT_THAT(Lie().Add({0, 0}, {1, 3}, 0, {uint64_t{1} << 62, 3}).Error(), HasSubstr(outside));
  EXPECT_THAT(Lie().Add({0, 0}, {2, 3}, 20).Error(), HasSubstr("ends beyond the shard's bytes"));
  EXPECT_THAT(Lie().Add({0, 0}, {2, 3}, ~uint64_t{0}).Error(), HasSubstr("too far away"));
  EXPECT_THAT(Lie().Add({4, 0}, {2, 3}, 0).Add({0, 0}, {2, 3}, 6).Error(), HasSubstr(order));
  EXPECT_THAT(Lie().Add({0, 0}, {2, 3}, 0).Add({4, 0}, {2, 3}, 5).Error(), HasSubstr(order));
  EXPECT_THAT(Lie().Add({0, 0}, {2, 3}, 0).Add({0, 0}, {2, 3}, 6).Error(), HasSubstr(order));
}

TEST(Refusals, NameTenAndCountTheRest) {
  Refusals refusals;
  for (int i = 0; i < 12; ++i) refusals.Add(absl::StrCat("t", i, "."), "is odd");
  const absl::Status status = refusals.ToStatus(kInvalid, "bad", "mend it");
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("bad: tensor \"t0.\" is odd;"), HasSubstr("\"t9.\""),
                    Not(HasSubstr("\"t10.\"")), HasSubstr("; and 2 more; mend it")));
}

}  // namespace
}  // namespace tensorhub
