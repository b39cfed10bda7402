// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The UCX that this program runs with.

#ifndef TENSORHUB_TOOLS_CTL_DOCTOR_UCX_CHECK_H_
#define TENSORHUB_TOOLS_CTL_DOCTOR_UCX_CHECK_H_

#include "absl/status/statusor.h"
#include "tools/ctl/doctor/finding.h"
#include "tools/ctl/doctor/machine.h"
#include "worker_agent/ucx/ucx_facts.h"

namespace tensorhub::ctl {

// Version, transports and what they are good for here.
Finding JudgeUcx(const absl::StatusOr<agent::UcxFacts>& ucx, const MachineFacts& machine);
// Whether agents can tell each other where they are reached.
Finding JudgeUcxAddress(const absl::StatusOr<agent::UcxFacts>& ucx);

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_DOCTOR_UCX_CHECK_H_
