// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Everything that is one word of a command line, a file or a message: locations, addresses, names,
// identities, numbers with units, the arguments of tensorhubctl. What is accepted can be printed
// and read again as the same.

#include <chrono>

#include "common/check.h"
#include "common/cli/values.h"
#include "common/ids.h"
#include "common/layout.h"
#include "common/listen_address.h"
#include "common/location.h"
#include "tests/fuzz/fuzz.h"
#include "tools/ctl/arguments.h"
#include "tools/safetensors/names.h"

namespace tensorhub::fuzz {
namespace {

void CheckLocation(std::string_view word) {
  const absl::StatusOr<Location> location = Location::Parse(word);
  if (!location.ok()) return;
  TH_CHECK(Location::Parse(location->ToString()).value() == *location);
  TH_CHECK(TierBetween(*location, *location) <= Tier::kDatacenter);
}

void Address(std::string_view word) {
  const auto address = ListenAddress::Parse(word);
  if (!address.ok()) return;
  TH_CHECK(ListenAddress::Parse(address->ToString()).value() == *address);
}

void Identities(std::string_view word) {
  if (const auto id = ParseHex(word)) TH_CHECK(ParseHex(ToHex(*id)) == id);
  if (const auto id = FromBytes(word)) TH_CHECK(ToBytes(*id) == word);
  if (const auto dtype = ParseDType(word)) TH_CHECK(ToString(*dtype) == word);
  if (!NameProblem(word)) {
    TH_CHECK(!word.empty() && word.find('\n') == std::string_view::npos);
  }
  TH_CHECK(safetensors::Shown(word).find('\n') == std::string::npos);
}

template <typename Value>
void CliValue(std::string_view word) {
  Value value{};
  if (cli::ParseValue(word, &value)) return;
  // Only what can be shown is accepted, and is shown as something that can be read.
  const std::string shown = cli::FormatValue(value);
  Value again{};
  TH_CHECK(shown.empty() || !cli::ParseValue(shown, &again));
}

void CtlArguments(std::string_view word) {
  ctl::VersionArgument version;
  if (!ctl::ParseValue(word, &version)) TH_CHECK(std::to_string(version.value).size() <= 20);
  ctl::VersionOrLatest selected;
  if (!ctl::ParseValue(word, &selected)) TH_CHECK(selected.exact || word == "latest");
  ctl::ModelArgument model;
  if (!ctl::ParseValue(word, &model)) TH_CHECK(!NameProblem(model.name));
  ctl::LocationFlag location;
  if (!ctl::ParseValue(word, &location)) TH_CHECK(Location::Parse(location.text).ok());
  static_cast<void>(ctl::ServerProblem(std::string(word)));
}

}  // namespace

std::vector<std::string> Seeds() {
  return {"us/dc1/r1/h1/0",
          "",
          "127.0.0.1:7070",
          "[::1]:0",
          "localhost:65535",
          "250ms",
          "1.5s",
          "64MiB",
          "1e6",
          "18446744073709551615",
          "latest",
          "true",
          "model/actor",
          "-0x1p3",
          "nan",
          "BF16",
          "9999h",
          "18446744073709551615K",
          "0.1Ti",
          "a,b,,c",
          std::string(16, '\7'),
          std::string(32, 'f')};
}

void Run(std::string_view input) {
  CheckLocation(input);
  Address(input);
  Identities(input);
  CliValue<bool>(input);
  CliValue<double>(input);
  CliValue<uint32_t>(input);
  CliValue<int64_t>(input);
  CliValue<std::chrono::milliseconds>(input);
  CliValue<cli::Bytes>(input);
  CliValue<std::string>(input);
  CtlArguments(input);
}

}  // namespace tensorhub::fuzz
