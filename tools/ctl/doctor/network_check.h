// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The networks of this host by which peers reach it.

#ifndef TENSORHUB_TOOLS_CTL_DOCTOR_NETWORK_CHECK_H_
#define TENSORHUB_TOOLS_CTL_DOCTOR_NETWORK_CHECK_H_

#include <string>
#include <vector>

#include "tools/ctl/doctor/finding.h"
#include "worker_agent/ways/networks.h"

namespace tensorhub::ctl {

// Which are offered, in which order, and which are left out; `choice` is TENSORHUB_DATA_ADDRESS.
Finding JudgeNetworks(const std::vector<agent::Network>& all, const std::string& choice);

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_DOCTOR_NETWORK_CHECK_H_
