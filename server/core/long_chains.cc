// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R5: long chains are cut. Each member of a chain adds a hop, so that the last of two thousand
// begins late. Where a source that has the shard whole gets a free place (another trainer's group
// publishes, a reader has got everything), the middle of the longest chain goes there and takes
// those behind it along. Only readers of whom nothing was heard yet are moved: whoever is under way
// goes at the rate of its link already, and gains nothing.
//
// It ends: whoever is moved reads through fewer than before, and so do all behind it.

#include <algorithm>
#include <deque>
#include <vector>

#include "server/core/source_selection.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

// Those that came last are listed last, and are the deepest, or nearly.
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

// Of those that nobody reads from, and that have nothing yet.
std::vector<Worker*> Tails(const Scope& scope) {
  const Holder behind_all{{.steps_missing = kProgressSteps + 1}};
  auto it = scope.holders.lower_bound(behind_all);
  std::vector<Worker*> tails;
  while (tails.size() < kTailsMax && it != scope.holders.begin() && IsTail((--it)->rank)) {
    tails.push_back(it->worker);
  }
  return tails;
}

}  // namespace

void Hub::State::CutChain(const Worker& holder) {
  if (recovering_ || !holder.reference) return;
  if (!IsFree(holder.listed, options_.readers_per_source)) return;
  const HolderIndex& index = holder.reference->shard->index;
  const Scope& scope = *index.FindScope(holder.place, Tier::kDatacenter);
  std::vector<Worker*> tails = Tails(scope);
  for (const Serial serial : holder.reference->shard->cut) {
    Worker* end = FindRow(serial);
    const bool here =
        end != nullptr && IsCutEnd(*end) && end->reference->shard == holder.reference->shard;
    if (here) tails.push_back(end);
  }
  const auto deepest = std::max_element(tails.begin(), tails.end(), [](Worker* a, Worker* b) {
    return a->node.Depth() < b->node.Depth();
  });
  if (deepest == tails.end() || (*deepest)->node.Depth() < options_.long_chain) return;
  Worker* tail = *deepest;
  const size_t half = tail->node.Depth() / 2;
  for (size_t steps = half; steps < std::min(2 * half, half + kStepsMax); ++steps) {
    Worker& reader = *tail->node.Above(steps).reader();
    if (!MayBeCut(reader, holder)) continue;
    std::deque<Serial>& cut = holder.reference->shard->cut;
    cut.push_back(SourceOf(reader).serial);
    if (cut.size() > kTailsMax) cut.pop_front();
    MoveTo(reader, *FindRow(holder.serial));
    tail->read->depth = static_cast<uint32_t>(tail->node.Depth());
    return Relist(*tail);
  }
}

bool Hub::State::MayBeCut(const Worker& reader, const Worker& holder) const {
  if (!IsFedWhole(reader) || reader.reference->valid_chunks > 0) return false;
  if (reader.read->whole().suspect || !MayServe(holder, reader)) return false;
  // The holder may have all chunks, and read all the same until its group is whole (R6).
  if (holder.node.IsBelow(reader.node)) return false;
  if (holder.node.Depth() + 1 >= reader.node.Depth()) return false;
  const Candidate candidate = CandidateOf(holder, reader);
  return IsGood(candidate) && candidate.tier <= Present(reader).tier;
}

}  // namespace tensorhub::hub
