// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/ucx_envelope.h"

#include <gtest/gtest.h>

namespace tensorhub::agent {
namespace {

constexpr EnvelopeKind kKind = EnvelopeKind::kGetAddress;

TEST(UcxEnvelope, ReturnsWhatWasWrapped) {
  const std::string envelope = WrapEnvelope(kKind, std::string_view("a\0b", 3));
  EXPECT_EQ(UnwrapEnvelope(kKind, envelope).value(), std::string_view("a\0b", 3));
}

TEST(UcxEnvelope, RefusesEveryFlippedBit) {
  const std::string good = WrapEnvelope(kKind, "some content");
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    EXPECT_EQ(UnwrapEnvelope(kKind, bad).status().code(), absl::StatusCode::kInvalidArgument)
        << "bit " << bit;
  }
}

TEST(UcxEnvelope, RefusesEveryTruncationAndExtension) {
  const std::string good = WrapEnvelope(kKind, "some content");
  for (size_t bytes = 0; bytes < good.size(); ++bytes) {
    EXPECT_FALSE(UnwrapEnvelope(kKind, good.substr(0, bytes)).ok()) << bytes;
  }
  EXPECT_FALSE(UnwrapEnvelope(kKind, good + "x").ok());
  EXPECT_FALSE(UnwrapEnvelope(kKind, WrapEnvelope(kKind, "")).ok());
}

TEST(UcxEnvelope, RefusesAnotherKind) {
  const std::string envelope = WrapEnvelope(EnvelopeKind::kMessageAddress, "content");
  EXPECT_FALSE(UnwrapEnvelope(EnvelopeKind::kGetAddress, envelope).ok());
  EXPECT_FALSE(UnwrapEnvelope(EnvelopeKind::kMemoryKey, envelope).ok());
}

}  // namespace
}  // namespace tensorhub::agent
