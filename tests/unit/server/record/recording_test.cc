// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A record is shown to others, and so has no secret in it.

#include "server/record/recording.h"

#include <string>
#include <string_view>
#include <variant>

#include "gtest/gtest.h"
#include "server/record/codec.h"

namespace tensorhub::record {
namespace {

TEST(Recording, SaysThatThereIsAKeyAndNotWhich) {
  hub::SessionOpened opened;
  opened.read_key = CapabilityKey::Guessable(0x0102030405060708);
  std::string bytes;
  Encode(hub::Event(opened), bytes);
  EXPECT_EQ(bytes.find(std::string("\x08\x07\x06\x05\x04\x03\x02\x01")), std::string::npos);
  std::string_view from = bytes;
  hub::Event back;
  ASSERT_TRUE(Decode(from, back));
  EXPECT_TRUE(std::get<hub::SessionOpened>(back).read_key);
  EXPECT_NE(std::get<hub::SessionOpened>(back).read_key, opened.read_key);
  bytes.clear();
  Encode(hub::Event(hub::SessionOpened()), bytes);
  from = bytes;
  ASSERT_TRUE(Decode(from, back));
  EXPECT_FALSE(std::get<hub::SessionOpened>(back).read_key);
}

// What is signed by another key is the same; that nothing is signed is not.
TEST(Recording, DoesNotTellCapabilitiesApart) {
  const auto digest = [](const Capability& capability) {
    hub::Assign assign;
    assign.capability = capability;
    EffectsDigest effects;
    effects.Add(0, {hub::Directive{1, assign}});
    return effects.low();
  };
  EXPECT_EQ(digest({1, 2}), digest({3, 4}));
  EXPECT_NE(digest({1, 2}), digest({}));
}

}  // namespace
}  // namespace tensorhub::record
