// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The networks of this host that could bring bytes to another one. A GPU host has more devices than
// that: bridges of containers and virtual machines (docker0, cni0, virbr0) have the same address on
// every host, or one that leads nowhere else.
//
// Thread contract: any thread.

#ifndef TENSORHUB_WORKER_AGENT_WAYS_NETWORKS_H_
#define TENSORHUB_WORKER_AGENT_WAYS_NETWORKS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tensorhub::agent {

// An address of a device that is up, other than link-local ones.
struct Network {
  std::string device;   // "eth0"
  std::string address;  // 4 or 16 bytes, as they travel
  int prefix_bits = 0;
  bool loopback = false;
  bool point_to_point = false;  // a tunnel
  bool default_route = false;
  bool isolated = false;  // a bridge that no device of the host is a part of

  bool operator==(const Network&) const = default;
};

// IPv4 before IPv6, otherwise as the system lists them.
std::vector<Network> ListNetworks();

// Networks to offer, each device once, best first: the one with the default route, tunnels last;
// isolated ones and the loopback only where there is nothing else. `choice` narrows them: a device
// ("eth0"), an address ("10.0.3.7") or a subnet ("10.0.0.0/8", "fd00::/8"); empty: no choice.
// INVALID_ARGUMENT: `choice` is none of these; NOT_FOUND: no network of this host fits it, with
// those that there are.
absl::StatusOr<std::vector<Network>> ChooseNetworks(std::vector<Network> all,
                                                    std::string_view choice);

// Whether `address` lies in the subnet of `network`.
bool IsWithin(const Network& network, std::string_view address);

// The address of this host that the system would send from to reach that one; nothing: no route.
std::optional<std::string> SourceTowards(std::string_view address);

// 4 or 16 bytes, of such a text; nothing: it is none.
std::optional<std::string> AddressFrom(std::string_view text);

// "10.0.3.7", "fd00::1".
std::string AddressText(std::string_view address);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_WAYS_NETWORKS_H_
