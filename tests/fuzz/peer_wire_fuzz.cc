// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The header of every message between agents: what is accepted is what Encode writes.

#include "common/check.h"
#include "tests/fuzz/fuzz.h"
#include "worker_agent/core/peer_wire.h"

namespace tensorhub::fuzz {

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (int kind = 1; kind <= static_cast<int>(agent::PeerKind::kDigests); ++kind) {
    agent::PeerMessage message;
    message.kind = static_cast<agent::PeerKind>(kind);
    message.from = 7;
    message.to = 8;
    message.read = 3;
    message.generation = kGenerationMax;
    message.publication = {1, 2};
    message.chunk_bytes = 4096;
    message.chunk = kChunkCountMax;
    message.begin = 8192;
    if (message.kind == agent::PeerKind::kHello) message.text = "endpoint";
    if (message.kind == agent::PeerKind::kDigests) message.text = std::string("digest\0 ", 8);
    seeds.push_back(Encode(message));
    if (message.kind != agent::PeerKind::kOpen) continue;
    Show({3, 4}, ReadUse::kDigests, message);
    seeds.push_back(Encode(message));
  }
  return seeds;
}

void Run(std::string_view input) {
  const std::optional<agent::PeerMessage> message = agent::DecodePeerMessage(input);
  if (message) TH_CHECK(Encode(*message) == input);
}

}  // namespace tensorhub::fuzz
