// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/arguments.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/location.h"
#include "common/random.h"
#include "common/server_choice.h"

namespace tensorhub::ctl {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Names allow less than host names may have.
std::string HostName() {
  std::array<char, 65> buffer{};
  if (::gethostname(buffer.data(), buffer.size() - 1) != 0) return "host";
  std::string name(buffer.data());
  const auto odd = [](char c) { return c <= ' ' || c > '~' || c == '/'; };
  std::replace_if(name.begin(), name.end(), odd, '-');
  return name.empty() ? "host" : name;
}

}  // namespace

cli::ErrorText ParseValue(std::string_view text, VersionArgument* out) {
  // from_chars would take a sign for signed numbers only, and stop early at anything else.
  if (text.empty() || !std::all_of(text.begin(), text.end(), IsDigit)) {
    return "is no version; give a whole number";
  }
  return cli::ParseValue(text, &out->value);
}

cli::ErrorText ParseValue(std::string_view text, VersionOrLatest* out) {
  if (text == "latest") {
    out->exact.reset();
    return std::nullopt;
  }
  VersionArgument version;
  if (ParseValue(text, &version)) return "is no version; give a whole number, or latest";
  out->exact = version.value;
  return std::nullopt;
}

cli::ErrorText ParseValue(std::string_view text, ModelArgument* out) {
  if (auto problem = NameProblem(text)) return problem;
  out->name = std::string(text);
  return std::nullopt;
}

cli::ErrorText ParseValue(std::string_view text, HubArgument* out) {
  const std::optional<Id128> store = ParseHex(text);
  if (!store || !*store) return "is no hub's id; give its 32 hexadecimal digits";
  out->store = *store;
  return std::nullopt;
}

cli::ErrorText ParseValue(std::string_view text, GroupFlag* out) {
  if (auto problem = NameProblem(text)) return problem;
  out->name = std::string(text);
  return std::nullopt;
}

cli::ErrorText ParseValue(std::string_view text, LocationFlag* out) {
  const auto location = Location::Parse(text);
  if (!location.ok()) return "is no location: " + std::string(location.status().message());
  out->text = std::string(text);
  return std::nullopt;
}

cli::ErrorText ParseValue(std::string_view text, RanksFlag* out) {
  const cli::ErrorText problem = cli::ParseValue(text, &out->count);
  if (!problem && out->count >= 1 && out->count <= kRowRanksMax) return std::nullopt;
  return absl::StrCat("is no number of ranks; give 1 to ", kRowRanksMax);
}
std::string FormatValue(const RanksFlag& value) { return absl::StrCat(value.count); }

cli::ErrorText ServerProblem(const std::string& servers) {
  const absl::Status status = CheckServers(servers);
  if (status.ok()) return std::nullopt;
  return "--server: " + std::string(status.message());
}

std::string UniqueGroup(const std::string& prefix) {
  return absl::StrFormat("%s-%s-%d-%08x", prefix, HostName(), ::getpid(),
                         static_cast<uint32_t>(Random(RandomSeed()).Next()));
}

}  // namespace tensorhub::ctl
