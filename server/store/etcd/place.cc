// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/etcd/place.h"

#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/ids.h"
#include "common/text.h"

namespace tensorhub::store {
namespace {

constexpr std::string_view kScheme = "etcd://";
constexpr size_t kEndpointsMax = 16;
constexpr size_t kPrefixBytesMax = 256;

absl::Status Bad(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(Shown(text), " ", std::string(why),
                   "; write etcd://HOST:PORT,HOST:PORT/PREFIX, like etcd://e1:2379,e2:2379/hub"));
}

bool IsEndpoint(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view host = text.substr(0, colon);
  const std::string port(text.substr(colon + 1));
  uint32_t number = 0;
  if (!absl::SimpleAtoi(port, &number) || number == 0 || number > 65535) return false;
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return !NameProblem(host) && (bracketed || host.find_first_of(":[]/@") == std::string_view::npos);
}

// What is split off by '/' has to be a word.
bool IsPrefix(std::string_view prefix) {
  if (prefix.size() > kPrefixBytesMax || NameProblem(prefix)) return false;
  return prefix.find("//") == std::string_view::npos;
}

}  // namespace

absl::StatusOr<EtcdPlace> EtcdPlace::Parse(std::string_view text) {
  if (!Meant(text)) return Bad(text, "is no place in etcd");
  const std::string_view rest = text.substr(kScheme.size());
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos || slash + 1 == rest.size()) {
    return Bad(text, "names no prefix, under which this hub's keys lie apart from all others");
  }
  EtcdPlace place{.endpoints = {}, .prefix = std::string(rest.substr(slash + 1))};
  if (!IsPrefix(place.prefix))
    return Bad(text, "has a prefix that is not made of words between slashes");
  std::set<std::string> seen;
  for (const auto piece : absl::StrSplit(std::string(rest.substr(0, slash)), ',')) {
    std::string endpoint(piece);
    if (!IsEndpoint(endpoint))
      return Bad(text, "names " + Shown(endpoint) +
                           ", which is no HOST:PORT, of which IPv6 stands in brackets");
    if (!seen.insert(endpoint).second) return Bad(text, "names " + endpoint + " twice");
    place.endpoints.push_back(std::move(endpoint));
  }
  if (place.endpoints.size() > kEndpointsMax) return Bad(text, "names more than 16 members");
  return place;
}

std::string EtcdPlace::ToString() const {
  return absl::StrCat(std::string(kScheme), absl::StrJoin(endpoints, ","), "/", prefix);
}

}  // namespace tensorhub::store
