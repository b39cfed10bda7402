// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Everything an agent decides, as a deterministic state machine: what its buffers mean (R3, R4),
// the verbs of the client (each a short sequence of calls to the hub), reading from a source
// (Reader) and being one (ChunkServer).
//
// Thread contract: none; one thread at a time. `now` never goes back.

#ifndef TENSORHUB_WORKER_AGENT_CORE_AGENT_CORE_H_
#define TENSORHUB_WORKER_AGENT_CORE_AGENT_CORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "common/capability.h"
#include "common/ids.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"

namespace tensorhub::agent {

// Who makes and checks chunk digests (docs/protocol/digests.md). All pass on what they get.
enum class DigestMode {
  kOff,   // makes none, checks none
  kAuto,  // checks what comes from another host
  kOn,    // checks all that there are digests for
};

struct CoreOptions {
  WorkerIdentity self;
  // Transport address (opaque) that peers are told to reach this agent by.
  std::string endpoint;
  uint64_t seed = 1;
  uint32_t world_size = 1;
  // Largest payload of one data message (MessageTransport::MaxPayloadBytes).
  uint64_t frame_bytes = 256 * 1024;
  // Bytes that a reader keeps requested from its source, at least two chunks. Doubled, up to the
  // second figure, while the source waits for requests: a link of 1 Gbit/s and 100 ms holds 12 MB.
  uint64_t window_bytes = 8 << 20;
  uint64_t window_bytes_max = 128 << 20;
  // One-sided: chunks that are there are read by gets of up to so many bytes, at least one chunk.
  uint64_t get_bytes = 0;
  // Bytes whose digests are made together, of what was published or is checked again. Long enough
  // that asking costs nothing beside it, short enough to be soon over when the buffers are wanted
  // back: a millisecond or two.
  uint64_t scan_bytes = 16 << 20;
  // The same of what has arrived and waits to be committed; at least one chunk.
  uint64_t check_bytes = 0;
  // Bytes that a source hands to the transport ahead of their completion, per reader. They delay
  // the confirmation of what went before, and an unpublish, which waits until they have left.
  // Two frames: behind them TCP has the kernel's buffers to keep the link busy.
  uint64_t send_ahead_bytes = 512 << 10;
  // A source that has said nothing for this long is doubted: the hub may have a better one.
  TimeMs doubt_ms = 750;
  // A source is given up after this long (stopped, cut off). Shorter finds it sooner, but takes a
  // busy host for a dead one, and the fetch may have no other source.
  TimeMs silence_ms = 3000;
  // A source with open reads says at least this often that it is alive.
  TimeMs alive_ms = 250;
  // Connections that are kept, besides those in use, to peers that neither read here nor are read
  // from. More: a fetch from one of them begins a few milliseconds sooner; each is a descriptor.
  size_t idle_peers = 64;
  // A connection to another datacenter is given up by its reader after so long: on the way there
  // may be a network that grants so many and no more, others wait for one, and the kernel has
  // forgotten by then how fast the link is.
  TimeMs idle_far_ms = 200;
  // Ask sources for one-sided reads, those that are remote only with `reads_far`.
  bool one_sided = true;
  bool reads_far = false;
  DigestMode digests = DigestMode::kOff;
  // R9: this worker's secret, which its hub knows, the same for its whole life. None: whoever
  // reaches it is served.
  CapabilityKey read_key = {};
};

class AgentCore {
 public:
  explicit AgentCore(const CoreOptions& options);
  ~AgentCore();
  AgentCore(const AgentCore&) = delete;
  AgentCore& operator=(const AgentCore&) = delete;

  // Appends what has to be done, in order.
  void Step(const Event& event, TimeMs now, Effects& effects);
  // When Tick is due at the latest, if nothing else happens.
  std::optional<TimeMs> NextDeadline() const;
  // True while bytes are expected or being sent: the progress thread spins instead of sleeping.
  bool Busy() const;
  // OK: in a session. UNAVAILABLE: in none at the moment, what is held is served on meanwhile.
  // Otherwise the reason why this worker counts no more.
  absl::Status Health() const;

  // R2: the term of that version, if it is what these buffers hold, or held last.
  std::optional<TermNumber> HeldIn(VersionNumber version) const;
  // Reads of others that are open here.
  size_t Readers() const;
  // For the next OpenSession.
  StateReport Report() const;

  // Where the verb that runs stands, and the streams of its read by part: for pictures of them.
  struct Phases {
    std::string_view verb;
    std::vector<std::string_view> streams;
  };
  Phases phases() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_AGENT_CORE_H_
