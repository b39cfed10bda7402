// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Bytes that travel between agents on behalf of UCX (worker addresses, remote keys) in an envelope
// of ours. UCX unpacks such bytes without checking them, so damaged ones would crash the process;
// the envelope's magic, length and XXH3 checksum turn that into INVALID_ARGUMENT. It is no
// authentication: somebody who forges an envelope on purpose still reaches UCX's parser.

#ifndef TENSORHUB_WORKER_AGENT_UCX_UCX_ENVELOPE_H_
#define TENSORHUB_WORKER_AGENT_UCX_UCX_ENVELOPE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tensorhub::agent {

// What an envelope holds, so that a get address is never taken for a message address.
enum class EnvelopeKind : char {
  kMessageAddress = 'm',
  kGetAddress = 'g',
  kMemoryKey = 'k',
  kWays = 'w'  // message addresses, one per way (worker_agent/ways/way_offers.h)
};

std::string WrapEnvelope(EnvelopeKind kind, std::string_view content);

// The content, a view into `envelope`. INVALID_ARGUMENT says what is wrong with it.
absl::StatusOr<std::string_view> UnwrapEnvelope(EnvelopeKind kind, std::string_view envelope);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_UCX_UCX_ENVELOPE_H_
