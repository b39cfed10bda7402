// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/random.h"

namespace tensorhub {
namespace {

using ::testing::HasSubstr;

TensorSpec Spec(std::string name, DType dtype, std::vector<uint64_t> shape) {
  return {std::move(name), dtype, std::move(shape), std::nullopt};
}

Layout Sample() {
  TensorSpec slice = Spec("b", DType::kF32, {2, 3});
  slice.slice = SliceSpec{{4, 3}, {2, 0}};
  return Layout::Make({slice, Spec("a", DType::kBF16, {5}), Spec("empty", DType::kU8, {0, 7})})
      .value();
}

TEST(Layout, OrdersByNameAndConcatenates) {
  const Layout layout = Sample();
  ASSERT_EQ(layout.entries().size(), 3u);
  EXPECT_EQ(layout.entries()[0].name, "a");
  EXPECT_EQ(layout.entries()[0].bytes, 10u);
  EXPECT_EQ(layout.entries()[1].offset, 10u);
  EXPECT_EQ(layout.entries()[2].bytes, 0u);
  EXPECT_EQ(layout.total_bytes(), 34u);
}

TEST(Layout, OrderOfArgumentsDoesNotMatter) {
  const auto one = Layout::Make({Spec("x", DType::kU8, {1}), Spec("y", DType::kU8, {2})}).value();
  const auto two = Layout::Make({Spec("y", DType::kU8, {2}), Spec("x", DType::kU8, {1})}).value();
  EXPECT_EQ(one.fingerprint(), two.fingerprint());
}

TEST(Layout, EveryDifferenceChangesTheFingerprintAndIsNamed) {
  const auto base = Layout::Make({Spec("w", DType::kF16, {4, 2})}).value();
  for (const TensorSpec& other : {Spec("v", DType::kF16, {4, 2}), Spec("w", DType::kBF16, {4, 2}),
                                  Spec("w", DType::kF16, {2, 4}), Spec("w", DType::kF16, {8})}) {
    const auto changed = Layout::Make({other}).value();
    EXPECT_NE(base.fingerprint(), changed.fingerprint());
    EXPECT_THAT(DescribeDifference(base, changed), HasSubstr(other.name));
  }
}

TEST(Layout, DecodeIsTheInverseOfEncode) {
  const Layout layout = Sample();
  const auto decoded = Layout::Decode(layout.Encode());
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->fingerprint(), layout.fingerprint());
  EXPECT_EQ(decoded->entries()[1].spec(), layout.entries()[1].spec());
}

// What workers of other versions write, and the hub's durable rows rest on.
TEST(Layout, TheEncodingStays) {
  using std::string_literals::operator""s;
  const auto number = [](char value) { return std::string(1, value) + "\0\0\0\0\0\0\0"s; };
  const std::string expected = "THL1\3\0\0\0"s +                                     //
                               "\1\0\0\0a\x0a\0\1\0\0\0"s + number(5) +              //
                               "\1\0\0\0b\x0d\1\2\0\0\0"s + number(2) + number(3) +  //
                               number(4) + number(3) + number(2) + number(0) +       //
                               "\5\0\0\0empty\2\0\2\0\0\0"s + number(0) + number(7);
  EXPECT_EQ(Sample().Encode(), expected);
  EXPECT_EQ(Sample().fingerprint(), FingerprintOf(expected));
}

TEST(Layout, DecodeRefusesEveryTruncation) {
  const std::string encoded = Sample().Encode();
  for (size_t bytes = 0; bytes < encoded.size(); ++bytes) {
    EXPECT_FALSE(Layout::Decode(encoded.substr(0, bytes)).ok()) << bytes;
  }
  EXPECT_FALSE(Layout::Decode(encoded + "x").ok());
}

TEST(Layout, DecodeOfMutationsNeverAcceptsWhatEncodeWouldNotWrite) {
  Random random(3);
  const std::string encoded = Sample().Encode();
  for (int i = 0; i < 20000; ++i) {
    std::string mutated = encoded;
    mutated[random.Below(mutated.size())] = static_cast<char>(random.Next());
    const auto decoded = Layout::Decode(mutated);
    if (decoded.ok()) {
      EXPECT_EQ(decoded->Encode(), mutated);
    }
  }
}

TEST(Layout, RefusesBadTensorsByName) {
  const auto error = [](std::vector<TensorSpec> tensors) {
    return std::string(Layout::Make(tensors).status().message());
  };
  EXPECT_THAT(error({Spec("dup", DType::kU8, {1}), Spec("dup", DType::kU8, {1})}),
              HasSubstr("dup"));
  EXPECT_THAT(error({Spec("big", DType::kF64, {uint64_t{1} << 40, uint64_t{1} << 40})}),
              HasSubstr("big"));
  EXPECT_FALSE(Layout::Make({Spec("", DType::kU8, {1})}).ok());
  TensorSpec outside = Spec("s", DType::kU8, {3});
  outside.slice = SliceSpec{{4}, {2}};
  EXPECT_THAT(error({outside}), HasSubstr("s"));
  TensorSpec overflow = Spec("o", DType::kU8, {3});
  overflow.slice = SliceSpec{{4}, {~uint64_t{0}}};
  EXPECT_THAT(error({overflow}), HasSubstr("o"));
}

// R9: it has to fit a message to the server.
TEST(Layout, RefusesNamesThatAreTooLongTogether) {
  std::vector<TensorSpec> tensors;
  for (size_t bytes = 0; bytes <= kLayoutBytesMax; bytes += 4000) {
    std::string name = absl::StrCat(tensors.size());
    name.resize(4000, 'x');
    tensors.push_back(Spec(std::move(name), DType::kU8, {1}));
  }
  EXPECT_THAT(std::string(Layout::Make(tensors).status().message()), HasSubstr("shorter names"));
  tensors.resize(tensors.size() - tensors.size() / 64);
  EXPECT_TRUE(Layout::Make(tensors).ok());
}

TEST(Layout, NoTensorsAreLegal) {
  const auto layout = Layout::Make({});
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->total_bytes(), 0u);
}

