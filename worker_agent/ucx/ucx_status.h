// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// UCX's status codes as ours, in one place.

#ifndef TENSORHUB_WORKER_AGENT_UCX_UCX_STATUS_H_
#define TENSORHUB_WORKER_AGENT_UCX_UCX_STATUS_H_

#include <ucs/type/status.h>

#include <string_view>

#include "absl/status/status.h"

namespace tensorhub::agent {

// OK for UCS_OK; else "`what`: UCX's words". Time-out, reset, unreachable, rejected: UNAVAILABLE;
// cancelled: CANCELLED; memory, ports: RESOURCE_EXHAUSTED; unsupported, no device:
// FAILED_PRECONDITION; the rest,
// invalid parameters included: INTERNAL.
absl::Status UcxStatus(ucs_status_t status, std::string_view what);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_UCX_UCX_STATUS_H_
