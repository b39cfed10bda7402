// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R5 and R8: who reads from whom, from the assignment until the reader releases it.

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/source_selection.h"
#include "server/core/state.h"

namespace tensorhub::hub {

// R5: no cycles. Everybody who reads from `reader`, directly or through others.
std::set<WorkerKey> Hub::State::Downstream(const Worker& reader) const {
  std::set<WorkerKey> seen;
  std::vector<const Worker*> open{&reader};
  while (!open.empty()) {
    const Worker* worker = open.back();
    open.pop_back();
    if (worker == nullptr || !worker->reference) continue;
    for (const ReaderSlot& slot : worker->reference->readers) {
      if (seen.insert(slot.reader).second) open.push_back(FindWorker(slot.reader));
    }
  }
  return seen;
}

// R1: within one publication only. A filling holder without a source of its own goes nowhere.
bool Hub::State::MayServe(const Worker& source, const Worker& reader) const {
  if (!source.alive || !source.reference || source.id.key == reader.id.key) return false;
  const Reference& reference = *source.reference;
  if (reference.publication != reader.read->publication) return false;
  if (reader.read->barred.contains(source.id)) return false;
  if (reference.state == ReferenceState::kComplete) return true;
  if (reference.state != ReferenceState::kFilling) return false;
  return !source.read || source.read->current != 0;
}

std::optional<WorkerKey> Hub::State::ChooseSource(const Worker& reader) {
  const Publication* publication = FindPublication(reader.id.key.model, reader.read->version);
  if (publication == nullptr || publication->id != reader.read->publication) return std::nullopt;
  const auto shard = publication->shards.find(reader.id.key.rank);
  if (shard == publication->shards.end()) return std::nullopt;
  const std::set<WorkerKey> downstream = Downstream(reader);
  // A reader that still has a source is not moved to one that has less than itself.
  const bool redirect = reader.read->current != 0;
  std::vector<Candidate> candidates;
  for (const WorkerKey& key : shard->second.holders) {
    const Worker& source = *FindWorker(key);
    if (!MayServe(source, reader) || downstream.contains(key)) continue;
    Candidate candidate;
    candidate.worker = key;
    candidate.tier = TierBetween(source.location, reader.location);
    candidate.readers = static_cast<uint32_t>(source.reference->readers.size());
    candidate.valid_chunks = source.reference->valid_chunks;
    candidate.behind = source.reference->state != ReferenceState::kComplete &&
                       source.reference->valid_chunks < reader.reference->valid_chunks;
    candidate.stable = source.stable;
    if (!redirect || !candidate.behind) candidates.push_back(std::move(candidate));
  }
  const auto best = Best(candidates, options_.readers_per_source);
  if (!best) return std::nullopt;
  return best->worker;
}

// False: nobody can serve this reader now; what it had stays as it was.
bool Hub::State::AssignSource(Worker& reader) {
  const std::optional<WorkerKey> choice = ChooseSource(reader);
  if (!choice) return false;
  Worker& source = *FindWorker(*choice);
  const AssignmentNumber number = ++reader.read->last;
  AttachReader(reader, number, source, TierBetween(source.location, reader.location));
  ++decisions_;
  SendAssign(reader);
  return true;
}

// R3: a reader counts at its source from here on, before it has heard of it.
void Hub::State::AttachReader(Worker& reader, AssignmentNumber number, Worker& source, Tier tier) {
  reader.read->assignments[number] = Assignment{source.id, source.reference->generation, tier};
  reader.read->current = number;
  reader.read->last = std::max(reader.read->last, number);
  source.reference->readers.insert({reader.id.key, number});
}

void Hub::State::SendAssign(const Worker& reader) {
  const Read& read = *reader.read;
  const Assignment& assignment = read.assignments.at(read.current);
  const Worker& source = *FindWorker(assignment.source.key);
  Assign assign;
  assign.transaction = read.transaction;
  assign.assignment = read.current;
  assign.source = assignment.source;
  assign.endpoint = source.endpoint;
  assign.generation = assignment.generation;
  assign.publication = read.publication;
  assign.tier = assignment.tier;
  Send(reader, std::move(assign));
}

void Hub::State::Release(Worker& reader, AssignmentNumber number) {
  Read& read = *reader.read;
  const auto it = read.assignments.find(number);
  if (it == read.assignments.end()) return;
  const WorkerIdentity source_id = it->second.source;
  read.assignments.erase(it);
  if (read.current == number) read.current = 0;
  Worker* source = FindLive(source_id);
  if (source == nullptr || !source->reference) return;
  source->reference->readers.erase({reader.id.key, number});
  const bool drained =
      source->reference->state == ReferenceState::kDraining && source->reference->readers.empty();
  if (drained) drained_.insert(source_id.key);
}

void Hub::State::ReleaseAll(Worker& reader) {
  if (!reader.read) return;
  while (!reader.read->assignments.empty()) {
    Release(reader, reader.read->assignments.begin()->first);
  }
}

// The reference that the slot was at is going.
void Hub::State::LoseSource(const ReaderSlot& slot) {
  Worker* reader = FindWorker(slot.reader);
  if (reader == nullptr || !reader->read) return;
  reader->read->assignments.erase(slot.assignment);
  if (reader->read->current != slot.assignment) return;
  reader->read->current = 0;
  if (reader->read->running) orphans_.insert(slot.reader);
}

// R8: another source, or the end of the fetch for the whole group, at once. While recovering,
// holders may still report.
void Hub::State::SettleOrphan(const WorkerKey& key) {
  Worker* reader = FindWorker(key);
  if (reader == nullptr || !reader->alive || !reader->read) return;
  const Read& read = *reader->read;
  if (!read.running || read.current != 0 || AssignSource(*reader) || recovering_) return;
  const std::string what = absl::StrCat("version ", read.version, " of ", key.model);
  absl::Status status = absl::NotFoundError(
      absl::StrCat(what, ": nobody holds shard ", key.rank, " any more; fetch another version"));
  if (!read.last_failure.ok()) {
    status = absl::UnavailableError(
        absl::StrCat(what, ": every source of shard ", key.rank,
                     " failed; the last one: ", std::string(read.last_failure.message())));
  }
  Abort({key.model, key.group}, status);
}

const Assignment* Hub::State::KnownAssignment(const Worker& reader,
                                              const TransactionId& transaction,
                                              AssignmentNumber number) const {
  if (!reader.read || reader.read->transaction != transaction) return nullptr;
  const auto it = reader.read->assignments.find(number);
  return it == reader.read->assignments.end() ? nullptr : &it->second;
}

void Hub::State::On(const SourceReleased& event) {
  Worker* reader = FindSession(event.session);
  if (reader == nullptr ||
      KnownAssignment(*reader, event.transaction, event.assignment) == nullptr ||
      reader->read->current == event.assignment) {
    return Say(LogLine::Level::kDebug, "a release of an assignment that is over");
  }
  Release(*reader, event.assignment);
}

// R8: the complaint bars the source for this reader only; whether its reference stands is for the
// source to say.
void Hub::State::On(const SourceFailed& event) {
  Worker* reader = FindSession(event.session);
  const Assignment* known =
      reader == nullptr ? nullptr : KnownAssignment(*reader, event.transaction, event.assignment);
  if (known == nullptr) {
    return Say(LogLine::Level::kDebug, "a complaint about an assignment that is over");
  }
  const Assignment assignment = *known;
  Read& read = *reader->read;
  const std::string reason = std::string(event.reason.message()).substr(0, kReasonBytesMax);
  Say(LogLine::Level::kWarning, absl::StrCat(ToString(reader->id.key), ": source ",
                                             ToString(assignment.source.key), " failed: ", reason));
  if (read.barred.size() < options_.limits.barred_sources) read.barred.insert(assignment.source);
  read.last_failure = absl::UnavailableError(reason.empty() ? "no reason given" : reason);
  if (const Worker* source = FindLive(assignment.source)) {
    Send(*source, Probe{assignment.generation});
  }
  Release(*reader, event.assignment);
  if (!read.running || read.current != 0) return;
  if (read.barred.size() >= options_.limits.barred_sources) {
    return AbortOf(*reader, absl::UnavailableError("too many sources failed"));
  }
  orphans_.insert(reader->id.key);
}

}  // namespace tensorhub::hub
