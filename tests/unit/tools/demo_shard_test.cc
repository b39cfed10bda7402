// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "tests/unit/tools/files.h"
#include "tools/demo/model_maker.h"
#include "tools/demo/shard.h"

namespace tensorhub::demo {
namespace {

using safetensors::Checkpoint;
using safetensors::TempDirectory;

TEST(DemoShardTest, TheWholeModelHasARealSize) {
  uint64_t bytes = 0;
  for (const TensorSpec& tensor : SmolTensors(kLayersMax)) bytes += BytesOf(tensor).value();
  EXPECT_EQ(bytes, 723'642'240u);  // SmolLM2-360M, tied embeddings, two bytes each
}

TEST(DemoShardTest, RanksShareTheTensors) {
  TempDirectory temp;
  const std::string path = temp / "model.safetensors";
  ASSERT_TRUE(MakeModel(path, 1, 1).ok());
  const auto checkpoint = Checkpoint::Open({path});
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  std::set<std::string> names;
  uint64_t bytes = 0;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    uint64_t offset = 0;
    for (const Part& part : PartsOf(*checkpoint, rank, 3)) {
      EXPECT_TRUE(names.insert(part.tensor->spec.name).second);
      EXPECT_EQ(part.offset, offset);
      offset += part.tensor->bytes;
    }
    bytes += offset;
  }
  EXPECT_EQ(names.size(), checkpoint->contents().tensor_count());
  EXPECT_EQ(bytes, checkpoint->contents().data_bytes());
}

TEST(DemoShardTest, TwoRanksHaveAboutTheSame) {
  TempDirectory temp;
  const std::string path = temp / "model.safetensors";
  ASSERT_TRUE(MakeModel(path, 3, 1).ok());
  const auto checkpoint = Checkpoint::Open({path});
  ASSERT_TRUE(checkpoint.ok());
  const auto bytes = [&](uint32_t rank) {
    return static_cast<int64_t>(Shard(*checkpoint, rank, 2).bytes());
  };
  // The embedding alone, one tensor, has 94 MB.
  EXPECT_LT(std::abs(bytes(0) - bytes(1)), 40'000'000);
}

TEST(DemoShardTest, EqualSeedsMakeEqualModels) {
  TempDirectory temp;
  ASSERT_TRUE(MakeModel(temp / "a", 1, 1).ok());
  ASSERT_TRUE(MakeModel(temp / "b", 1, 1).ok());
  ASSERT_TRUE(MakeModel(temp / "c", 1, 2).ok());
  EXPECT_EQ(FingerprintOf(safetensors::ReadFrom(temp / "a")),
            FingerprintOf(safetensors::ReadFrom(temp / "b")));
  EXPECT_NE(FingerprintOf(safetensors::ReadFrom(temp / "a")),
            FingerprintOf(safetensors::ReadFrom(temp / "c")));
}

TEST(DemoShardTest, TrainingChangesEveryTensorAndIsRepeatable) {
  const auto train = [](uint64_t version) {
    std::string bytes(1000, 'x');
    TrainTensor("layer", version, reinterpret_cast<std::byte*>(bytes.data()), bytes.size());
    return bytes;
  };
  EXPECT_NE(train(2), std::string(1000, 'x'));
  EXPECT_EQ(train(2), train(2));
  EXPECT_NE(train(2), train(3));
  std::byte one{};
  TrainTensor("bias", 2, &one, 1);
  EXPECT_NE(one, std::byte{});
}

}  // namespace
}  // namespace tensorhub::demo
