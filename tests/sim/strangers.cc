// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/strangers.h"

#include <optional>

#include "tests/sim/wire.h"
#include "worker_agent/core/peer_wire.h"
#include "worker_agent/core/wanted_ranges.h"

namespace tensorhub::fault {
namespace {

// Numbers that no core gives a read of its own.
constexpr uint64_t kStrangersRead = uint64_t{1} << 63;

// What is shown, instead of what the hub would have signed: `right`, which the source would allow.
Capability Forged(Scene& scene, ReadRight right, const Process& source) {
  CapabilityKey key = source.key();
  switch (scene.dice.Below(6)) {
    case 0:
      return {};
    case 1:
      return {scene.dice.Next(), scene.dice.Next()};
    case 2:  // stale
      --right.generation;
      break;
    case 3:  // another's, be it that of who was sent
      right.reader =
          scene.processes[scene.dice.Below(scene.processes.size())]->identity().incarnation ^
          scene.dice.Below(2);
      break;
    case 4:  // for another publication
      right.publication.lo ^= 1;
      break;
    default:  // by another source
      key = CapabilityKey::Guessable(right.source ^ 1);
      break;
  }
  return Sign(key, right);
}

}  // namespace

void TryToRead(Scene& scene, Process& stranger, const Process& source) {
  const agent::StateReport report = source.Report();
  if (!report.holding) return;
  const protocol::Holding& held = *report.holding;
  const bool ranges = scene.dice.Below(2) == 0;
  const ReadRight right = {stranger.identity().incarnation, source.identity().incarnation,
                           held.publication, held.generation,
                           ranges ? ReadUse::kRanges : ReadUse::kChunks};
  const Capability shown = Forged(scene, right, source);
  if (shown && Allows(shown, source.key(), right)) return;  // its own, by chance
  agent::PeerMessage open;
  open.kind = ranges ? agent::PeerKind::kOpenRanges : agent::PeerKind::kOpen;
  open.from = right.reader;
  open.to = right.source;
  open.read = kStrangersRead | scene.dice.Next() >> 1;
  open.generation = held.generation;
  open.publication = held.publication;
  open.chunk_bytes = held.chunk_bytes;
  open.flags = agent::kFlagDigests | agent::kFlagOneSided;
  open.text = stranger.endpoint();
  Show(shown, right.use, open);
  if (!scene.wire->IsOpen(stranger, right.source)) {
    scene.wire->Open(stranger, {right.source, source.endpoint()});
  }
  agent::PeerMessage more = open;
  more.flags = 0;
  more.kind = ranges ? agent::PeerKind::kWant : agent::PeerKind::kRequest;
  more.chunk = 1;
  if (ranges) more.text = agent::EncodeRanges({{0, 1, 0, 1}});
  scene.wire->Send(stranger, agent::SendMessage{right.source, Encode(open)});
  scene.wire->Send(stranger, agent::SendMessage{right.source, Encode(more)});
}

bool IsStrangers(const std::string& header) {
  const std::optional<agent::PeerMessage> message = agent::DecodePeerMessage(header);
  return message && (message->read & kStrangersRead) != 0;
}

}  // namespace tensorhub::fault
