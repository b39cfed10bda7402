// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What this agent's buffers mean at the moment: the local side of a reference, and the only place
// where the generation is raised and the prefix grows (R4).

#ifndef TENSORHUB_WORKER_AGENT_CORE_REFERENCE_H_
#define TENSORHUB_WORKER_AGENT_CORE_REFERENCE_H_

#include <algorithm>
#include <cstdint>

#include "common/check.h"
#include "common/ids.h"
#include "common/layout.h"
#include "common/random.h"
#include "worker_agent/core/effects.h"

namespace tensorhub::agent {

class Reference {
 public:
  enum class State {
    kFree,        // the owner may change the buffers
    kPublishing,  // frozen; the hub has not answered yet
    kFilling,     // a fetch writes them, chunk by chunk
    kHeld,        // a whole version, published or fetched
  };

  // What a generation is about. Fixed once it is known (R4: "within a generation the publication
  // is fixed").
  struct Content {
    PublicationId publication;
    VersionNumber version = 0;
    uint32_t world_size = 0;
    Chunking chunking;
    Fingerprint layout;
    Fingerprint attachment;
    GroupEpoch epoch = {};      // of what was published here: to which it belongs (R2)
    Term term = {};             // in which it was published (R2)
    ShardingRef sharding = {};  // of what was fetched as its publishers do not cut it
  };

  // Generations start random per incarnation, low enough never to run out of 40 bits.
  explicit Reference(Random& random) : generation_(1 + random.Below(Generation{1} << 39)) {}

  State state() const { return state_; }
  Generation generation() const { return generation_; }
  const Content& content() const { return content_; }
  uint32_t valid_chunks() const { return valid_chunks_; }
  bool published() const { return published_; }
  bool visible() const { return visible_; }
  bool holds() const { return state_ == State::kHeld; }

  // The generation that comes so many raises from now.
  Generation After(Generation raises) const { return std::max(generation_, skipped_) + raises; }

  // R4: it was named to others before it came to mean anything, which it never will.
  void Skip(Generation generation) { skipped_ = std::max(skipped_, generation); }

  // R4: the buffers are about to mean something else. Raised before the first byte changes.
  void Raise(State state, Effects& effects) {
    TH_CHECK(After(1) <= kGenerationMax);
    generation_ = After(1);
    state_ = state;
    content_ = Content{};
    valid_chunks_ = 0;
    published_ = false;
    visible_ = false;
    Tell(effects);
  }
  void SetContent(const Content& content) {
    TH_CHECK(!content_.publication && valid_chunks_ == 0);
    content_ = content;
  }
  // R4: the count never falls within a generation.
  void Grow(uint32_t valid_chunks, Effects& effects) {
    TH_CHECK(valid_chunks >= valid_chunks_ && valid_chunks <= content_.chunking.count());
    valid_chunks_ = valid_chunks;
    Tell(effects);
  }
  void SetHeld(bool published) {
    TH_CHECK(content_.publication && valid_chunks_ == content_.chunking.count());
    state_ = State::kHeld;
    published_ = published;
  }
  void SetVisible() { visible_ = true; }
  void ForgetEpoch() { content_.epoch = {}; }

 private:
  void Tell(Effects& effects) const {
    effects.emplace_back(SetControlWord{{generation_, valid_chunks_}});
  }

  Generation generation_;
  Generation skipped_ = 0;
  State state_ = State::kFree;
  Content content_;
  uint32_t valid_chunks_ = 0;
  bool published_ = false;
  bool visible_ = false;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_REFERENCE_H_
