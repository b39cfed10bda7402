// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What must hold between any two events of who reads from whom. Everything that is counted as it
// changes is counted anew here.

#include <algorithm>

#include "common/check.h"
#include "server/core/read_graph.h"

namespace tensorhub::hub {
namespace {

bool IsFedFrom(const Worker& reader, const Stream& stream) {
  if (!reader.read->running || stream.current == 0) return true;
  const Worker& source = *reader.read->assignments.at(stream.current).source;
  return source.reference->shard == stream.from &&
         source.reference->sharding == reader.read->origin;
}

}  // namespace

void ReadGraph::CheckInvariants(const Worker& worker) const {
  CheckRead(worker);
  CheckNoCycle(worker);
  CheckChoice(worker);
}

void ReadGraph::CheckInvariants() const {
  // The end of the event left nothing behind.
  TH_CHECK(orphans_.empty() && index_stale_.empty() && stranded_.empty() && drained_.empty());
  TH_CHECK(free_.empty() || turn_.recovering());
  CheckAwaited();
  CheckUplinks();
}

// R9: one entry per reader at the most.
void ReadGraph::CheckAwaited() const {
  for (const auto& [source, readers] : awaited_) {
    TH_CHECK(!readers.empty());
    for (const AwaitedReader& awaited : readers) {
      const Worker* reader = roster_.FindRow(awaited.reader);
      TH_CHECK(reader != nullptr && reader->read);
      const auto awaits = reader->read->awaits.find(awaited.assignment);
      TH_CHECK(awaits != reader->read->awaits.end() && awaits->second == source);
    }
  }
}

// The other direction: each assignment is counted at its source.
void ReadGraph::CheckRead(const Worker& worker) const {
  if (!worker.read) return;
  const Read& read = *worker.read;
  TH_CHECK(!read.streams.empty() && (read.ranges || read.streams.size() == 1));
  for (const Stream& stream : read.streams) {
    TH_CHECK(stream.current == 0 || stream.current == stream.last);
    TH_CHECK(stream.last <= read.last && stream.reported <= read.last);
    TH_CHECK(stream.current == 0 || read.assignments.contains(stream.current));
    // R5: whose shards it brings parts of is one sharding, and another than its own.
    TH_CHECK((stream.from == nullptr) == (read.origin == nullptr));
    TH_CHECK(stream.from == nullptr || (read.ranges && IsFedFrom(worker, stream)));
    // No ping-pong.
    TH_CHECK(stream.slow_moves <= kSlowMovesMax && stream.left.size() <= kSlowMovesMax);
  }
  for (const auto& [number, assignment] : read.assignments) {
    TH_CHECK(number != 0 && number <= read.last);
    const ReaderSlot slot{roster_.FindRow(worker.serial), number};
    const Worker* source = assignment.source;
    TH_CHECK(source->alive && source->reference && IsOfItsShard(*source, worker));
    TH_CHECK(source->reference->generation == assignment.generation);
    TH_CHECK(source->reference->readers.contains(slot));
  }
}

// R5: nobody reads, through any number of others, from itself. The sources of a divided read are
// complete, or were, so they read from nobody; but one of parts may read a published shard.
void ReadGraph::CheckNoCycle(const Worker& worker) const {
  const Worker* at = &worker;
  for (size_t steps = 0; IsFedWhole(*at); ++steps) {
    TH_CHECK(steps <= roster_.workers().size());
    at = &SourceOf(*at);
    TH_CHECK(at != &worker);
  }
  if (!IsFed(*at) || !at->read->ranges) return;
  for (const Stream& stream : at->read->streams) {
    if (stream.current == 0) continue;
    const Worker& source = *at->read->assignments.at(stream.current).source;
    TH_CHECK(source.reference->state != ReferenceState::kFilling ||
             (stream.from != nullptr && !source.reference->sharding->id));
    TH_CHECK(source.reference->state != ReferenceState::kFilling || at->reference->sharding->id);
    TH_CHECK(stream.from != nullptr || TierBetween(source.location, at->location) != Tier::kRemote);
  }
}

// R5: the index finds whom the ranking prefers, and says of everybody what is so.
void ReadGraph::CheckChoice(const Worker& worker) const {
  TH_CHECK(worker.node.attached() == IsFedWhole(worker));
  if (!worker.reference) return;
  TH_CHECK(worker.listed == EntryOf(worker));
  if (!Reads(worker)) return;
  const std::optional<Candidate> found = ChooseByIndex(worker);
  const std::optional<Candidate> best = ChooseByLookingAtAll(worker);
  TH_CHECK(found.has_value() == best.has_value());
  TH_CHECK(!found || found->serial == best->serial);
  // R8: it waits only where somebody may still come.
  if (IsFed(worker) || turn_.recovering()) return;
  TH_CHECK(!best && worker.reference->shard->waiting.contains(roster_.FindRow(worker.serial)));
}

// R5: two readers of a shard in one datacenter read from outside it only where one of them was
// failed by somebody inside, or is out of service, or was, or began before this hub did.
void ReadGraph::CheckSeeds(const Shard& shard) const {
  for (const auto& [datacenter, site] : shard.index.sites()) {
    const Worker* innocent = nullptr;
    for (const Worker* seed : site.all.inlets) {
      TH_CHECK(Reads(*seed) && seed->place.datacenter == datacenter);
      const Read& read = *seed->read;
      if (!IsFedWhole(*seed) || read.restored || !read.excluded.empty()) continue;
      if (seed->withdrawn || read.apart) continue;
      if (!read.whole().left.empty()) continue;
      TH_CHECK(innocent == nullptr);
      innocent = seed;
    }
  }
  for (const Worker* reader : shard.waiting) TH_CHECK(Reads(*reader) && !IsFed(*reader));
}

// R3: a read counts at the uplink of its source's datacenter from assignment until released.
void ReadGraph::CheckUplinks() const {
  std::map<std::string, uint32_t> uplinks;
  for (const auto& [key, worker] : roster_.workers()) {
    if (!worker.read) continue;
    for (const auto& [number, assignment] : worker.read->assignments) {
      if (assignment.tier == Tier::kRemote) ++uplinks[assignment.uplink];
    }
  }
  TH_CHECK(uplinks == uplinks_);
}

}  // namespace tensorhub::hub
