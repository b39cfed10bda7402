// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/safetensors/attachment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/limits.h"
#include "tests/unit/tools/files.h"

namespace tensorhub::safetensors {
namespace {

using ::testing::HasSubstr;

SplitFile File(const std::string& name, const std::string& tensor) {
  const std::string raw =
      Raw("{\"" + tensor + R"(":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})");
  return {name, ParseHeader(name, raw).value()};
}

Attachment Two() {
  return {.files = {File("a.safetensors", "x"), File("b.safetensors", "y")},
          .extras = {{"index.json", "{}"}}};
}

std::string DecodeError(const std::string& encoded) {
  const auto decoded = Decode(encoded);
  return decoded.ok() ? "decoded" : std::string(decoded.status().message());
}

TEST(AttachmentTest, ComesBackAsItWas) {
  const auto decoded = Decode(Encode(Two()).value());
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  ASSERT_EQ(decoded->files.size(), 2u);
  EXPECT_EQ(decoded->files[1].name, "b.safetensors");
  EXPECT_EQ(decoded->files[1].header.raw, Two().files[1].header.raw);
  ASSERT_EQ(decoded->extras.size(), 1u);
  EXPECT_EQ(decoded->extras[0].content, "{}");
  EXPECT_EQ(decoded->data_bytes(), 6u);
}

TEST(AttachmentTest, EveryTruncationIsRefused) {
  const std::string encoded = Encode(Two()).value();
  for (size_t size = 0; size < encoded.size(); ++size) {
    EXPECT_NE(DecodeError(encoded.substr(0, size)), "decoded") << size;
  }
  EXPECT_THAT(DecodeError(encoded + "x"), HasSubstr("goes on after its end"));
}

TEST(AttachmentTest, FlippedBytesNeverCrash) {
  const std::string encoded = Encode(Two()).value();
  for (size_t i = 0; i < encoded.size(); ++i) {
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string damaged = encoded;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      const auto decoded = Decode(damaged);
      if (decoded.ok()) {
        EXPECT_EQ(Encode(*decoded).value(), damaged);
      }
    }
  }
}

TEST(AttachmentTest, NamesMustBePlainFileNames) {
  for (const char* name : {"", ".", "..", "../x", "a/../b", "a//b", "a/", "/etc/passwd",
                           "a/.hidden", ".hidden", "a/b/c/d/e/f/g/h/i", "a\\b", "a\nb"}) {
    Attachment attachment = Two();
    attachment.files[0].name = name;
    EXPECT_THAT(DecodeError(Encode(attachment).value()), HasSubstr("names a file")) << name;
    attachment = Two();
    attachment.extras[0].name = name;
    EXPECT_THAT(DecodeError(Encode(attachment).value()), HasSubstr("names a file")) << name;
  }
}

TEST(AttachmentTest, AFileIsNoFolder) {
  Attachment attachment = Two();
  attachment.extras[0].name = attachment.files[0].name + "/x";
  EXPECT_THAT(DecodeError(Encode(attachment).value()), HasSubstr("both as a file and as a folder"));
}

TEST(AttachmentTest, TensorsOfAPipelineAreToldApartIfTheyMustBe) {
  const auto names = [](const char* first, const char* second) {
    const Attachment attachment{
        .files = {File("unet/m.safetensors", first), File("vae/m.safetensors", second)},
        .extras = {}};
    const auto decoded = Decode(Encode(attachment).value()).value();
    return decoded.files[0].header.tensors[0].spec.name + " " +
           decoded.files[1].header.tensors[0].spec.name;
  };
  EXPECT_EQ(names("x", "y"), "x y");
  EXPECT_EQ(names("x", "x"), "unet/x vae/x");
}

TEST(AttachmentTest, NamesAndTensorsMustBeDistinct) {
  Attachment same_name = Two();
  same_name.extras[0].name = "a.safetensors";
  EXPECT_THAT(DecodeError(Encode(same_name).value()), HasSubstr("\"a.safetensors\" twice"));
  const Attachment same_tensor = {.files = {File("a", "x"), File("b", "x")}, .extras = {}};
  EXPECT_THAT(DecodeError(Encode(same_tensor).value()), HasSubstr("\"x\" in two files"));
}

// Their sum would come out small: the memory for it, too.
TEST(AttachmentTest, SizesSumWithoutWrappingRound) {
  Attachment vast;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i"}) {
    const uint64_t bytes = (uint64_t{1} << 61) - 1;
    vast.files.push_back(
        {name, MakeHeader({{.name = name, .dtype = DType::kU8, .shape = {bytes}, .slice = {}}}, {})
                   .value()});
  }
  EXPECT_THAT(DecodeError(Encode(vast).value()), HasSubstr("more than 2^64 bytes"));
  vast.files.pop_back();
  EXPECT_TRUE(Decode(Encode(vast).value()).ok());
}

