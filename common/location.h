// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where a worker is: `region/datacenter/rack/host/device`. Any suffix may be empty, and a part that
// is not known, though a later one is, is written `-`.

#ifndef TENSORHUB_COMMON_LOCATION_H_
#define TENSORHUB_COMMON_LOCATION_H_

#include <array>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tensorhub {

// Nearest first; source selection prefers smaller values.
enum class Tier { kHost = 0, kRack = 1, kDatacenter = 2, kRemote = 3 };
std::string_view ToString(Tier tier);

class Location {
 public:
  static constexpr size_t kDepth = 5;

  Location() = default;
  // INVALID_ARGUMENT for more than five parts, for a part after an empty one, and for bytes that
  // are not printable ASCII. "" is legal: nothing is known.
  static absl::StatusOr<Location> Parse(std::string_view text);

  // The same, with that host where none is said.
  Location WithHost(const std::string& host) const;

  // Region and datacenter: the scope of a seed.
  std::string Datacenter() const { return parts_[0] + "/" + parts_[1]; }
  const std::string& Part(size_t index) const { return parts_[index]; }  // empty: not known
  std::string ToString() const;

  bool operator==(const Location&) const = default;

 private:
  std::array<std::string, kDepth> parts_;
};

// The closest common part. Two unknown parts count as equal down to the datacenter (a user who
// says nothing has one datacenter), but an unknown rack or host is shared with nobody. A host is in
// one rack, known or not.
Tier TierBetween(const Location& a, const Location& b);

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_LOCATION_H_
