// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/access_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/tls/certificates.h"

namespace tensorhub::rpc {
namespace {

using testing::HasSubstr;

constexpr int64_t kNow = 1'800'000'000;

// The SHA-256 of "secret".
constexpr char kSecret[] = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

AccessRules Parsed(const std::string& text) {
  absl::StatusOr<AccessRules> rules = AccessRules::Parse(text);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return rules.ok() ? *std::move(rules) : AccessRules();
}

Caller Named(std::vector<std::string> names) { return {.names = std::move(names), .token = {}}; }
Caller WithToken(const std::string& token) { return {.names = {}, .token = token}; }

Grant GrantOf(const AccessRules& rules, const Caller& caller, int64_t now = kNow) {
  const absl::StatusOr<Grant> grant = rules.Judge(caller, now);
  EXPECT_TRUE(grant.ok()) << grant.status();
  return grant.ok() ? *grant : Grant();
}

TEST(AccessRulesTest, ARightHoldsThoseBeforeIt) {
  const AccessRules rules = Parsed(
      "# a comment\n\n"
      "uri:spiffe://x/trainer/*  publish  qwen/*,llama/actor  # behind it as well\n"
      "cn:ops admin *\r\n");
  const Grant trainer = GrantOf(rules, Named({"uri:spiffe://x/trainer/7", "cn:t"}));
  EXPECT_EQ(trainer.principal, "uri:spiffe://x/trainer/7");
  EXPECT_TRUE(trainer.Allows(Right::kPublish, "qwen/deep/actor"));
  EXPECT_TRUE(trainer.Allows(Right::kRead, "llama/actor"));
  EXPECT_FALSE(trainer.Allows(Right::kAdmin, "qwen/actor"));
  EXPECT_FALSE(trainer.Allows(Right::kRead, "llama/critic"));
  EXPECT_FALSE(trainer.Allows(Right::kRead, "qwen"));
  EXPECT_TRUE(trainer.Allows(Right::kPublish, ""));
  EXPECT_FALSE(trainer.Allows(Right::kAdmin, ""));
  EXPECT_TRUE(GrantOf(rules, Named({"cn:ops"})).Allows(Right::kAdmin, "qwen/actor"));
}

TEST(AccessRulesTest, WhatSeveralLinesGiveAddsUp) {
  const AccessRules rules = Parsed("cn:a read x\ndns:a.example publish y\nanonymous read free/*\n");
  const Grant grant = GrantOf(rules, Named({"dns:a.example", "cn:a"}));
  EXPECT_TRUE(grant.Allows(Right::kRead, "x"));
  EXPECT_FALSE(grant.Allows(Right::kPublish, "x"));
  EXPECT_TRUE(grant.Allows(Right::kPublish, "y"));
  EXPECT_TRUE(grant.Allows(Right::kRead, "free/for/all"));
}

TEST(AccessRulesTest, ANameIsNotAnotherKindOfName) {
  const AccessRules rules = Parsed("cn:* admin *\n");
  EXPECT_TRUE(absl::IsPermissionDenied(rules.Judge(Named({"dns:cn:ops"}), kNow).status()));
  // Nor does a certificate that calls itself so stand for a token, or for anybody.
  const AccessRules others =
      Parsed(std::string("token:robot admin * sha256=") + kSecret + "\nanonymous read *\n");
  const Grant forged = GrantOf(others, Named({"cn:token:robot", "cn:anonymous"}));
  EXPECT_FALSE(forged.Allows(Right::kPublish, "m"));
}

TEST(AccessRulesTest, WhoShowsNothingIsAskedWhoItIs) {
  const AccessRules closed = Parsed("cn:a read *\n");
  const absl::Status nobody = closed.Judge(Caller(), kNow).status();
  EXPECT_TRUE(absl::IsUnauthenticated(nobody)) << nobody;
  const absl::Status stranger = closed.Judge(Named({"cn:b"}), kNow).status();
  EXPECT_TRUE(absl::IsPermissionDenied(stranger)) << stranger;
  EXPECT_THAT(std::string(stranger.message()), HasSubstr("cn:b"));
  const Grant free = GrantOf(Parsed("anonymous read free/*\n"), Caller());
  EXPECT_EQ(free.principal, "anonymous");
  EXPECT_FALSE(free.Allows(Right::kRead, "other"));
}

TEST(AccessRulesTest, ATokenIsKnownByItsHash) {
  const AccessRules rules =
      Parsed(std::string("token:robot read * sha256=") + kSecret + " until=2027-01-15T08:00:01Z\n");
  const Grant grant = GrantOf(rules, WithToken("secret"));
  EXPECT_EQ(grant.principal, "token:robot");
  EXPECT_EQ(grant.ends, kNow + 1);
  for (const char* wrong : {"", "Secret", "secret ", kSecret}) {
    const absl::Status status = rules.Judge(WithToken(wrong), kNow).status();
    EXPECT_TRUE(absl::IsUnauthenticated(status)) << wrong;
  }
  const absl::Status late = rules.Judge(WithToken("secret"), kNow + 1).status();
  EXPECT_TRUE(absl::IsUnauthenticated(late));
  EXPECT_THAT(std::string(late.message()), HasSubstr("token:robot has ended"));
}

// A wrong one is never passed over for what else is shown.
TEST(AccessRulesTest, AWrongTokenIsRefusedBesideACertificate) {
  const AccessRules rules = Parsed("cn:a read *\nanonymous read *\n");
  EXPECT_TRUE(
      absl::IsUnauthenticated(rules.Judge({.names = {"cn:a"}, .token = "wrong"}, kNow).status()));
}

TEST(AccessRulesTest, ACertificatesEndIsTheGrants) {
  const AccessRules rules = Parsed("cn:a read *\n");
  EXPECT_EQ(GrantOf(rules, {.names = {"cn:a"}, .token = {}, .certificate_ends = 99}).ends, 99);
  EXPECT_EQ(GrantOf(rules, Named({"cn:a"})).ends, 0);
}

TEST(AccessRulesTest, WhatIsWrongIsNamedWithItsLine) {
  const auto error = [](const std::string& line) {
    const absl::Status status = AccessRules::Parse("cn:a read *\n" + line).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << line;
    EXPECT_THAT(std::string(status.message()), HasSubstr("line 2: ")) << line;
    return std::string(status.message());
  };
  EXPECT_THAT(error("cn:a read"), HasSubstr("WHO RIGHT MODELS"));
  EXPECT_THAT(error("ops read *"), HasSubstr("is nobody"));
  EXPECT_THAT(error("cn: read *"), HasSubstr("is nobody"));
  EXPECT_THAT(error("cn:a write *"), HasSubstr("is no right"));
  EXPECT_THAT(error("token:t read *"), HasSubstr("needs sha256"));
  EXPECT_THAT(error("token:t read * sha256=12"), HasSubstr("64 hexadecimal"));
  EXPECT_THAT(error("cn:a read * until=2027-01-01"), HasSubstr("for token:NAME"));
  EXPECT_THAT(error(std::string("token:t read * until=soon sha256=") + kSecret),
              HasSubstr("is no day"));
  EXPECT_THAT(error(std::string("token:t read * sha256=") + kSecret + " what"),
              HasSubstr("write sha256=HEX"));
}

TEST(AccessRulesTest, AFileWithoutALineIsAMistake) {
  for (const char* text : {"", "\n\n", "# cn:a read *\n"}) {
    const absl::Status status = AccessRules::Parse(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("has no line"));
  }
}

}  // namespace
}  // namespace tensorhub::rpc