TEST(AttachmentTest, OursAreToldByHowTheyStart) {
  EXPECT_TRUE(IsEncoded(Encode(Two()).value()));
  EXPECT_TRUE(IsEncoded(Encode(Two()).value().substr(0, 10)));
  for (const char* other : {"", "THS", "something else", " THSA"}) {
    EXPECT_FALSE(IsEncoded(other)) << other;
  }
}

TEST(AttachmentTest, OtherFormatsAreNamed) {
  EXPECT_THAT(DecodeError("something else"), HasSubstr("not written by tensorhubctl"));
  std::string newer = Encode(Two()).value();
  newer[4] = 2;
  EXPECT_THAT(DecodeError(newer), HasSubstr("unknown format"));
}

TEST(AttachmentTest, TooLargeIsRefused) {
  Attachment attachment;
  attachment.extras.push_back({"index.json", std::string(kAttachmentBytesMax, 'x')});
  EXPECT_EQ(Encode(attachment).status().code(), absl::StatusCode::kResourceExhausted);
}

Layout LayoutOf(const std::string& name, uint64_t bytes) {
  return Layout::Make({{.name = name, .dtype = DType::kU8, .shape = {bytes}, .slice = {}}}).value();
}

TEST(AttachmentTest, FromLayoutNamesTheRank) {
  const auto alone = FromLayout(LayoutOf("x", 3), 0, 1);
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(alone->files[0].name, "model.safetensors");
  EXPECT_TRUE(CheckFits(*alone, LayoutOf("x", 3)).ok());
  EXPECT_EQ(FromLayout(LayoutOf("x", 3), 1, 4)->files[0].name,
            "model-rank-00002-of-00004.safetensors");
}

TEST(AttachmentTest, FilesHaveNoOtherNamesOfTiedTensors) {
  const TensorSpec alias{"head = embedding", DType::kU8, {0}, SliceSpec{{0}, {0}}};
  const TensorSpec tied{"embedding", DType::kU8, {3}, {}};
  const auto attachment = FromLayout(Layout::Make({alias, tied}).value(), 0, 1);
  ASSERT_TRUE(attachment.ok()) << attachment.status();
  ASSERT_EQ(attachment->files[0].header.tensors.size(), 1u);
  EXPECT_EQ(attachment->files[0].header.tensors[0].spec, tied);
}

TEST(AttachmentTest, PiecesOfOneTensorAreToldApartInTheFile) {
  const auto rows = [](const std::string& name, uint64_t begin) {
    return TensorSpec{name, DType::kU8, {2}, SliceSpec{{8}, {begin}}};
  };
  const Layout layout = Layout::Make({rows("qkv", 4), rows("qkv", 0), rows("o", 6)}).value();
  const auto attachment = FromLayout(layout, 0, 1);
  ASSERT_TRUE(attachment.ok()) << attachment.status();
  const Header& header = attachment->files[0].header;
  ASSERT_EQ(header.tensors.size(), 3u);
  EXPECT_EQ(header.tensors[1].spec, rows("qkv", 0));  // as it is registered
  const absl::StatusOr<Header> read = ParseHeader("f", header.raw);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->tensors[0].spec.name, "o");
  EXPECT_EQ(read->tensors[1].spec.name, "qkv[0:2]");
  EXPECT_EQ(read->tensors[2].spec.name, "qkv[4:6]");
  EXPECT_EQ(read->tensors[2].offset, 4u);
  EXPECT_NE(header.raw.find("tensorhub.slices"), std::string::npos);
}

TEST(AttachmentTest, MustFitTheLayout) {
  const Attachment one = {.files = {File("a", "x")}, .extras = {}};
  EXPECT_TRUE(CheckFits(one, LayoutOf("x", 3)).ok());
  EXPECT_FALSE(CheckFits(one, LayoutOf("x", 4)).ok());
  EXPECT_FALSE(CheckFits(one, LayoutOf("y", 3)).ok());
  EXPECT_FALSE(CheckFits(Two(), LayoutOf("x", 3)).ok());
}

TEST(AttachmentTest, RanksWithEqualFileNamesAreKeptApart) {
  std::vector<Attachment> ranks = {
      {.files = {File("model.safetensors", "x")}, .extras = {{"index.json", "1"}}},
      {.files = {File("model.safetensors", "y")}, .extras = {{"index.json", "1"}}}};
  MakeNamesDistinct(ranks);
  EXPECT_EQ(ranks[0].files[0].name, "rank-00001-of-00002-model.safetensors");
  EXPECT_EQ(ranks[1].files[0].name, "rank-00002-of-00002-model.safetensors");
  EXPECT_EQ(ranks[1].extras[0].name, "index.json");  // one content: one file
}

}  // namespace
}  // namespace tensorhub::safetensors
