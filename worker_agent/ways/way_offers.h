// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// By which ways a worker can be reached, as it tells others, and in which order a peer tries them.
// Pure.

#ifndef TENSORHUB_WORKER_AGENT_WAYS_WAY_OFFERS_H_
#define TENSORHUB_WORKER_AGENT_WAYS_WAY_OFFERS_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "worker_agent/ways/networks.h"

namespace tensorhub::agent {

struct WayOffer {
  // kCards: those that read and write memory by themselves, found by a network that leads there.
  enum class Kind : unsigned char { kMemory = 1, kNetwork = 2, kCards = 3 };
  Kind kind = Kind::kMemory;
  std::string transport;  // the address within that way: opaque bytes
  Network network;        // but for kMemory: device, address, prefix_bits, loopback
  bool operator==(const WayOffer&) const = default;
};

// What a worker tells of itself.
struct WayOffers {
  std::string boot;           // of the kernel: who has another one is on another host
  std::string network_space;  // of the network: the loopback, and addresses that others have too
  std::vector<WayOffer> ways;
  bool operator==(const WayOffers&) const = default;
};

inline constexpr size_t kWaysMax = 6;

std::string Encode(const WayOffers& offers);
// INVALID_ARGUMENT: not what Encode makes.
absl::StatusOr<WayOffers> DecodeWayOffers(std::string_view bytes);

// A way of ours and the one of theirs that it leads to: indices.
struct WayPair {
  size_t mine = 0;
  size_t theirs = 0;
  bool operator==(const WayPair&) const = default;
};

// Each way of theirs once at most, the best first: shared memory within one network space (UCX
// wakes a neighbour by sockets that another one does not have), then cards where both have them,
// then networks in one subnet, then those that `source_towards` (SourceTowards) knows a route to,
// then the rest. Left out is what would lead to ourselves: an address that we have too and that is
// not the peer's.
std::vector<WayPair> OrderWays(
    const WayOffers& mine, const WayOffers& theirs,
    const std::function<std::optional<std::string>(std::string_view)>& source_towards);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_WAYS_WAY_OFFERS_H_
