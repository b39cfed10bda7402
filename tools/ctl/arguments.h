// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Arguments that tensorhubctl checks before it asks anybody.

#ifndef TENSORHUB_TOOLS_CTL_ARGUMENTS_H_
#define TENSORHUB_TOOLS_CTL_ARGUMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/cli/values.h"
#include "common/ids.h"

namespace tensorhub::ctl {

// VERSION: decimal digits only, within 64 bits.
struct VersionArgument {
  uint64_t value = 0;
};
cli::ErrorText ParseValue(std::string_view text, VersionArgument* out);

// VERSION or "latest".
struct VersionOrLatest {
  std::optional<uint64_t> exact;  // nothing: the latest
};
cli::ErrorText ParseValue(std::string_view text, VersionOrLatest* out);

// MODEL: a legal name, see NameProblem.
struct ModelArgument {
  std::string name;
};
cli::ErrorText ParseValue(std::string_view text, ModelArgument* out);

// HUB: the id of a hub's data, as logs and `status` show it.
struct HubArgument {
  Id128 store;
};
cli::ErrorText ParseValue(std::string_view text, HubArgument* out);

// --group: a legal name as well; empty for the tool's own choice.
struct GroupFlag {
  std::string name;
};
cli::ErrorText ParseValue(std::string_view text, GroupFlag* out);
inline std::string FormatValue(const GroupFlag& value) { return value.name; }
inline std::string Placeholder(const GroupFlag*) { return "NAME"; }

// --location: see Location::Parse.
struct LocationFlag {
  std::string text;
};
cli::ErrorText ParseValue(std::string_view text, LocationFlag* out);
inline std::string FormatValue(const LocationFlag& value) { return value.text; }
inline std::string Placeholder(const LocationFlag*) { return "REGION/DATACENTER/RACK/HOST"; }

// --ranks: among so many a model is cut by rows (rows.h).
struct RanksFlag {
  uint32_t count = 1;
};
inline constexpr uint32_t kRowRanksMax = 64;
cli::ErrorText ParseValue(std::string_view text, RanksFlag* out);
std::string FormatValue(const RanksFlag& value);
inline std::string Placeholder(const RanksFlag*) { return "N"; }

// What is wrong with --server: HOST:PORT or [IPV6]:PORT, or several with commas.
cli::ErrorText ServerProblem(const std::string& servers);

// A group of this process' own, unique per run: PREFIX-HOST-PID-RANDOM.
std::string UniqueGroup(const std::string& prefix);

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_ARGUMENTS_H_
