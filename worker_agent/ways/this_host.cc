// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ways/this_host.h"

#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/layout.h"
#include "common/location.h"

namespace tensorhub::agent {
namespace {

constexpr char kBootId[] = "/proc/sys/kernel/random/boot_id";
constexpr size_t kDigits = 12;

}  // namespace

std::string ThisHost() {
  std::ifstream file(kBootId);
  std::string boot_id;
  if (!std::getline(file, boot_id) || boot_id.empty()) return "";
  return absl::StrCat("boot-", ToHex(FingerprintOf(boot_id)).substr(0, kDigits));
}

std::string PlacedOnThisHost(const std::string& location) {
  const absl::StatusOr<Location> said = Location::Parse(location);
  if (!said.ok()) return location;  // Agent::Start refuses it
  const std::string placed = said->WithHost(ThisHost()).ToString();
  return Location::Parse(placed).ok() ? placed : location;  // it may have become too long
}

}  // namespace tensorhub::agent
