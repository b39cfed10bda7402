// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One shard's way into the own reference, whoever it is read from: what is valid and how far it may
// be asked for, which digests are believed, what need not be read, and what is told of the
// progress. Streams (stream.h) bring the bytes; the reader (reader.h) lets what they brought become
// valid.
//
// Invariants:
// 1. What is valid only grows, in canonical order (R5), and is not read again.
// 2. Where the version's digest is known, no chunk is good before the list of digests was found to
//    be the version's (R1).

#ifndef TENSORHUB_WORKER_AGENT_CORE_TRANSFER_H_
#define TENSORHUB_WORKER_AGENT_CORE_TRANSFER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "worker_agent/core/agent_core.h"
#include "worker_agent/core/digests.h"
#include "worker_agent/core/division.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"
#include "worker_agent/core/reference.h"
#include "worker_agent/core/skip_plan.h"

namespace tensorhub::agent {

class Transfer {
 public:
  enum class Verdict { kGood, kPending, kBad };

  // All outlive the transfer. `reference` is filling and knows its content; `digests` are that
  // one's, `last` is what the buffers held before; `in_outage`: one has ended the last attempt
  // (R8).
  Transfer(const CoreOptions& options, const TransactionId& transaction, Reference& reference,
           Digests& digests, const Remembered& last, uint64_t& next_token, bool in_outage,
           TimeMs now);

  const CoreOptions& options() const { return options_; }
  const TransactionId& transaction() const { return transaction_; }
  const Reference& reference() const { return reference_; }
  const Chunking& chunking() const { return reference_.content().chunking; }
  uint32_t valid_chunks() const { return reference_.valid_chunks(); }
  bool complete() const { return valid_chunks() == chunking().count(); }
  uint64_t NextToken() { return next_token_++; }
  // A number for a read; unique within the process.
  uint64_t NextRead() { return next_read_++; }

  // --- how far may be asked for ---

  // Beyond what is valid; at least two chunks.
  uint32_t WindowChunks() const;
  // The way to a source is longer than the window.
  void WidenWindow() { WidenWindowTo(options_.window_bytes_max); }
  // One of several streams has nothing to do within the window.
  void WidenWindowForOthers();
  // Chunks that are in place already are not asked for, nor what is not decided yet.
  uint32_t ReadableEnd() const { return skips_.ReadableEnd(valid_chunks()); }

  // Among several sources, or none: one feeds it.
  Division* division() { return division_.get(); }
  const Division* division() const { return division_.get(); }
  // From the first chunk on that is not valid. What was given by the division before is nobody's.
  // `chunk_bytes`: of a sharding that is not the reader's, whose shards the sources hold.
  void Divide(std::unique_ptr<Division> division, std::optional<uint64_t> chunk_bytes = {}) {
    division_ = std::move(division);
    source_chunk_bytes_ = chunk_bytes.value_or(chunking().chunk_bytes);
  }
  uint64_t source_chunk_bytes() const { return source_chunk_bytes_; }
  // As much as a stream of several is given at a time.
  uint64_t BlockBytes() const;

  // --- digests ---

  Digests& digests() { return digests_; }
  // R1: all digests are there, and they give the version's. Where nobody knows that one yet, there
  // is one origin, which is believed.
  bool IsProven() const;
  // What one source said of chunks that are to be read is not held against what another brings.
  void ForgetUnproven() {
    if (IsProven()) return;
    digests_.ForgetFrom(valid_chunks());
    ++lists_;
  }
  // Forgets digests of chunks that are to be read, whoever said them.
  void ForgetUnread() { digests_.ForgetFrom(valid_chunks()); }
  // How many lists of digests were begun. Whoever was told by a source of an earlier one asks anew.
  uint32_t lists() const { return lists_; }
  bool MayBelieve() const { return !wanted_ || IsProven(); }
  // R1: digests of one publication are never taken from two origins that differ. An error if the
  // list is there as far as it will be, and is not the version's.
  absl::Status CheckList() const;
  // `checked`: what comes from its source is held against digests. Behind a list that has ended
  // nothing is.
  bool IsHeldAgainstDigest(uint32_t chunk, bool checked) const {
    return checked && (!digests_.ended() || chunk < digests_.known());
  }
  // Judges a chunk that has arrived, and whose bytes give `hashed`, if that is known.
  Verdict Judge(uint32_t chunk, bool checked, std::optional<uint64_t> hashed) const;

  // --- what need not be read ---

  // A read begins at the first chunk that is not valid; `hopes`: chunks of its source may be
  // skipped.
  void RestartSkips(bool hopes) { skips_.Restart(valid_chunks(), hopes); }
  void AdvanceSkips(Effects& effects);
  bool OnSkipHashed(const ChunksHashed& event) { return skips_.OnHashed(event); }
  // Chunks below it are in place.
  uint32_t SameEnd() const { return skips_.SameEnd(valid_chunks()); }

  // --- progress ---

  // Which source is turned to, and how it is to be told of. `fresh`: it is another one.
  void OnTurned(const protocol::Assign& assign, bool fresh);
  // A source has spoken.
  void OnAnswered() { in_outage_ = false; }
  // An outage has begun before this, and nobody has answered since (R8).
  bool in_outage() const { return in_outage_; }
  void NoteWay(const std::string& way) { way_ = way; }
  void NoteOneSided() { used_one_sided_ = true; }
  // There is room for gets from that peer among those of this read.
  bool AdmitGetsFrom(Incarnation peer) {
    if (got_from_.size() < kGotFromMax) got_from_.insert(peer);
    return got_from_.contains(peer);
  }

  // Chunks below `end` are valid from now on: they were read, or found in place.
  void CommitRead(uint32_t end, Effects& effects) { Grow(end, bytes_read_, effects); }
  void CommitSkipped(uint32_t end, Effects& effects) { Grow(end, bytes_skipped_, effects); }
  // After a commit: to the hub and to the fetch's caller, each as often as it wants. `source`:
  // where bytes come from; nullptr: from nobody yet. `way`: how; empty: not known.
  void TellProgress(const WorkerKey* source, const std::string& way, TimeMs now, Effects& effects);

  uint64_t bytes_read() const { return bytes_read_; }
  uint64_t bytes_skipped() const { return bytes_skipped_; }
  bool used_one_sided() const { return used_one_sided_; }
  const std::string& way() const { return way_; }
  const std::string& sources() const { return sources_; }

 private:
  void WidenWindowTo(uint64_t most);
  void Grow(uint32_t end, uint64_t& tally, Effects& effects);
  void Show(const WorkerKey* source, Effects& effects) const;

  const CoreOptions& options_;
  const TransactionId transaction_;
  Reference& reference_;
  Digests& digests_;
  uint64_t& next_token_;
  SkipPlan skips_;
  std::unique_ptr<Division> division_;
  uint64_t source_chunk_bytes_;
  uint32_t lists_ = 0;
  uint64_t next_read_;
  uint64_t window_bytes_;
  ContentDigest wanted_;  // what the digests have to give (R1); none: not known yet
  bool in_outage_;
  TimeMs told_at_;  // the hub
  TimeMs tell_every_ms_ = 0;
  TimeMs shown_at_ = 0;  // to the fetch's caller
  uint64_t bytes_read_ = 0;
  uint64_t bytes_skipped_ = 0;  // found in place: neither read nor written
  bool used_one_sided_ = false;
  std::set<Incarnation> got_from_;  // or may be
  std::string way_;                 // of the last source that bytes came from
  std::string sources_;             // all that were turned to
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_TRANSFER_H_
