// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R5: a reader with several sources at a time. They hold the shard whole, so they are alike, and
// the reader divides the shard among them as it goes: each brings the next range that nobody else
// was asked for. It is worth it where one source, or one connection, is slower than the reader's
// link.
//
// Such a read is simpler than one in a chain. Its sources read from nobody, so that no cycle can
// come of it, and it has no place in the forest. It stays between hosts of a datacenter. A slow
// source brings less, so that there is no pace to judge. One that is lost, or drains, is replaced
// if there is another that is free; if not, the others bring what it did not. Only a reader without
// any is led anew, perhaps in another way.

#include <algorithm>
#include <utility>
#include <vector>

#include "server/core/read_graph.h"
#include "server/core/source_selection.h"

namespace tensorhub::hub {
namespace {

// Free holders that are looked at. Most of them will do; some do not know streams, or are excluded.
constexpr size_t kLookedAtMax = 256;

// On one host bytes are copied, which one source's memory feeds as well as two. Far away, several
// would cross the wide area.
bool IsOverANetwork(Tier tier) { return tier != Tier::kHost && tier != Tier::kRemote; }

// The reader is at the source, or has not released it yet.
bool IsAt(const Worker& reader, const Worker& source) {
  const auto& assignments = reader.read->assignments;
  return std::any_of(assignments.begin(), assignments.end(),
                     [&](const auto& entry) { return entry.second.source == &source; });
}

// Something of it may be outstanding at the last source of this stream.
bool MayBeThere(const Read& read, const Stream& stream) {
  return read.assignments.contains(stream.last) || read.awaits.contains(stream.last);
}

}  // namespace

// Holders that have the shard whole and feed nobody, and that are no farther than the best.
std::vector<Worker*> ReadGraph::SourcesOfRanges(const Worker& reader, size_t wanted) {
  std::vector<Worker*> found;
  const std::optional<Candidate> best = Choose(reader);
  if (!best || !IsGood(*best) || !IsOverANetwork(best->tier)) return found;
  const uint32_t places = policy_.PlacesFor(best->tier);
  const auto& holders = reader.reference->shard->index.FindScope(reader.place, best->tier)->holders;
  auto it = holders.begin();
  for (size_t looked = 0; it != holders.end() && looked < kLookedAtMax; ++looked) {
    const HolderRank& rank = it->rank;
    if (rank.slow || rank.unreliable || rank.readers >= places || found.size() == wanted) break;
    if (rank.steps_missing > 0) {
      it = holders.lower_bound(Holder{{.readers = rank.readers + 1}});
      continue;
    }
    Worker& source = *it++->worker;
    const bool near = TierBetween(source.location, reader.location) != Tier::kRemote;
    const bool may = near && MayFeedRanges(source) && MayServe(source, reader);
    if (may && !IsAt(reader, source)) found.push_back(&source);
  }
  return found;
}

// Feeds a reader that nobody feeds. False: it is to be fed by one source.
bool ReadGraph::AssignSeveral(Worker& reader) {
  if (turn_.recovering() || options_.sources_per_reader < 2 || !reader.knows_streams) return false;
  const std::vector<Worker*> sources = SourcesOfRanges(reader, options_.sources_per_reader);
  if (sources.size() < 2) return false;
  Divide(reader, sources.size(), /*ranges=*/true);
  for (size_t i = 0; i < sources.size(); ++i) Feed(reader, reader.read->streams[i], *sources[i]);
  return true;
}

// R3: what was assigned before counts until it is released.
void ReadGraph::Divide(Worker& reader, size_t streams, bool ranges) {
  Read& read = *reader.read;
  for (Stream& stream : read.streams) StopBeingFed(reader, stream);
  ++read.plan;
  read.ranges = ranges;
  read.origin = nullptr;
  read.streams.assign(streams, Stream{});
}

// Streams without a source, of a reader that has others.
void ReadGraph::SettleStreams(Worker& reader) {
  if (turn_.recovering() || !reader.read->ranges) return;
  Stream* part = nullptr;
  for (Stream& stream : reader.read->streams) {
    if (stream.current != 0 || FeedElsewhere(reader, stream)) continue;
    stream.from != nullptr ? void(part = &stream) : EndStreamOf(reader, stream);
  }
  if (part != nullptr) AwaitPart(reader, *part);
}

Worker* ReadGraph::AnotherFor(const Worker& reader, const Stream& stream) {
  if (stream.from != nullptr) {
    FlushIndex(&reader);
    return SourceOfPart(reader, *stream.from, Tier::kRemote);
  }
  const std::vector<Worker*> others = SourcesOfRanges(reader, 1);
  return others.empty() ? nullptr : others.front();
}

bool ReadGraph::FeedElsewhere(Worker& reader, Stream& stream) {
  Worker* other = AnotherFor(reader, stream);
  if (other != nullptr) Feed(reader, stream, *other);
  return other != nullptr;
}

// Said once, and again if the reader's report shows that it has not heard it.
void ReadGraph::EndStreamOf(Worker& reader, Stream& stream) {
  StopBeingFed(reader, stream);
  MarkIndexStale(reader);
  if (!MayBeThere(*reader.read, stream) || std::exchange(stream.ended, true)) return;
  SendEnd(reader, stream);
}

void ReadGraph::SendEnd(const Worker& reader, const Stream& stream) {
  turn_.Send(reader, EndStream{reader.read->transaction, stream.last});
}

// R3: as RedirectReaders, for one of several streams.
void ReadGraph::LeaveDraining(Worker& reader, AssignmentNumber assignment) {
  Stream* stream = reader.read->FedBy(assignment);
  if (stream == nullptr || FeedElsewhere(reader, *stream)) return;
  const auto& streams = reader.read->streams;
  const auto fed = std::count_if(streams.begin(), streams.end(),
                                 [](const Stream& each) { return each.current != 0; });
  const bool others_bring_it = stream->from == nullptr && fed > 1;
  if (others_bring_it) return EndStreamOf(reader, *stream);
  if (!AssignSource(reader) && stream->from != nullptr) AssignPartsAnew(reader);
}

// R8: as SourceSilent, for one of several streams. Where nobody is free it goes on with its source:
// the others bring what they can, and it complains in time.
void ReadGraph::LeaveSilent(Worker& reader, const Worker& source, AssignmentNumber assignment) {
  Stream& stream = *reader.read->FedBy(assignment);
  Worker* other = AnotherFor(reader, stream);
  if (other == nullptr || other == &source) return;
  Exclude(reader, source.id);
  Feed(reader, stream, *other);
}

}  // namespace tensorhub::hub
