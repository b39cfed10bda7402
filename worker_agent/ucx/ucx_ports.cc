// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/ucx_ports.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/random.h"
#include "worker_agent/ucx/ucx_settings.h"

namespace tensorhub::agent {
namespace {

constexpr uint32_t kPortMax = 65535;

// As UCX asks for it: at this address of the host, without sharing. `at` has no port yet.
bool IsFreeAt(sockaddr_storage at, uint16_t port) {
  const bool newer = at.ss_family == AF_INET6;
  (newer ? reinterpret_cast<sockaddr_in6*>(&at)->sin6_port
         : reinterpret_cast<sockaddr_in*>(&at)->sin_port) = htons(port);
  const int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return true;  // UCX says what is wrong
  const socklen_t bytes = newer ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  const bool taken =
      bind(fd, reinterpret_cast<const sockaddr*>(&at), bytes) != 0 && errno == EADDRINUSE;
  close(fd);
  return !taken;  // an address that is not up yet has no port that is taken
}

// The addresses of these devices, by name; of all, if none of them is a network's.
std::vector<sockaddr_storage> AddressesOf(const std::string& devices) {
  std::vector<sockaddr_storage> named;
  std::vector<sockaddr_storage> all;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return all;
  const std::vector<std::string> names = absl::StrSplit(devices, ',');
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    const auto family = each->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    sockaddr_storage at = {};
    std::memcpy(&at, each->ifa_addr,
                family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
    all.push_back(at);
    const bool is_named = std::find(names.begin(), names.end(), each->ifa_name) != names.end();
    if (is_named) named.push_back(at);
  }
  freeifaddrs(first);
  return named.empty() ? all : named;
}

}  // namespace

absl::StatusOr<UcxPorts> UcxPorts::OfUser(const std::string& devices) {
  UcxPorts ports;
  ports.addresses_ = AddressesOf(devices);
  const char* const value = UsersUcxSetting("TCP_PORT_RANGE");
  if (value == nullptr || value[0] == '\0' || std::string_view(value) == "0") return ports;
  ports.variable_ = absl::StrCat(UsersUcxVariable("TCP_PORT_RANGE"), "=", value);
  const absl::string_view range = value;
  const size_t dash = range.find('-');
  const bool numbers =
      absl::SimpleAtoi(range.substr(0, dash), &ports.first_) &&
      absl::SimpleAtoi(range.substr(dash == range.npos ? 0 : dash + 1), &ports.last_);
  if (!numbers || ports.first_ == 0 || ports.first_ > ports.last_ || ports.last_ > kPortMax) {
    return absl::FailedPreconditionError(absl::StrCat(
        ports.variable_, " is no range of ports; it has to be FIRST-LAST within 1-", kPortMax));
  }
  Random random(RandomSeed());
  ports.offset_ = static_cast<uint32_t>(random.Below(ports.last_ - ports.first_ + 1));
  return ports;
}

absl::StatusOr<uint16_t> UcxPorts::TakeFree() {
  const uint32_t count = last_ - first_ + 1;
  while (tried_ < count) {
    const auto port = static_cast<uint16_t>(first_ + (offset_ + tried_++) % count);
    const bool free = std::all_of(addresses_.begin(), addresses_.end(),
                                  [port](const auto& at) { return IsFreeAt(at, port); });
    if (free) return port;
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("none of the ", count, " ports of ", variable_,
                   " is free, and each client listens at one; give it a wider range"));
}

}  // namespace tensorhub::agent
