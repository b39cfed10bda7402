// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The wire only grows: what proto/released.txt lists is still there, with the same number and type.
// A field that goes leaves its number reserved. Names may change, those of calls may not.
// TENSORHUB_REWRITE=1 writes the list anew, which is a release's business alone.

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorhub/v1/admin.pb.h"
#include "tensorhub/v1/hub.pb.h"

namespace tensorhub {
namespace {

namespace pb = google::protobuf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// By what the wire knows a thing: what it is. Sorted, so that the file's differences are small.
using Contract = std::map<std::string, std::string>;

std::string TypeOf(const pb::FieldDescriptor& field) {
  std::string type = field.type_name();
  if (field.message_type() != nullptr) type = field.message_type()->full_name();
  if (field.enum_type() != nullptr) type = field.enum_type()->full_name();
  if (field.is_repeated()) return absl::StrCat("repeated ", type);
  if (field.real_containing_oneof() != nullptr) {
    return absl::StrCat("oneof ", field.containing_oneof()->name(), " ", type);
  }
  return field.has_presence() && field.message_type() == nullptr ? absl::StrCat("optional ", type)
                                                                 : type;
}

// Numbers in five digits, so that they sort.
std::string Key(const std::string& kind, const std::string& of, int number) {
  return absl::StrCat(kind, " ", of, " ", absl::Dec(number, absl::kZeroPad5));
}

void Add(const pb::EnumDescriptor& values, Contract* contract) {
  for (int i = 0; i < values.value_count(); ++i) {
    (*contract)[Key("value", values.full_name(), values.value(i)->number())] = "";
  }
}

void Add(const pb::Descriptor& message, Contract* contract) {
  for (int i = 0; i < message.field_count(); ++i) {
    const pb::FieldDescriptor& field = *message.field(i);
    (*contract)[Key("field", message.full_name(), field.number())] = TypeOf(field);
  }
  for (int i = 0; i < message.reserved_range_count(); ++i) {
    const pb::Descriptor::ReservedRange& range = *message.reserved_range(i);
    for (int number = range.start; number < range.end; ++number) {
      (*contract)[Key("field", message.full_name(), number)] = "reserved";
    }
  }
  for (int i = 0; i < message.nested_type_count(); ++i) Add(*message.nested_type(i), contract);
  for (int i = 0; i < message.enum_type_count(); ++i) Add(*message.enum_type(i), contract);
}

void Add(const pb::ServiceDescriptor& service, Contract* contract) {
  for (int i = 0; i < service.method_count(); ++i) {
    const pb::MethodDescriptor& call = *service.method(i);
    (*contract)[absl::StrCat("rpc ", call.full_name())] = absl::StrCat(
        call.client_streaming() ? "stream " : "", call.input_type()->full_name(), " -> ",
        call.server_streaming() ? "stream " : "", call.output_type()->full_name());
  }
}

Contract ContractOf(const std::vector<const pb::FileDescriptor*>& files) {
  Contract contract;
  for (const pb::FileDescriptor* file : files) {
    for (int i = 0; i < file->message_type_count(); ++i) Add(*file->message_type(i), &contract);
    for (int i = 0; i < file->enum_type_count(); ++i) Add(*file->enum_type(i), &contract);
    for (int i = 0; i < file->service_count(); ++i) Add(*file->service(i), &contract);
  }
  return contract;
}

// What of `released` is broken by `now`, a line each.
std::vector<std::string> Broken(const Contract& released, const Contract& now) {
  std::vector<std::string> broken;
  for (const auto& [key, was] : released) {
    const auto found = now.find(key);
    if (found == now.end()) {
      broken.push_back(absl::StrCat(key, " was ", was, " and is gone; keep it, or reserve it"));
    } else if (found->second != was && found->second != "reserved") {
      broken.push_back(absl::StrCat(key, " was ", was, " and is ", found->second));
    }
  }
  return broken;
}

constexpr char kSeparator[] = ": ";

Contract Read(const std::string& path) {
  Contract contract;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(kSeparator);
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    contract[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return contract;
}

void Write(const std::string& path, const Contract& contract) {
  std::ofstream file(path);
  file << "# What the wire consisted of at the last release, for tests/unit/server/rpc/"
          "wire_contract_test.cc, which writes it.\n";
  for (const auto& [key, what] : contract) file << key << kSeparator << what << "\n";
}

TEST(WireContractTest, WhatWasReleasedIsStillThere) {
  const std::string path = std::string(PROTOS) + "/released.txt";
  const Contract now = ContractOf(
      {v1::OpenSession::descriptor()->file(), v1::GetStatusRequest::descriptor()->file()});
  if (std::getenv("TENSORHUB_REWRITE") != nullptr) Write(path, now);
  const Contract released = Read(path);
  EXPECT_GT(released.size(), 100u) << path;
  EXPECT_THAT(Broken(released, now), IsEmpty());
}

constexpr char kReleased[] = R"(
  name: "a.proto" package: "a" syntax: "proto3"
  message_type { name: "M"
    field { name: "one" number: 1 type: TYPE_UINT64 label: LABEL_OPTIONAL }
    field { name: "two" number: 2 type: TYPE_BYTES label: LABEL_REPEATED }
  }
  enum_type { name: "E" value { name: "ZERO" number: 0 } value { name: "ONE" number: 1 } }
  service { name: "S" method { name: "Ask" input_type: ".a.M" output_type: ".a.M" } })";

// The contract of kReleased after `change`, which may be none.
template <typename Change>
Contract After(const Change& change) {
  pb::FileDescriptorProto file;
  EXPECT_TRUE(pb::TextFormat::ParseFromString(kReleased, &file));
  change(file);
  pb::DescriptorPool pool;
  const pb::FileDescriptor* built = pool.BuildFile(file);
  EXPECT_NE(built, nullptr);
  return built == nullptr ? Contract{} : ContractOf({built});
}

template <typename Change>
std::vector<std::string> BrokenBy(const Change& change) {
  return Broken(After([](pb::FileDescriptorProto&) {}), After(change));
}

TEST(WireContractTest, WhatIsAddedOrRenamedBreaksNothing) {
  EXPECT_THAT(BrokenBy([](pb::FileDescriptorProto& file) {
                pb::DescriptorProto& message = *file.mutable_message_type(0);
                message.mutable_field(0)->set_name("other");
                *message.add_field() = message.field(0);
                message.mutable_field(2)->set_name("three");
                message.mutable_field(2)->set_number(3);
              }),
              IsEmpty());
}

TEST(WireContractTest, AFieldThatGoesIsReserved) {
  const auto remove = [](pb::FileDescriptorProto& file) {
    file.mutable_message_type(0)->mutable_field()->RemoveLast();
  };
  EXPECT_THAT(BrokenBy(remove),
              ElementsAre(HasSubstr("field a.M 00002 was repeated bytes and is gone")));
  EXPECT_THAT(BrokenBy([&](pb::FileDescriptorProto& file) {
                remove(file);
                auto* range = file.mutable_message_type(0)->add_reserved_range();
                range->set_start(2);
                range->set_end(3);
              }),
              IsEmpty());
}

TEST(WireContractTest, TypesValuesAndCallsStay) {
  EXPECT_THAT(BrokenBy([](pb::FileDescriptorProto& file) {
                file.mutable_message_type(0)->mutable_field(0)->set_type(
                    pb::FieldDescriptorProto::TYPE_INT64);
              }),
              ElementsAre(HasSubstr("was uint64 and is int64")));
  EXPECT_THAT(BrokenBy([](pb::FileDescriptorProto& file) {
                file.mutable_enum_type(0)->mutable_value()->RemoveLast();
              }),
              ElementsAre(HasSubstr("value a.E 00001")));
  EXPECT_THAT(BrokenBy([](pb::FileDescriptorProto& file) {
                file.mutable_service(0)->mutable_method(0)->set_server_streaming(true);
              }),
              ElementsAre(HasSubstr("was a.M -> a.M and is a.M -> stream a.M")));
}

}  // namespace
}  // namespace tensorhub
