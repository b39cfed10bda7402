// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R3, R5: who reads from whom, from the assignment until the reader releases it. The counts (of
// readers at a source and of places they take, of reads at a datacenter's uplink) and the forest
// change here only.

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/read_graph.h"
#include "server/core/read_rights.h"

namespace tensorhub::hub {
namespace {

// R1: whether a list of digests comes with this read, so that its reader can be held to what the
// list gives. A shard's digest may be known by another's word, though who published it makes none.
// A reader of another shard makes its own.
bool DigestsCome(const Read& read, const Worker& source) {
  const Reference& reference = *source.reference;
  if (read.origin != nullptr || reference.digest || reference.hashing) return true;
  const bool fills = reference.state == ReferenceState::kFilling && source.read;
  return fills && source.read->digests_come;
}

}  // namespace

const Assignment* FirstFeed(const Read& read) {
  const auto fed = std::find_if(read.streams.begin(), read.streams.end(),
                                [](const Stream& stream) { return stream.current != 0; });
  return fed == read.streams.end() ? nullptr : &read.assignments.at(fed->current);
}

// False: nobody can serve this reader better than now; what it had stays as it was. One that has a
// source is not moved to one that has less than itself.
bool ReadGraph::AssignSource(Worker& reader) {
  const std::optional<Candidate> choice = Choose(reader);
  if (!choice || (choice->behind && IsFed(reader))) return false;
  Worker& source = *roster_.FindRow(choice->serial);
  if (IsFedWhole(reader) && &SourceOf(reader) == &source) return false;
  MoveTo(reader, source);
  return true;
}

// The reader is fed by one source from now on. R1: one that holds the very shard.
void ReadGraph::MoveTo(Worker& reader, Worker& source) {
  TH_CHECK(source.reference->shard == reader.reference->shard);
  if (reader.read->ranges) Divide(reader, 1, /*ranges=*/false);
  Feed(reader, reader.read->whole(), source);
}

void ReadGraph::Feed(Worker& reader, Stream& stream, Worker& source) {
  NoteChoice(reader, stream, source);
  AttachReader(reader, stream, reader.read->last + 1, source,
               TierBetween(source.location, reader.location));
  ++decisions_;
  turn_.Say(LogLine::Level::kDebug,
            absl::StrCat(ToString(reader.id.key), " at chunk ", reader.reference->valid_chunks,
                         " reads from ", ToString(source.id.key), " at ",
                         source.reference->valid_chunks));
  SendAssign(reader, stream);
}

// R8: it has connected anew, and is reached elsewhere. Who reads from it may not have heard of
// that, if it never heard of the reader. It stays at its source, so this holds in a grace as well.
void ReadGraph::CallReadersAnew(Worker& source) {
  if (!source.reference) return;
  for (const ReaderSlot& slot : std::set<ReaderSlot>(source.reference->readers)) {
    Worker& reader = *slot.reader;
    if (IsPresent(slot) && MayServe(source, reader)) {
      Feed(reader, *reader.read->FedBy(slot.assignment), source);
    }
  }
}

void ReadGraph::AttachReader(Worker& reader, Stream& stream, AssignmentNumber number,
                             Worker& source, Tier tier) {
  StopBeingFed(reader, stream);
  CountReader(reader, number, source, tier);
  stream.current = stream.last = number;
  stream.ended = false;
  reader.read->last = std::max(reader.read->last, number);
  reader.read->depth = 1;
  if (!reader.read->ranges) {
    reader.node.AttachTo(source.node, &reader);
    reader.read->depth = static_cast<uint32_t>(reader.node.Depth());
  }
  reader.reference->shard->waiting.erase(&reader);
  const auto& streams = reader.read->streams;
  const bool all_fed = std::all_of(streams.begin(), streams.end(),
                                   [](const Stream& each) { return each.current != 0; });
  if (all_fed) PublicationOf(reader).awaiting.erase(&reader);
  stream.pace.starved = 0;
  stream.pace.rate_at = 0;
  stream.pace.moved_at = turn_.now();
  if (!reader.read->ranges) BeginWindow(reader);
  WakeWaiting(reader.reference->shard->waiting);
}

// R3: from here on, before it has heard of it, until it is released.
void ReadGraph::CountReader(Worker& reader, AssignmentNumber number, Worker& source, Tier tier) {
  Assignment assignment{&source, source.reference->generation, tier, {}};
  if (tier == Tier::kRemote) {
    assignment.uplink = source.place.datacenter;
    ++uplinks_[assignment.uplink];
  }
  reader.read->assignments[number] = std::move(assignment);
  reader.read->digests_come = DigestsCome(*reader.read, source);
  source.reference->readers.insert({&reader, number});
  if (reader.absent) ++source.reference->absent_readers;
  MarkIndexStale(source);
  MarkIndexStale(reader);
}

// The assignment stays until it is released.
void ReadGraph::StopBeingFed(Worker& reader, Stream& stream) {
  stream.current = 0;
  if (reader.read->ranges || !reader.node.attached()) return;
  reader.node.Detach();
  if (reader.reference) WakeWaiting(reader.reference->shard->waiting);
}

// Readers that wait for a source may follow now a reader that got one, or those below a reader that
// lost its own, if it was above them.
void ReadGraph::WakeWaiting(const std::set<Worker*, BySerial>& waiting) {
  if (turn_.recovering()) return;
  for (Worker* reader : waiting) QueueForAssignment(*reader);
}

void ReadGraph::SendAssign(const Worker& reader, const Stream& stream) {
  const Read& read = *reader.read;
  const Assignment& assignment = read.assignments.at(stream.current);
  const Worker& source = *assignment.source;
  Assign assign;
  assign.transaction = read.transaction;
  assign.assignment = stream.current;
  assign.source = source.id;
  assign.endpoint = source.endpoint;
  assign.generation = assignment.generation;
  assign.publication = read.publication;
  assign.tier = assignment.tier;
  assign.progress_ms = ReportMs();
  if (DigestsCome(read, source)) assign.digest = reader.reference->shard->digest;
  assign.plan = read.plan;
  assign.part = static_cast<uint32_t>(&stream - read.streams.data());
  assign.ranges = read.ranges;
  assign.parts = stream.from != nullptr;
  assign.capability = SignRead(options_, source,
                               {.reader = reader.id.incarnation,
                                .publication = read.publication,
                                .generation = assignment.generation,
                                .use = read.ranges ? ReadUse::kRanges : ReadUse::kChunks});
  turn_.Send(reader, std::move(assign));
}

Assignment ReadGraph::EraseAssignment(Worker& reader, AssignmentNumber number) {
  const auto it = reader.read->assignments.find(number);
  Assignment assignment = std::move(it->second);
  reader.read->assignments.erase(it);
  if (Stream* stream = reader.read->FedBy(number)) StopBeingFed(reader, *stream);
  if (assignment.tier == Tier::kRemote) {
    const auto uplink = uplinks_.find(assignment.uplink);
    if (--uplink->second == 0) uplinks_.erase(uplink);
  }
  MarkIndexStale(reader);
  return assignment;
}

void ReadGraph::Release(Worker& reader, AssignmentNumber number) {
  if (!reader.read->assignments.contains(number)) return;
  Worker& source = *EraseAssignment(reader, number).source;
  Reference& reference = *source.reference;
  reference.readers.erase({&reader, number});
  if (reader.absent) --reference.absent_readers;
  MarkIndexStale(source);
  const bool drained = reference.state == ReferenceState::kDraining && reference.readers.empty();
  if (drained) drained_.insert(&source);
}

void ReadGraph::SetAbsent(Worker& worker, bool absent) {
  if (worker.absent == absent) return;
  worker.absent = absent;
  absence_changed_ = true;
  MarkIndexStale(worker);
  if (!worker.read) return;
  for (const auto& [number, assignment] : worker.read->assignments) {
    uint32_t& readers = assignment.source->reference->absent_readers;
    readers = absent ? readers + 1 : readers - 1;
    MarkIndexStale(*assignment.source);
  }
}

void ReadGraph::ReleaseAll(Worker& reader) {
  if (!reader.read) return;
  while (!reader.read->assignments.empty()) {
    Release(reader, reader.read->assignments.begin()->first);
  }
}

// R3: a reader turns to an assignment only when nothing is outstanding at the one before, and not
// to one that it was told of by an earlier session. What it said of those may have been lost.
void ReadGraph::ReleaseOthers(Worker& reader, const OpenFetch& reported) {
  std::vector<AssignmentNumber> others;
  for (const auto& [number, assignment] : reader.read->assignments) {
    if (!Names(reported, number) && reader.read->FedBy(number) == nullptr) others.push_back(number);
  }
  for (const auto& [number, source] : reader.read->awaits) {
    if (!Names(reported, number)) others.push_back(number);
  }
  for (const AssignmentNumber number : others) {
    AwaitNoMore(reader, number);
    Release(reader, number);
  }
}

void ReadGraph::Begin(Worker& worker, const Transaction& transaction) {
  EndRead(worker);
  Read& read = worker.read.emplace();
  read.transaction = transaction.id;
  read.publication = transaction.publication;
  read.version = transaction.version;
  read.began = turn_.now();
  MarkIndexStale(worker);
}

void ReadGraph::Stop(Worker& reader) {
  reader.read->running = false;
  reader.node.Detach();
}

void ReadGraph::EndRead(Worker& reader) {
  ReleaseAll(reader);
  while (reader.read && !reader.read->awaits.empty()) {
    AwaitNoMore(reader, reader.read->awaits.begin()->first);
  }
  reader.read.reset();
  if (reader.reference) {
    reader.reference->shard->waiting.erase(&reader);
    PublicationOf(reader).awaiting.erase(&reader);
  }
  MarkIndexStale(reader);
}

// R3: the reader has shown that nothing is outstanding of a fetch that was aborted, if it was in
// one.
void ReadGraph::EndAborted(Worker& reader) {
  if (reader.read && !Reads(reader)) EndRead(reader);
}

// The reference that the slot was at is going. The reader may be at it until it has left.
void ReadGraph::LoseSource(const ReaderSlot& slot) {
  Worker& reader = *slot.reader;
  const bool current = reader.read->FedBy(slot.assignment) != nullptr;
  const Assignment lost = EraseAssignment(reader, slot.assignment);
  AwaitSource(reader, slot.assignment, lost.source->id, lost.generation);
  if (current && Reads(reader)) QueueForAssignment(reader);
}

// AssignOrAbort finds it another source, or hands it back.
void ReadGraph::QueueForAssignment(Worker& reader) {
  const uint32_t valid_chunks = reader.reference ? reader.reference->valid_chunks : 0;
  orphans_.insert({valid_chunks, &reader});
}

const Assignment* ReadGraph::KnownAssignment(const Worker& reader, const TransactionId& transaction,
                                             AssignmentNumber number) const {
  if (!IsIn(reader, transaction)) return nullptr;
  const auto it = reader.read->assignments.find(number);
  return it == reader.read->assignments.end() ? nullptr : &it->second;
}

void ReadGraph::Released(Worker& reader, AssignmentNumber number) {
  LeaveReported(reader, number);
  // R9: where it was led last it is, until it says that it failed.
  if (reader.read->FedBy(number) == nullptr) Release(reader, number);
}

// R8: it is not at a source any more that is not listed. If that is the one which it reported (the
// hub's earlier life had led it away, or that source failed it), it does not wait for that.
void ReadGraph::LeaveReported(Worker& reader, AssignmentNumber number) {
  Read& read = *reader.read;
  AwaitNoMore(reader, number);
  const auto stream = std::find_if(read.streams.begin(), read.streams.end(),
                                   [&](const Stream& each) { return each.reported == number; });
  if (number == 0 || stream == read.streams.end()) return;
  stream->reported = 0;
  Release(reader, number);
  if (read.running && stream->current == 0) QueueForAssignment(reader);
}

// Readers that got least far go first: they can then read from those that got further. A reader
// stays counted here until it releases the assignment; one without another source goes on reading
// here.
void ReadGraph::RedirectReaders(Worker& source) {
  std::set<std::pair<Orphan, AssignmentNumber>> readers;
  for (const ReaderSlot& slot : source.reference->readers) {
    if (!IsPresent(slot)) continue;
    readers.insert({{slot.reader->reference->valid_chunks, slot.reader}, slot.assignment});
  }
  for (auto it = readers.rbegin(); it != readers.rend(); ++it) {
    Worker& reader = *it->first.reader;
    if (reader.read->ranges) {
      LeaveDraining(reader, it->second);
    } else if (!AssignSource(reader)) {
      AssignPartsAnew(reader);
    }
  }
}

// Somebody can serve this shard who could not before.
void ReadGraph::RetryRedirects(const Sharding& sharding, Rank rank) {
  const auto shard = sharding.shards.find(rank);
  if (shard == sharding.shards.end()) return;
  for (Worker* holder : shard->second.draining) RedirectReaders(*holder);
  for (Worker* holder : shard->second.withdrawn) {
    if (StepsAside(*holder)) RedirectReaders(*holder);
  }
}

// R5: another sharding of it may have everything now, or be readable.
void ReadGraph::RetryAllRedirects(const Publication& publication) {
  ForEachSharding(publication, [&](const Sharding& sharding) {
    for (const auto& [rank, shard] : sharding.shards) RetryRedirects(sharding, rank);
  });
}

}  // namespace tensorhub::hub
