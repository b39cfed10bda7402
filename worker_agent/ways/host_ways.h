// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The ways that this host has: shared memory, then its networks (docs/architecture.md, "Ways to a
// peer").

#ifndef TENSORHUB_WORKER_AGENT_WAYS_HOST_WAYS_H_
#define TENSORHUB_WORKER_AGENT_WAYS_HOST_WAYS_H_

#include <string>

#include "absl/status/statusor.h"
#include "worker_agent/ways/ways.h"

namespace tensorhub::agent {

// Over UCX. `data_address` (ChooseNetworks) and UCX_NET_DEVICES narrow the networks, UCX_TLS the
// transports. INVALID_ARGUMENT, NOT_FOUND: of `data_address`; FAILED_PRECONDITION: none is left, by
// a variable that the message names.
absl::StatusOr<Ways::Host> WaysOfThisHost(const std::string& data_address);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_WAYS_HOST_WAYS_H_