TEST(DType, NamesAreInverse) {
  for (int value = 1; value <= static_cast<int>(DType::kF6E3M2); ++value) {
    const auto dtype = static_cast<DType>(value);
    EXPECT_EQ(ParseDType(ToString(dtype)), dtype);
    EXPECT_GT(BitsOf(dtype), 0u);
  }
  EXPECT_FALSE(ParseDType("bf16"));
}

TEST(Chunking, CoversTheByteSpaceExactly) {
  for (uint64_t total :
       {uint64_t{0}, uint64_t{1}, uint64_t{4096}, uint64_t{4097}, uint64_t{99999}}) {
    const Chunking chunking{total, 4096};
    uint64_t covered = 0;
    for (uint32_t chunk = 0; chunk < chunking.count(); ++chunk) {
      EXPECT_EQ(chunking.begin(chunk), covered);
      covered += chunking.size(chunk);
    }
    EXPECT_EQ(covered, total);
  }
}

TEST(Chunking, DefaultIsATwoThousandthWithinBounds) {
  EXPECT_EQ(DefaultChunkBytes(1), 128u << 10);
  EXPECT_EQ(DefaultChunkBytes(uint64_t{1} << 29), 256u << 10);
  EXPECT_EQ(DefaultChunkBytes(uint64_t{1} << 40), 512u << 10);
  const uint64_t huge = uint64_t{1} << 50;
  EXPECT_TRUE(CheckChunking({huge, DefaultChunkBytes(huge)}).ok());
}

TEST(Chunking, RefusesWhatTheControlWordCannotCount) {
  EXPECT_TRUE(CheckChunking({1 << 20, 4096}).ok());
  EXPECT_FALSE(CheckChunking({1 << 20, 4095}).ok());
  EXPECT_FALSE(CheckChunking({1 << 20, (uint64_t{1} << 30) + 1}).ok());
  EXPECT_FALSE(CheckChunking({uint64_t{1} << 50, 4096}).ok());
}

}  // namespace
}  // namespace tensorhub
