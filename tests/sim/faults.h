// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What may go wrong in a run, and how often: drawn from the seed. Each seed leaves out whole kinds
// of faults (swarm testing), because some faults hide what others would show.

#ifndef TENSORHUB_TESTS_SIM_FAULTS_H_
#define TENSORHUB_TESTS_SIM_FAULTS_H_

#include <cstdint>
#include <string>

#include "common/random.h"
#include "tests/sim/agenda.h"
#include "worker_agent/core/agent_core.h"

namespace tensorhub::fault {

// In millionths.
using Ppm = uint64_t;

class Dice;

struct FaultPlan {
  // Between a worker and the hub.
  Ppm control_delay = 0;  // a message is slow, and all behind it in its stream
  Nanos control_delay_max = 0;
  Ppm call_lost = 0;    // before the hub heard it
  Ppm answer_lost = 0;  // after the hub did what was asked
  Ppm call_late = 0;    // the caller gives up, and the hub hears it much later
  Nanos breaks = 0;     // of sessions with the calls on the same connection; mean time between two
  Nanos hub_partitions = 0;  // of one worker; one way or both
  // Between workers.
  Nanos data_latency_max = 0;  // of every message and get, also when all is well
  Ppm data_delay = 0;
  Nanos data_delay_max = 0;
  Ppm connect_fails = 0;
  Ppm rendezvous = 0;  // of frames: read late and in two parts
  Nanos peer_breaks = 0;
  Nanos peer_partitions = 0;
  Ppm import_fails = 0;
  Ppm get_fails = 0;
  Ppm get_hangs = 0;  // until its connection is closed
  Ppm get_delay = 0;
  bool addresses_reused = false;  // a restarted worker is reached at its predecessor's address
  // Processes.
  Nanos worker_crashes = 0;
  Nanos supplanted = 0;  // a process that lives, or is only cut off: another one is started for it
  Nanos hub_crashes = 0;
  Nanos hub_storms = 0;  // it is ended and started a few times, never for a whole lease
  // The hub crashes within a moment of hearing of a process that comes, or of one kind of call:
  // publish, unpublish, join a fetch, begin to read, finish, leave.
  Ppm hub_dies_of_comers = 0;
  Ppm hub_dies_of_calls = 0;
  Ppm breaks_of_calls = 0;  // the same, but only the caller's connection breaks
  Ppm callers_die = 0;      // the same, but the caller's process does
  Ppm sources_die = 0;      // of assignments: the source's process, within a moment
  size_t fatal_call = 0;
  Nanos worker_pauses = 0;
  Nanos hub_pauses = 0;
  Nanos pause_max = 0;
  Nanos clock_jumps = 0;
  Nanos clock_jump_max = 0;
  int64_t drift_ppm_max = 0;
  // Of crashes: a peer on the same host hears nothing any more of what is sent on this host.
  Ppm deafened = 0;
  Ppm silent_deaths = 0;  // of crashes: the host is gone, so that nobody is told
  // Kinds of hub.
  bool keeps_data = true;  // store id and epoch survive a crash
  Ppm data_lost = 0;       // of crashes with data: it comes back as another hub
  bool adopts = false;     // and an operator has that one adopt the workers
  bool small_limits = false;
  uint32_t sources_per_reader = 1;
  bool cuts = false;         // groups cut their model in different ways
  uint32_t long_chain = 0;   // 0: no chain is
  uint32_t keep_latest = 0;  // R7
  bool host_copies = false;  // of what is to be kept; some groups offer memory
  // Publishers that come with other bytes under a number that is held already.
  Ppm other_bytes = 0;
  // Ranks that publish other bytes than the others' in what all of them have.
  Ppm unlike = 0;
  // Digests: who makes and checks them, and how long hashing takes at most.
  enum class DigestUse { kOn, kAuto, kOff, kMixed };
  DigestUse digests = DigestUse::kOn;
  Nanos hashing_max = 0;
  agent::DigestMode DrawDigests(Dice& dice) const;
  // Kinds of memory.
  Ppm taken_back = 0;  // of gets: their source's owner wants its buffers, at once
  Ppm one_sided = 0;   // of workers: peers on their host may read their memory
  Nanos drains = 0;    // an operator takes a worker out of service, and later back into it
  // R9. A worker that nobody has sent comes to read at another.
  Nanos strangers = 0;
  bool guarded_late = false;  // the hub's first life gives readers no capabilities
  // Bytes that change by themselves, where everybody checks.
  Ppm damaged = 0;  // of frames and gets: on their way
  Nanos rots = 0;   // in the memory of one that holds a version whole

  static FaultPlan Draw(uint64_t seed);
  // Which kinds are on, for people.
  std::string Describe() const;
};

// Draws that all parts of a run share.
class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  uint64_t Below(uint64_t bound) { return random_.Below(bound); }
  bool Chance(Ppm ppm) { return ppm != 0 && random_.Below(1'000'000) < ppm; }
  Nanos Time(Nanos low, Nanos high) {
    return high <= low ? low : low + static_cast<Nanos>(random_.Below(uint64_t(high - low)));
  }
  // With this mean, from a tenth of it to about four times.
  Nanos Gap(Nanos mean);
  uint64_t Next() { return random_.Next(); }

 private:
  Random random_;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_FAULTS_H_
