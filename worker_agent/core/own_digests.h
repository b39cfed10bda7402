// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The digests of a reader whose sources hold other shards than its own: nobody has them, so it
// makes them as chunks become sound, and is their origin for whoever reads from it (R1): also where
// its own reads are not checked, since others' may be. A chunk commits with its digest, so that the
// list never lags behind the prefix. One that makes no digests has an empty list, as a publisher
// has that makes none, unless the version's is known and has to be met.

#ifndef TENSORHUB_WORKER_AGENT_CORE_OWN_DIGESTS_H_
#define TENSORHUB_WORKER_AGENT_CORE_OWN_DIGESTS_H_

#include <cstdint>
#include <map>

#include "worker_agent/core/arrived_digests.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"
#include "worker_agent/core/transfer.h"

namespace tensorhub::agent {

class OwnDigests {
 public:
  // The transfer outlives it.
  explicit OwnDigests(Transfer& transfer) : transfer_(transfer) {}

  // A read of parts begins at the prefix.
  void Begin();
  // Chunks below `end` are sound. Returns below which of them may commit; asks for more digests.
  uint32_t Advance(uint32_t end, Effects& effects);
  // False if it is not this one's.
  bool OnHashed(const ChunksHashed& event);

 private:
  Transfer& transfer_;
  uint32_t asked_ = 0;                    // chunks below it are known, or being hashed
  std::map<uint64_t, uint32_t> hashing_;  // token -> the first chunk of the run
  ArrivedDigests hashed_;                 // behind what is known
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_OWN_DIGESTS_H_
