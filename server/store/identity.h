// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which hub this is (rule R8): whose data, and which life of it.

#ifndef TENSORHUB_SERVER_STORE_IDENTITY_H_
#define TENSORHUB_SERVER_STORE_IDENTITY_H_

#include <cstdint>

#include "common/ids.h"

namespace tensorhub {

struct ServerIdentity {
  Id128 store_id;      // none: nothing is kept
  uint64_t epoch = 0;  // raised at every start
  bool operator==(const ServerIdentity&) const = default;
};

}  // namespace tensorhub

#endif  // TENSORHUB_SERVER_STORE_IDENTITY_H_
