// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R8: the other hubs of whose workers this one has heard. Plain data, of the hub's thread.

#ifndef TENSORHUB_SERVER_CORE_ADOPTIONS_H_
#define TENSORHUB_SERVER_CORE_ADOPTIONS_H_

#include <algorithm>
#include <map>
#include <set>

#include "server/core/durable.h"

namespace tensorhub::hub {

struct Adoptions {
  std::map<Id128, AdoptedRow> rows;  // by store
  std::set<Id128> changed;           // of the rows, since the event began
  std::set<Id128> strangers;         // stores of workers that were turned away; bounded

  // Those who were adopted may come yet, and no row of workers names them.
  bool IsUnsettled() const {
    return std::any_of(rows.begin(), rows.end(),
                       [](const auto& entry) { return !entry.second.settled; });
  }
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_ADOPTIONS_H_
