// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/listen_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace tensorhub {
namespace {

bool IsV6(const std::string& host) {
  in6_addr address = {};
  return inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// A name, or an IPv4 address if it looks like one: no resolver is asked for "user@hub" or
// 256.1.1.1.
bool IsHost(const std::string& host) {
  if (host.find_first_not_of("0123456789.") == std::string::npos) {
    in_addr address = {};
    return inet_pton(AF_INET, host.c_str(), &address) == 1;
  }
  return std::all_of(host.begin(), host.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_';
  });
}

// Where an IPv6 address without brackets ends and its port begins is anybody's guess: it may have
// no port at all.
absl::Status BadAddress(std::string_view text) {
  const std::string whole(text);
  const std::string host = whole.substr(0, whole.rfind(':'));
  const std::string meant = IsV6(host)    ? absl::StrCat("[", host, "]", whole.substr(host.size()))
                            : IsV6(whole) ? absl::StrCat("[", whole, "]:7070")
                                          : "";
  if (meant.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        Shown(text), " is not an address; write HOST:PORT, like hub:7070 or [::1]:7070"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      Shown(text), " is an IPv6 address without brackets; write HOST:PORT, like ", meant));
}

}  // namespace

absl::StatusOr<ListenAddress> ListenAddress::Parse(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return BadAddress(text);
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  // An IPv6 address without brackets leaves open where the port begins.
  if (host.find_first_of(bracketed ? "[]" : ":[]") != std::string_view::npos) {
    return BadAddress(text);
  }
  ListenAddress address{.host = std::string(host)};
  const std::string without_zone = address.host.substr(0, address.host.find('%'));
  if (bracketed ? !IsV6(without_zone) : !IsHost(address.host)) return BadAddress(text);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size()) return BadAddress(text);
  return address;
}

std::string ListenAddress::ToString() const {
  const bool v6 = host.find(':') != std::string::npos;
  return v6 ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

}  // namespace tensorhub
