// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where in etcd a hub keeps its rows: etcd://HOST:PORT,HOST:PORT/PREFIX.

#ifndef TENSORHUB_SERVER_STORE_ETCD_PLACE_H_
#define TENSORHUB_SERVER_STORE_ETCD_PLACE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tensorhub::store {

struct EtcdPlace {
  std::vector<std::string> endpoints;  // HOST:PORT of etcd's members
  std::string prefix;                  // "a/b", without slashes around it

  // INVALID_ARGUMENT says which part is wrong, in words that follow the flag's name.
  static absl::StatusOr<EtcdPlace> Parse(std::string_view text);
  static bool Meant(std::string_view text) { return text.starts_with("etcd://"); }
  std::string ToString() const;
};

}  // namespace tensorhub::store

#endif  // TENSORHUB_SERVER_STORE_ETCD_PLACE_H_
