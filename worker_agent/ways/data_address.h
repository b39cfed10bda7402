// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the operator says of where a worker is reached: networks of this host, or addresses that
// lead to it, and ports.

#ifndef TENSORHUB_WORKER_AGENT_WAYS_DATA_ADDRESS_H_
#define TENSORHUB_WORKER_AGENT_WAYS_DATA_ADDRESS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "worker_agent/tcp/sockets.h"
#include "worker_agent/ways/networks.h"

namespace tensorhub::agent {

// A network that is offered.
struct Offered {
  Network network;     // its address is what peers are told
  std::string listen;  // an address of this host; empty: all of them, since that one is none
  PortRange ports;
  bool operator==(const Offered&) const = default;
};

// `networks` are those of this host. `text` has parts, with commas between them; each is what
// ChooseNetworks takes, or an address that this host does not have (of one-to-one NAT), then the
// ports if they matter: "eth0", "10.0.3.7:7100-7199", "[fd00::1]:7100", ":20000-20999".
// INVALID_ARGUMENT, NOT_FOUND: the part, and why.
absl::StatusOr<std::vector<Offered>> ChooseOffered(const std::vector<Network>& networks,
                                                   std::string_view text);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_WAYS_DATA_ADDRESS_H_
