// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What one side writes, the other reads, and each field of the wire is written: a field that the
// codec forgets fails here.

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "protocol/codec/calls.h"
#include "protocol/codec/directives.h"
#include "protocol/codec/reports.h"
#include "tests/unit/protocol/filled.h"

namespace tensorhub::protocol {
namespace {

// The names of those that are not set, in `message` and in what is in it.
void FindUnset(const google::protobuf::Message& message, std::set<std::string>& unset) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    const bool one_of_many = field.real_containing_oneof() != nullptr;
    if (field.is_repeated()) {
      if (reflection.FieldSize(message, &field) == 0) unset.insert(field.full_name());
    } else if (reflection.HasField(message, &field)) {
      const bool has_fields = field.message_type() != nullptr;
      if (has_fields) FindUnset(reflection.GetMessage(message, &field), unset);
    } else if (!one_of_many) {
      unset.insert(field.full_name());
    }
  }
}

std::set<std::string> Unset(const google::protobuf::Message& message) {
  std::set<std::string> unset;
  FindUnset(message, unset);
  return unset;
}

template <typename Message>
Message Filled() {
  Message message;
  Filler().Fill(message);
  return message;
}

// Runs `check(Alternative())` for each of the variant's.
template <typename Variant, size_t... I, typename Check>
void ForEach(std::index_sequence<I...>, Check check) {
  (check(std::variant_alternative_t<I, Variant>()), ...);
}
template <typename Variant, typename Check>
void ForEachOf(Check check) {
  ForEach<Variant>(std::make_index_sequence<std::variant_size_v<Variant>>(), check);
}

TEST(RoundTripTest, Directives) {
  ForEachOf<HubMessage>([](auto body) {
    Filler().Fill(body);
    const HubMessage said = body;
    const v1::HubMessage wire = Encode(said);
    std::set<std::string> unset = Unset(wire);
    unset.erase("tensorhub.v1.Welcome.hears_content");  // refuses_content is set
    EXPECT_EQ(unset, std::set<std::string>()) << wire.DebugString();
    const auto heard = Decode(wire);
    ASSERT_TRUE(heard.ok() && *heard) << heard.status();
    EXPECT_EQ((*heard)->index(), said.index());
    EXPECT_EQ(Encode(**heard).DebugString(), wire.DebugString());
  });
}

TEST(RoundTripTest, Openings) {
  auto said = Filled<OpenSession>();
  said.world_size = said.worker.key.rank + 1;
  said.holding->chunk_bytes = uint64_t{1} << 20;
  said.holding->published = false;  // what has a sharding was fetched
  const v1::OpenSession wire = Encode(said);
  EXPECT_EQ(Unset(wire), std::set<std::string>{"tensorhub.v1.Holding.published"});
  const auto heard = Decode(wire);
  ASSERT_TRUE(heard.ok()) << heard.status();
  EXPECT_EQ(Encode(*heard).DebugString(), wire.DebugString());
}

TEST(RoundTripTest, Reports) {
  ForEachOf<WorkerMessage>([](auto body) {
    Filler().Fill(body);
    const WorkerMessage said = body;
    const v1::WorkerMessage wire = Encode(said);
    EXPECT_EQ(Unset(wire), std::set<std::string>()) << wire.DebugString();
    const auto heard = Decode(wire);
    ASSERT_TRUE(heard.ok()) << heard.status();
    EXPECT_EQ(heard->index(), said.index());
    EXPECT_EQ(Encode(*heard).DebugString(), wire.DebugString());
  });
}

// Who calls, and the number of the call, are the shells' to say.
std::set<std::string> UnsetIn(const google::protobuf::Message& request) {
  std::set<std::string> unset = Unset(request);
  for (const char* by : {".worker", ".op"}) {
    unset.erase(absl::StrCat(request.GetDescriptor()->full_name(), by));
  }
  unset.erase(
      "tensorhub.v1.Selector.any");  // of one kind of selector; the others have their number
  return unset;
}

TEST(RoundTripTest, Calls) {
  ForEachOf<Request>([](auto said) {
    Filler().Fill(said);
    if constexpr (requires { said.chunk_bytes; }) said.chunk_bytes = uint64_t{1} << 20;
    const auto wire = Encode(said);
    EXPECT_EQ(UnsetIn(wire), std::set<std::string>()) << wire.DebugString();
    const auto heard = Decode(wire);
    ASSERT_TRUE(heard.ok()) << heard.status();
    EXPECT_EQ(Encode(*heard).DebugString(), wire.DebugString());
  });
}

