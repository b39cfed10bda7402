// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A hub's state as tensorhubctl shows it: the same columns, and in JSON the same keys.

#ifndef TENSORHUB_TOOLS_SIM_HUB_TABLES_H_
#define TENSORHUB_TOOLS_SIM_HUB_TABLES_H_

#include <ostream>

#include "server/core/hub.h"

namespace tensorhub::sim {

// Models, versions, replicas, workers and transfers; in JSON, a line each.
void PrintHub(const hub::Hub& hub, TimeMs now, bool json, std::ostream& out);

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_HUB_TABLES_H_
