// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/location.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tensorhub {
namespace {

constexpr size_t kRack = 2;
constexpr size_t kHost = 3;
constexpr std::string_view kUnknown = "-";

bool Printable(std::string_view text) {
  for (char c : text) {
    if (c <= ' ' || c > '~') return false;
  }
  return true;
}

bool SameKnown(const Location& a, const Location& b, size_t index) {
  return !a.Part(index).empty() && a.Part(index) == b.Part(index);
}

}  // namespace

std::string_view ToString(Tier tier) {
  switch (tier) {
    case Tier::kHost:
      return "host";
    case Tier::kRack:
      return "rack";
    case Tier::kDatacenter:
      return "datacenter";
    case Tier::kRemote:
      return "remote";
  }
  return "remote";
}

absl::StatusOr<Location> Location::Parse(std::string_view text) {
  const std::string shown = text.size() > 256 ? "(long)" : std::string(text);
  const auto bad = [&](const char* why) {
    return absl::InvalidArgumentError(absl::StrCat("location \"", shown, "\" ", why,
                                                   "; write region/datacenter/rack/host/device"));
  };
  if (text.size() > 256) return bad("is longer than 256 bytes");
  if (!Printable(text)) return bad("has a space or a byte that is not printable ASCII");
  Location location;
  size_t index = 0;
  bool ended = false;
  while (!text.empty()) {
    if (index == kDepth) return bad("has more than five parts");
    const size_t slash = text.find('/');
    const std::string_view part = text.substr(0, slash);
    if (part.empty()) ended = true;
    if (!part.empty() && ended) return bad("has a part after an empty one");
    location.parts_[index++] = part == kUnknown ? "" : std::string(part);
    text = slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1);
  }
  return location;
}

std::string Location::ToString() const {
  std::string out;
  std::string unknown;  // parts, of which none is said unless a known one follows
  for (size_t index = 0; index < kDepth; ++index) {
    const char* slash = index == 0 ? "" : "/";
    const std::string& part = parts_[index];
    absl::StrAppend(&unknown, slash, part.empty() ? std::string(kUnknown) : part);
    if (!part.empty()) absl::StrAppend(&out, std::exchange(unknown, ""));
  }
  return out;
}

Location Location::WithHost(const std::string& host) const {
  Location location = *this;
  if (location.parts_[kHost].empty()) location.parts_[kHost] = host;
  return location;
}

Tier TierBetween(const Location& a, const Location& b) {
  if (a.Part(0) != b.Part(0) || a.Part(1) != b.Part(1)) return Tier::kRemote;
  if (a.Part(kRack) == b.Part(kRack) && SameKnown(a, b, kHost)) return Tier::kHost;
  return SameKnown(a, b, kRack) ? Tier::kRack : Tier::kDatacenter;
}

}  // namespace tensorhub
