// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R3, R8: what readers report of where they read, and readers of sources that are not listed (yet,
// or any more). Each counts at its source as soon as that is listed (again), until it says that it
// has left.

#include <algorithm>
#include <vector>

#include "server/core/read_graph.h"

namespace tensorhub::hub {
namespace {

// As it reads by its own word.
void SetReported(Read& read, const OpenFetch& fetch) {
  read.last = fetch.assignment;
  read.plan = fetch.plan;
  read.ranges = !fetch.streams.empty();
  if (!read.ranges) {
    read.whole().reported = read.whole().last = fetch.assignment;
    return;
  }
  read.streams.resize(fetch.streams.back().part + 1);
  for (const OpenStream& stream : fetch.streams) {
    read.streams[stream.part].reported = read.streams[stream.part].last = stream.assignment;
    read.last = std::max(read.last, stream.assignment);
  }
}

}  // namespace

const std::vector<AwaitedReader>* ReadGraph::AwaitedReaders(const WorkerIdentity& source) const {
  const auto it = awaited_.find(source);
  return it == awaited_.end() ? nullptr : &it->second;
}

void ReadGraph::Restore(Worker& reader, const OpenFetch& fetch) {
  reader.read->restored = true;
  SetReported(*reader.read, fetch);
  AwaitReported(reader, fetch);
}

// R3: it does not know yet that its fetch is over, and may be at that source until it says so.
void ReadGraph::RestoreAborted(Worker& reader, const OpenFetch& fetch) {
  Read& read = reader.read.emplace();
  read.transaction = fetch.transaction;
  read.publication = fetch.publication;
  read.version = fetch.version;
  read.running = false;
  SetReported(read, fetch);
  AwaitReported(reader, fetch);
}

// What was on its way when the session broke may not have arrived, in either direction.
void ReadGraph::Compare(Worker& reader, const OpenFetch& fetch) {
  if (IsIn(reader, fetch.transaction)) {
    ReleaseOthers(reader, fetch);
    LeaveUnreported(reader, fetch);
  }
  if (IsFed(reader)) SendUnreported(reader, fetch);
}

// R8: it has been led on since its first report, and what it said of those sources may be lost.
void ReadGraph::LeaveUnreported(Worker& worker, const OpenFetch& fetch) {
  std::vector<AssignmentNumber> left;
  for (const Stream& stream : worker.read->streams) {
    if (stream.reported != 0 && !Names(fetch, stream.reported)) left.push_back(stream.reported);
  }
  for (const AssignmentNumber number : left) LeaveReported(worker, number);
}

// What it was told of its streams, and may not have heard.
void ReadGraph::SendUnreported(Worker& worker, const OpenFetch& fetch) {
  if (worker.read->streams.front().from != nullptr) SendParts(worker);
  for (const Stream& stream : worker.read->streams) {
    if (stream.current != 0 && !Names(fetch, stream.current)) SendAssign(worker, stream);
    if (stream.current == 0 && Names(fetch, stream.last)) SendEnd(worker, stream);
  }
}

void ReadGraph::AwaitReported(Worker& worker, const OpenFetch& fetch) {
  const auto await = [&](AssignmentNumber number, const WorkerIdentity& id, Generation generation) {
    AwaitSource(worker, number, id, generation);
    Worker* source = roster_.FindLive(id);
    if (source != nullptr && source->reference) ReattachReaders(*source);
  };
  for (const OpenStream& stream : fetch.streams) {
    await(stream.assignment, stream.source, stream.generation);
  }
  if (!fetch.streams.empty() || !fetch.source || fetch.assignment == 0) return;
  await(fetch.assignment, *fetch.source, fetch.source_generation);
}

// R3: until the reader says that it has left it, which counts there once it is listed (again): it
// has yet to report; or its lease had run out, and it comes back with the same buffers.
void ReadGraph::AwaitSource(Worker& reader, AssignmentNumber number, const WorkerIdentity& source,
                            Generation generation) {
  reader.read->awaits[number] = source;
  awaited_[source].push_back({reader.serial, number, generation});
}

// R3: one whose publish is repeated gets them when it serves, or drains; that may be after the
// grace, when their fetch is over.
void ReadGraph::ReattachReaders(Worker& source) {
  const auto it = awaited_.find(source.id);
  if (it == awaited_.end() || source.reference->state == ReferenceState::kPublishing) return;
  // Readers of a later generation came for a read that it has announced, and has yet to begin.
  const auto later = std::stable_partition(
      it->second.begin(), it->second.end(),
      [&](const auto& reader) { return reader.generation <= source.reference->generation; });
  const std::vector<AwaitedReader> waiting(it->second.begin(), later);
  it->second.erase(it->second.begin(), later);
  if (it->second.empty()) awaited_.erase(it);
  for (const auto& [serial, assignment, generation] : waiting) {
    Worker* reader = roster_.FindRow(serial);
    reader->read->awaits.erase(assignment);
    if (reader->read->assignments.contains(assignment)) continue;
    if (source.reference->generation != generation) continue;
    if (!IsOfItsShard(source, *reader) || &source == reader) continue;
    const Tier tier = TierBetween(source.location, reader->location);
    // R3: until it says that it has left, it may read here, as may one that was led elsewhere
    // meanwhile, or whose fetch has been aborted.
    Stream* stream = FedAgain(*reader, assignment, source, tier);
    stream == nullptr ? CountReader(*reader, assignment, source, tier)
                      : AttachReader(*reader, *stream, assignment, source, tier);
  }
}

// R5: the stream that this assignment feeds as it did before, if it does. Directives of the earlier
// life may have been lost on the way, so that two reports do not fit; such a reader gets a new
// source.
Stream* ReadGraph::FedAgain(Worker& reader, AssignmentNumber number, Worker& source, Tier tier) {
  if (!turn_.recovering() || !Reads(reader)) return nullptr;
  Read& read = *reader.read;
  const auto stream = std::find_if(read.streams.begin(), read.streams.end(),
                                   [&](const Stream& each) { return each.last == number; });
  if (stream == read.streams.end() || stream->current != 0) return nullptr;
  // Which part a stream brings is not known of one that was reported.
  const bool parts = reader.reference->sharding != source.reference->sharding;
  const bool may = read.ranges ? !parts && tier != Tier::kRemote && MayFeedRanges(source)
                               : !source.node.IsBelow(reader.node);
  return may ? &*stream : nullptr;
}

void ReadGraph::AwaitNoMore(Worker& reader, AssignmentNumber number) {
  const auto awaits = reader.read->awaits.extract(number);
  if (!awaits) return;
  const auto it = awaited_.find(awaits.mapped());
  std::erase_if(it->second, [&](const AwaitedReader& other) {
    return other.reader == reader.serial && other.assignment == number;
  });
  if (it->second.empty()) awaited_.erase(it);
}

}  // namespace tensorhub::hub
