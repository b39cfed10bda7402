// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/safetensors/header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tools/files.h"

namespace tensorhub::safetensors {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(HeaderTest, KeepsTheRawBytesAndOrdersByOffset) {
  // Odd spacing, order and escapes are what printing again would lose.
  const std::string raw = Raw(
      R"( {"b" :{"dtype":"U8","shape":[3],"data_offsets":[4,7]},"__metadata__":{"format":"pt"},)"
      R"("\u0061":{"data_offsets":[0,4],"shape":[1],"dtype":"F32"}}    )");
  const auto header = ParseHeader("f", raw);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->raw, raw);
  EXPECT_EQ(header->data_bytes, 7u);
  ASSERT_EQ(header->tensors.size(), 2u);
  EXPECT_EQ(header->tensors[0].spec.name, "a");
  EXPECT_EQ(header->tensors[1].offset, 4u);
}

TEST(HeaderTest, EmptyTensorsAndNoTensorsAreLegal) {
  const auto empty =
      ParseHeader("f", Raw(R"({"a":{"dtype":"F32","shape":[0,5],"data_offsets":[0,0]},)"
                           R"("b":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                           R"("c":{"dtype":"F32","shape":[7,0],"data_offsets":[4,4]}})"));
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_EQ(empty->data_bytes, 4u);
  EXPECT_TRUE(ParseHeader("f", Raw("{}")).ok());
}

struct BadHeader {
  const char* json;
  const char* says;
};

class BadHeaderTest : public ::testing::TestWithParam<BadHeader> {};

TEST_P(BadHeaderTest, OneLineNamesFileAndProblem) {
  const auto header = ParseHeader("dir/f.safetensors", Raw(GetParam().json));
  ASSERT_FALSE(header.ok());
  const std::string message(header.status().message());
  EXPECT_THAT(message, StartsWith("dir/f.safetensors: "));
  EXPECT_THAT(message, HasSubstr(GetParam().says));
  EXPECT_THAT(message, Not(HasSubstr("\n")));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadHeaderTest,
    ::testing::Values(
        BadHeader{"", "not valid JSON"}, BadHeader{"{", "not valid JSON"},
        BadHeader{"[]", "no JSON object"}, BadHeader{"7", "no JSON object"},
        BadHeader{"{}x", "not valid JSON"}, BadHeader{"{\"\xff\":1}", "not valid JSON"},
        BadHeader{R"({"t":7})", "tensor \"t\" is not described by a JSON object"},
        BadHeader{R"({"a\nb":7})", R"(tensor "a\nb" is not described)"},
        BadHeader{R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                  R"("t":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                  "repeats the key \"t\""},
        BadHeader{R"({"t":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                  "repeats the key \"dtype\""},
        BadHeader{R"({"t":{"dtype":"Q4","shape":[1],"data_offsets":[0,1]}})",
                  "tensor \"t\" has the unknown dtype \"Q4\""},
        BadHeader{R"({"t":{"shape":[1],"data_offsets":[0,1]}})", "tensor \"t\" has no dtype"},
        BadHeader{R"({"t":{"dtype":"U8","data_offsets":[0,1]}})", "tensor \"t\" has no shape"},
        BadHeader{R"({"t":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", "has no shape"},
        BadHeader{R"({"t":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}})", "has no shape"},
        BadHeader{R"({"t":{"dtype":"U8","shape":[4294967296,4294967296,0],"data_offsets":[0,0]}})",
                  "overflows"},
        BadHeader{"\xEF\xBB\xBF{}", "not valid JSON (at byte 0)"},
        BadHeader{R"({"t":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,0]}})",
                  "tensor \"t\""},
        BadHeader{R"({"t":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,0]}})",
                  "has no shape"},
        BadHeader{R"({"t":{"dtype":"U8","shape":[2],"data_offsets":[2,0]}})", "begin <= end"},
        BadHeader{R"({"t":{"dtype":"U8","shape":[2],"data_offsets":[0]}})", "data_offsets"},
        BadHeader{R"({"t":{"dtype":"U8","shape":[2],"data_offsets":[0,3]}})",
                  "data_offsets of 3 bytes, but its dtype and shape make 2"},
        BadHeader{R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                  R"("b":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}})",
                  "tensor \"b\" overlaps"},
        BadHeader{R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                  R"("b":{"dtype":"U8","shape":[4],"data_offsets":[5,9]}})",
                  "tensor \"b\" begins at 5, leaving a hole after byte 4"},
        BadHeader{R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[1,5]}})", "hole"},
        BadHeader{R"({"__metadata__":[]})", "__metadata__ is no JSON object"},
        BadHeader{R"({"__metadata__":{"a":1}})", "__metadata__ field \"a\" is not a string"},
        BadHeader{R"({"t":{"dtype":"U8","shape":[[[[1]]]],"data_offsets":[0,1]}})",
                  "has no shape"}));

