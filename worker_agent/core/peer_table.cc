// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/peer_table.h"

#include "worker_agent/core/peer_wire.h"

namespace tensorhub::agent {

void OpenWithHello(const CoreOptions& options, Incarnation peer, const std::string& endpoint,
                   Effects& effects) {
  effects.emplace_back(OpenPeer{peer, endpoint});
  PeerMessage hello;
  hello.kind = PeerKind::kHello;
  hello.from = options.self.incarnation;
  hello.to = peer;
  hello.text = options.endpoint;
  effects.emplace_back(SendMessage{peer, Encode(hello)});
}

}  // namespace tensorhub::agent