TEST(RoundTripTest, SelectorsOfEveryKind) {
  using Kind = VersionSelector::Kind;
  for (const Kind kind : {Kind::kLatest, Kind::kExact, Kind::kNewerThan, Kind::kAny}) {
    auto said = Filled<JoinFetch>();
    said.selector = {kind, kind == Kind::kExact || kind == Kind::kNewerThan ? 6u : 0u};
    const auto heard = Decode(Encode(said));
    ASSERT_TRUE(heard.ok()) << heard.status();
    EXPECT_EQ(heard->selector, said.selector) << ToString(said.selector);
  }
}

TEST(RoundTripTest, Replies) {
  const auto goes_through = [](const auto& wire) {
    EXPECT_EQ(Unset(wire), std::set<std::string>()) << wire.DebugString();
    const auto heard = Decode(wire);
    ASSERT_TRUE(heard.ok()) << heard.status();
    EXPECT_EQ(Encode(*heard).DebugString(), wire.DebugString());
  };
  goes_through(Encode(Filled<PublishReply>()));
  goes_through(Encode(Filled<UnpublishReply>()));
  goes_through(Encode(Filled<FetchDecision>()));
  const absl::Status outcome = Filled<absl::Status>();
  const v1::FinishReadResponse wire = Encode(Filled<FinishReadReply>(), outcome);
  EXPECT_EQ(Unset(wire), std::set<std::string>()) << wire.DebugString();
  EXPECT_EQ(OutcomeOf(wire), outcome);
  const auto heard = Decode(wire);
  ASSERT_TRUE(heard.ok()) << heard.status();
  EXPECT_EQ(Encode(*heard, outcome).DebugString(), wire.DebugString());
}

// What is refused of a message whose fields were filled one by one.
template <typename Message>
void Mend(Message&) {}
void Mend(Assign& said) { said.ranges = said.ranges || said.parts; }
void Mend(Publish& said) { said.chunk_bytes = uint64_t{1} << 20; }
void Mend(OpenSession& said) {
  said.world_size = said.worker.key.rank + 1;
  said.holding->chunk_bytes = uint64_t{1} << 20;
  if (said.holding->published) said.holding->sharding = {};
  said.knows_streams = said.knows_streams || said.knows_resharding;
}

// The wire's text, which is the same again once it was read and written.
template <typename Wire, typename Message>
std::string TextOf(const Wire& wire, const absl::StatusOr<Message>& heard) {
  std::string text = wire.DebugString();
  EXPECT_TRUE(heard.ok()) << heard.status();
  if (!heard.ok()) return text;
  EXPECT_EQ(Encode(*heard).DebugString(), text);
  return text;
}
template <typename Message>
std::string TextOf(const Message& said) {
  const auto wire = Encode(said);
  return TextOf(wire, Decode(wire));
}
std::string TextOf(const HubMessage& said) {
  const v1::HubMessage wire = Encode(said);
  const absl::StatusOr<std::optional<HubMessage>> heard = Decode(wire);
  if (!heard.ok()) return TextOf<v1::HubMessage, HubMessage>(wire, heard.status());
  return TextOf<v1::HubMessage, HubMessage>(wire, heard->value());
}

// Runs through the message with each of its bools flipped by itself, and with none: no two of them
// are the same on the wire. `Said` is what the message is written as.
template <typename Said, typename Message>
void CheckEachBool() {
  std::set<std::string> texts;
  size_t bools = 0;
  for (size_t flipped = 0; flipped <= bools; ++flipped) {
    Message message;
    Filler filler(flipped);
    filler.Fill(message);
    bools = filler.bools();
    Mend(message);
    texts.insert(TextOf(Said(message)));
  }
  EXPECT_EQ(texts.size(), bools + 1);
}

TEST(RoundTripTest, EachBoolByItself) {
  ForEachOf<HubMessage>([]<typename Body>(const Body&) { CheckEachBool<HubMessage, Body>(); });
  ForEachOf<WorkerMessage>(
      []<typename Body>(const Body&) { CheckEachBool<WorkerMessage, Body>(); });
  ForEachOf<Request>([]<typename Call>(const Call&) { CheckEachBool<Call, Call>(); });
  CheckEachBool<OpenSession, OpenSession>();
  CheckEachBool<PublishReply, PublishReply>();
  CheckEachBool<UnpublishReply, UnpublishReply>();
  CheckEachBool<FetchDecision, FetchDecision>();
}

TEST(RoundTripTest, ANewerHubsDirectiveIsNone) {
  const auto heard = Decode(v1::HubMessage());
  ASSERT_TRUE(heard.ok());
  EXPECT_FALSE(heard->has_value());
}

}  // namespace
}  // namespace tensorhub::protocol