TEST(HeaderTest, AZeroIsNotTheEndOfTheText) {
  const auto header = ParseHeader("f", Raw(std::string("{}\0", 3)));
  EXPECT_THAT(std::string(header.status().message()), HasSubstr("not valid JSON (at byte 2)"));
}

TEST(HeaderTest, WhatTheFormatsOwnLibraryTakes) {
  for (const char* json :
       {R"({"__metadata__":null})", R"({"t":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}} )",
        R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":{"y":[[[1e40]]]}}})"}) {
    EXPECT_TRUE(ParseHeader("f", Raw(json)).ok()) << json;
  }
}

TEST(HeaderTest, ADepthBombIsRefusedQuickly) {
  const auto header = ParseHeader("f", Raw(std::string(10'000'000, '[')));
  ASSERT_FALSE(header.ok());
  EXPECT_THAT(std::string(header.status().message()), HasSubstr("nested deeper than 127"));
}

TEST(HeaderTest, LengthsAreCheckedBeforeAnythingIsRead) {
  const auto says = [](const std::string& bytes, uint64_t file_bytes) {
    return std::string(ParseHeaderLength("f", bytes, file_bytes).status().message());
  };
  EXPECT_THAT(says("1234567", 7), HasSubstr("only 7 bytes"));
  EXPECT_THAT(says(Raw(std::string(5, ' ')).substr(0, 8), 12), HasSubstr("truncated"));
  EXPECT_THAT(says(std::string(8, '\xff'), 1000), HasSubstr("at most 100000000"));
  EXPECT_EQ(ParseHeaderLength("f", Raw("{}"), 10).value(), 2u);
}

TEST(HeaderTest, AMadeHeaderParsesToTheSame) {
  const std::vector<TensorSpec> specs = {
      {.name = "w\"1", .dtype = DType::kBF16, .shape = {3, 5}, .slice = {}},
      {.name = "empty", .dtype = DType::kF32, .shape = {0}, .slice = {}},
      {.name = "ünï", .dtype = DType::kU8, .shape = {1}, .slice = {}}};
  const auto made = MakeHeader(specs, {{"format", "pt"}});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->raw.size() % 8, 0u);
  const auto parsed = ParseHeader("f", made->raw);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->tensors.size(), specs.size());
  for (size_t i = 0; i < specs.size(); ++i) EXPECT_EQ(parsed->tensors[i].spec, specs[i]);
  EXPECT_EQ(parsed->data_bytes, 31u);
}

TEST(HeaderTest, NamesThatJsonCannotHoldAreRefused) {
  const auto make = [](const std::string& name) {
    return MakeHeader({{.name = name, .dtype = DType::kU8, .shape = {1}, .slice = {}}}, {});
  };
  EXPECT_FALSE(make("a\xff").ok());
  EXPECT_FALSE(make("__metadata__").ok());
  EXPECT_TRUE(make("a\n").ok());
}

}  // namespace
}  // namespace tensorhub::safetensors
