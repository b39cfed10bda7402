// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The agent's peers, as all that reads from them or serves them knows them: which are connected,
// and where to, and whose memory has been mapped before.

#ifndef TENSORHUB_WORKER_AGENT_CORE_PEER_TABLE_H_
#define TENSORHUB_WORKER_AGENT_CORE_PEER_TABLE_H_

#include <map>
#include <set>
#include <string>

#include "common/ids.h"
#include "common/time.h"
#include "worker_agent/core/agent_core.h"
#include "worker_agent/core/effects.h"

namespace tensorhub::agent {

struct PeerTable {
  struct Peer {
    std::string endpoint;
    TimeMs used_at = 0;      // or opened
    TimeMs longest_gap = 0;  // between two signs of life of a read, its first one's wait among them
    std::string way = {};    // how bytes came from it, as was logged last
    bool far = false;        // it was read from, and is in another datacenter
  };
  bool IsAt(Incarnation peer, const std::string& endpoint) const {
    const auto known = open.find(peer);
    return known != open.end() && known->second.endpoint == endpoint;
  }
  std::map<Incarnation, Peer> open;
  std::set<Incarnation> imported;
};

// Connects, and says where this agent is reached.
void OpenWithHello(const CoreOptions& options, Incarnation peer, const std::string& endpoint,
                   Effects& effects);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_PEER_TABLE_H_
