// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R5: a reader is moved, and goes on at its next chunk, when there is a better source than the one
// that was the best when it needed one.
//
// Nearer: one that reads from afar goes to somebody nearer who has what it needs; so two seeds of
// one datacenter become one again. Such a move always leads to a nearer tier, so there are at most
// three in a row. Within a datacenter it does not lead to the end of a much longer chain.
//
// Alone: one of several that share a source's link goes to somebody with a free place who is no
// farther; so after a break a chain becomes a chain again. Each such move leaves one reader less in
// a crowd, so there are no more of them than assignments for want of a free place.

#include <algorithm>
#include <set>
#include <vector>

#include "server/core/read_graph.h"
#include "server/core/source_selection.h"

namespace tensorhub::hub {
namespace {

// Readers looked at per event and place. Nearly always there is one: the place's inlet.
constexpr size_t kDrawnMax = 8;
// In steps of 1/32 of the shard. A move costs a connection and what is in flight, up to a window;
// for less than this it is not worth it, except to spare the wide area.
constexpr uint32_t kWorthwhileSteps = 8;

// What the reader has got since its last report counts as well.
bool IsWorthwhile(const Worker& reader, TimeMs now) {
  const Reference& reference = *reader.reference;
  if (!reference.shard->chunks) return true;
  const uint32_t chunks = *reference.shard->chunks;
  const Pace& pace = reader.read->whole().pace;
  const uint64_t since = pace.rate * static_cast<uint64_t>(now - pace.told_at) / 1'000'000;
  const uint64_t expected = std::min<uint64_t>(reference.valid_chunks + since, chunks);
  return StepsMissing(static_cast<uint32_t>(expected), chunks) >= kWorthwhileSteps;
}

// The places of its source that others take, as it counts for this reader: over their own host's
// link go only those on it.
bool IsInCrowd(const Worker& reader, const Worker& source, const SourcePolicy& policy) {
  const Tier tier = Present(reader).tier;
  const uint32_t places = policy.PlacesFor(tier);
  if (Occupied(*source.reference) <= places) return false;
  uint32_t others = 0;
  for (const ReaderSlot& slot : source.reference->readers) {
    const Worker& other = *slot.reader;
    if (&other == &reader || !IsPresent(slot)) continue;
    if (other.read->whole().suspect) return false;  // it is being found out who is slow
    const Tier others_tier = other.read->assignments.at(slot.assignment).tier;
    if (tier == Tier::kHost || others_tier != Tier::kHost) ++others;
  }
  return others >= places && !reader.read->whole().suspect;
}

}  // namespace

// Not across the wide area, over which what is in flight would go a second time. R8: while
// recovering, a reader that has the free place may not have reported yet.
// One that has several sources shares no link. It gets another one for a stream that lost its own.
void ReadGraph::LeaveCrowd(Worker& reader) {
  if (turn_.recovering() || !IsFed(reader) || !IsWorthwhile(reader, turn_.now())) return;
  if (reader.read->ranges) return SettleStreams(reader);
  const Tier present = Present(reader).tier;
  if (present == Tier::kRemote) return;
  if (!IsInCrowd(reader, SourceOf(reader), policy_)) return;
  const std::optional<Candidate> best = Choose(reader);
  if (best && IsGood(*best) && best->tier <= present)
    MoveTo(reader, *roster_.FindRow(best->serial));
}

void ReadGraph::DrawNearer(Worker& holder) {
  FlushIndex(nullptr);
  if (!holder.reference || !holder.listed.rank) return;
  // First: behind a long chain they wait, and what is a little farther costs them less.
  free_.erase(holder.serial);
  if (!turn_.recovering()) CutChain(holder);
  const HolderIndex& index = holder.reference->shard->index;
  std::vector<Worker*> readers;
  for (const Tier tier : {Tier::kHost, Tier::kRack, Tier::kDatacenter}) {
    const Scope* scope = index.FindScope(holder.place, tier);
    if (scope == nullptr) continue;
    size_t left = kDrawnMax;
    for (Worker* inlet : scope->inlets) {
      if (left-- == 0) break;
      readers.push_back(inlet);
    }
  }
  for (Worker* reader : readers) DrawNearer(*reader, holder);
}

// An orphan of the same datacenter that was settled before this one may have found a source far
// away, and below this one. It comes here; or, if it is ahead, the two change places.
void ReadGraph::KeepOneSeed(Worker& reader) {
  if (!IsFedFromAfar(reader)) return;
  DrawNearer(reader);
  FlushIndex(nullptr);
  const std::set<Worker*, BySerial> seeds =
      reader.reference->shard->index.FindSite(reader.place)->all.inlets;
  for (Worker* other : seeds) {
    if (!IsFedFromAfar(*other) || !other->node.IsBelow(reader.node)) continue;
    Worker& source = SourceOf(reader);
    if (!MayServeWhole(source, *other) || !MayServeWhole(*other, reader)) continue;
    MoveTo(*other, source);
    return MoveTo(reader, *other);
  }
}

// A free place is wanted, except when it takes a reader off the wide area. R8: while recovering,
// the reader that has it may not have reported yet.
void ReadGraph::DrawNearer(Worker& reader, const Worker& holder) {
  if (turn_.recovering() || !IsFedWhole(reader) || !MayServeWhole(holder, reader)) return;
  const Tier present = Present(reader).tier;
  if (TierBetween(holder.location, reader.location) >= present) return;
  if (present != Tier::kRemote && !IsWorthwhile(reader, turn_.now())) return;
  if (CandidateOf(holder, reader).behind || holder.node.IsBelow(reader.node)) return;
  const std::optional<Candidate> best = Choose(reader);
  if (!best || best->behind || best->slow || best->tier >= present) return;
  Worker& source = *roster_.FindRow(best->serial);
  if (present != Tier::kRemote) {
    if (best->crowded || best->unreliable) return;
    // Not to the end of another long chain (long_chains.cc).
    if (source.node.Depth() > reader.node.Depth() + options_.long_chain / 4) return;
  }
  MoveTo(reader, source);
}

}  // namespace tensorhub::hub
