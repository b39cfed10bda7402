// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R5: long chains are cut. Each member of a chain adds a hop, so that the last of two thousand
// begins late. Where a source that has the shard whole gets a free place (another trainer's group
// publishes, a reader has got everything), the middle of the longest chain goes there and takes
// those behind it along. Only readers of whom nothing was heard yet are moved: whoever is under way
// goes at the rate of its link already, and gains nothing.
//
// It ends: whoever is moved reads through fewer than before, and so do all behind it. The rules of
// rebalance.cc do not play against it: a cut leads nobody farther away and into no crowd. With the
// first that is heard of a reader it is over for that one.
//
// Of the ends in a datacenter only the deepest is tried, so that a chain of which nobody may be
// moved hides others.

#include <algorithm>
#include <deque>
#include <vector>

#include "common/check.h"
#include "server/core/read_graph.h"
#include "server/core/source_selection.h"

namespace tensorhub::hub {
namespace {

// Stable or spot; so many that had chunks already are looked at besides.
constexpr size_t kTailsMax = 8;
// Upwards from the middle, where some would be moved farther away than they are.
constexpr size_t kStepsMax = 32;

bool IsTail(const HolderRank& rank) {
  return !rank.slow && !rank.unreliable && rank.readers == 0 &&
         rank.steps_missing == kProgressSteps;
}

// A chain's end that the index does not list yet: whoever read from it was moved, and may not have
// left.
bool IsCutEnd(const Worker& worker) {
  if (!worker.reference || !IsFedWhole(worker) || worker.reference->valid_chunks > 0) return false;
  const auto& readers = worker.reference->readers;
  return !readers.empty() && std::none_of(readers.begin(), readers.end(), IsPresent);
}

// Adds the deepest, as the index has it, of those that nobody reads from and of which nothing was
// heard.
void AddTails(const Scope& scope, bool spot, std::vector<Worker*>& tails) {
  const Holder behind_all{{.steps_missing = kProgressSteps + (spot ? 1 : 0), .spot = !spot}};
  auto it = scope.holders.lower_bound(behind_all);
  size_t added = 0;
  for (size_t looked = 0; looked < 2 * kTailsMax && it != scope.holders.begin(); ++looked) {
    if (!IsTail((--it)->rank) || it->rank.spot != spot || added == kTailsMax) return;
    if (it->worker->reference->valid_chunks > 0) continue;
    tails.push_back(it->worker);
    ++added;
  }
}

// Null: none of them reads through so many.
Worker* Deepest(const std::vector<Worker*>& tails, size_t least) {
  Worker* deepest = nullptr;
  for (Worker* tail : tails) {
    const size_t depth = tail->node.Depth();
    if (depth < least) continue;
    least = depth + 1;
    deepest = tail;
  }
  return deepest;
}

}  // namespace

void ReadGraph::CutChain() {
  Worker* holder = roster_.FindRow(*free_.begin());
  free_.erase(free_.begin());
  if (holder != nullptr) CutChain(*holder);
}

void ReadGraph::CutChain(Worker& holder) {
  if (!holder.reference || !policy_.IsFree(holder.listed.rank)) return;
  Shard& shard = *holder.reference->shard;
  const Scope& scope = *shard.index.FindScope(holder.place, Tier::kDatacenter);
  std::vector<Worker*> tails;
  for (const bool spot : {false, true}) AddTails(scope, spot, tails);
  for (const Serial serial : shard.cut) {
    Worker* end = roster_.FindRow(serial);
    const bool counts = end != nullptr && IsCutEnd(*end) && end->reference->shard == &shard &&
                        end->place.datacenter == holder.place.datacenter;
    if (counts) tails.push_back(end);
  }
  Worker* tail = Deepest(tails, options_.long_chain);
  if (tail == nullptr) return;
  const size_t half = tail->node.Depth() / 2;
  for (size_t steps = half; steps < std::min(2 * half, half + kStepsMax); ++steps) {
    Worker& reader = *tail->node.Above(steps).reader();
    if (reader.reference->valid_chunks > 0) return;  // so all above it are under way
    if (!MayBeCut(reader, holder)) continue;
    shard.cut.push_back(SourceOf(reader).serial);
    if (shard.cut.size() > kTailsMax) shard.cut.pop_front();
    const size_t before = reader.node.Depth();
    MoveTo(reader, holder);
    TH_CHECK(reader.node.Depth() < before);
    tail->read->depth = static_cast<uint32_t>(tail->node.Depth());
    return MarkIndexStale(*tail);
  }
}

// R9: that a report puts it behind a holder of another shard leads it nowhere.
bool ReadGraph::MayBeCut(const Worker& reader, const Worker& holder) const {
  if (!IsFedWhole(reader) || !MayServeWhole(holder, reader)) return false;
  if (reader.absent || reader.read->whole().suspect) return false;
  // The holder may have all chunks, and read all the same until its group is whole (R6).
  if (holder.node.IsBelow(reader.node)) return false;
  if (holder.node.Depth() + 1 >= reader.node.Depth()) return false;
  const Candidate candidate = CandidateOf(holder, reader);
  return IsGood(candidate) && candidate.tier != Tier::kRemote &&
         candidate.tier <= Present(reader).tier;
}

}  // namespace tensorhub::hub
