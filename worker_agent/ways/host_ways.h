// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The ways that this host has: shared memory, cards, then its networks (docs/architecture.md, "Ways
// to a peer").

#ifndef TENSORHUB_WORKER_AGENT_WAYS_HOST_WAYS_H_
#define TENSORHUB_WORKER_AGENT_WAYS_HOST_WAYS_H_

#include <string>

#include "absl/status/statusor.h"
#include "worker_agent/ways/ways.h"

namespace tensorhub::agent {

// Memory and cards over UCX, where UCX_TLS allows them; each network over TCP. `data_address`
// (ChooseOffered) and UCX_NET_DEVICES narrow the networks. INVALID_ARGUMENT, NOT_FOUND: of
// `data_address`; FAILED_PRECONDITION: there is no way at all.
absl::StatusOr<Ways::Host> WaysOfThisHost(const std::string& data_address);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_WAYS_HOST_WAYS_H_
