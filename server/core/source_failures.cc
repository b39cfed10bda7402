// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R8: what becomes of a reader without a source, and of a source that failed a reader. A complaint
// bars the source for that reader only and makes the hub ask the source itself; whether its
// reference stands is for the source to say. A reader that has nobody else waits for that answer,
// and, if the source holds what it wants, tries it once more: a connection may break for reasons
// that are nobody's fault.
//
// A reader that got bytes which differ from their digests has the source look at them: it hashes
// what it holds, and gives it up if it is damaged.
//
// Nobody waits for ever: a question ends with its answer, with the source's session or reference,
// or one lease after it was put (and the time for hashing); a source is pardoned once by each read,
// and again whenever the read has got further.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/remedy.h"
#include "common/text.h"
#include "server/core/read_graph.h"

namespace tensorhub::hub {
namespace {

absl::Status NoSourceOf(const Worker& reader, Rank rank) {
  const absl::Status& last = reader.read->last_failure;
  const std::string what =
      absl::StrCat("version ", reader.read->version, " of ", reader.id.key.model);
  if (last.ok()) {
    return absl::NotFoundError(
        absl::StrCat(what, ": nobody holds shard ", rank, " any more; fetch another version"));
  }
  if (absl::IsDataLoss(last)) {
    return absl::DataLossError(
        absl::StrCat(what, ": no copy of shard ", rank,
                     " that is left agrees with its digests; publish it again, or fetch another",
                     " version; the last one: ", std::string(last.message())));
  }
  return absl::UnavailableError(
      absl::StrCat(what, ": every source of shard ", rank,
                   " failed; the last one: ", std::string(last.message())));
}

// What a source's failure is to its reader. What is not damage may be mended elsewhere.
absl::Status FailureOf(const absl::Status& said) {
  const std::string reason = ReadableText(std::string(said.message()), kReasonBytesMax);
  const std::string text = reason.empty() ? "no reason given" : reason;
  if (absl::IsDataLoss(said)) return absl::DataLossError(text);
  return AsOutage(absl::UnavailableError(text), IsOutage(said));
}

}  // namespace

// Another source, or the end of the fetch for the whole group. While recovering, holders may still
// report.
void ReadGraph::AssignOrAbort() {
  Worker& reader = *orphans_.begin()->reader;
  orphans_.erase(orphans_.begin());
  if (!Reads(reader)) return;
  if (IsFed(reader)) return SettleStreams(reader);
  if (!turn_.recovering() && MustGoFar(reader)) ReadmitOnce(reader, Tier::kDatacenter);
  if (AssignSeveral(reader)) return;
  const bool awaits_plan = LearnParts(reader);
  const bool assigned =
      AssignNearest(reader) ||
      (!turn_.recovering() && ReadmitOnce(reader, Tier::kRemote) && AssignNearest(reader));
  if (assigned) return KeepOneSeed(reader);
  reader.reference->shard->waiting.insert(&reader);
  Publication& publication = PublicationOf(reader);
  const bool other = !publication.converted.empty() && reader.knows_resharding;
  if (other) publication.awaiting.insert(&reader);
  if (!turn_.recovering() && !awaits_plan && !HopesForAnswer(reader)) GiveUpRead(reader);
}

// R5: its own shard within the datacenter, then parts of others there; and so across the wide area.
bool ReadGraph::AssignNearest(Worker& reader) {
  if (reader.reference->sharding->parts.empty()) return AssignSource(reader);
  const std::optional<Candidate> best = Choose(reader);
  if (best && best->tier != Tier::kRemote) return AssignSource(reader);
  return AssignParts(reader, Tier::kDatacenter) || AssignSource(reader) ||
         AssignParts(reader, Tier::kRemote);
}

// R8: an outage, which the group waits out, is the silence of who holds the shard still, or was
// given up for that silence. The latter says it of all holders, also of those that the reader had
// no complaint about.
void ReadGraph::GiveUpRead(Worker& reader) {
  const absl::Status& last = reader.read->last_failure;
  const auto [rank, shard] = ShardLacked(reader);
  const bool silent = shard->complete > 0 ? last.ok() || IsOutage(last)
                                          : shard->may_return && !absl::IsDataLoss(last);
  stranded_.push_back({&reader, AsOutage(NoSourceOf(reader, rank), silent)});
}

// R5: across the wide area, or nowhere, unless one that it excluded is tried once more.
bool ReadGraph::MustGoFar(Worker& reader) {
  if (reader.read->excluded.empty()) return false;
  const std::optional<Candidate> best = Choose(reader);
  return !best || best->tier == Tier::kRemote;
}

// Pardons sources that are no farther. True if there is one to be tried once more.
bool ReadGraph::ReadmitOnce(Worker& reader, Tier farthest) {
  bool any = false;
  for (auto& [id, exclusion] : reader.read->excluded) {
    if (exclusion.state != Exclusion::State::kConfirmed) continue;
    const Worker* source = roster_.FindLive(id);
    if (source == nullptr || TierBetween(source->location, reader.location) > farthest) continue;
    exclusion.state = Exclusion::State::kReadmitted;
    any = true;
  }
  return any;
}

bool ReadGraph::HopesForAnswer(const Worker& reader) {
  const auto& excluded = reader.read->excluded;
  return std::any_of(excluded.begin(), excluded.end(), [&](const auto& entry) {
    if (entry.second.state != Exclusion::State::kExcluded) return false;
    const Worker* source = roster_.FindLive(entry.first);
    return source != nullptr && source->question &&
           source->question->requesters.contains(reader.serial);
  });
}

void ReadGraph::On(const SourceFailed& event) {
  Worker* reader = roster_.FindSession(event.session);
  const Assignment* known =
      reader == nullptr ? nullptr : KnownAssignment(*reader, event.transaction, event.assignment);
  const bool its = reader != nullptr && IsIn(*reader, event.transaction);
  if (its) reader->read->last_failure = FailureOf(event.reason);
  if (known == nullptr) {
    if (its) LeaveReported(*reader, event.assignment);
    return turn_.Say(LogLine::Level::kDebug, "a complaint about an assignment that is over");
  }
  Worker& source = *known->source;
  Read& read = *reader->read;
  turn_.Say(LogLine::Level::kWarning,
            absl::StrCat(ToString(reader->id.key), ": source ", ToString(source.id.key),
                         " failed: ", std::string(read.last_failure.message())));
  // R9: it refuses what the reader shows, and so is there. What the next Assign brings may be
  // another.
  const bool refused = absl::IsUnauthenticated(event.reason);
  Exclude(*reader, source.id, refused);
  if (!refused) RecordFailureReport(source, reader->id);
  if (!refused) Suspect(source, *reader, /*verify=*/absl::IsDataLoss(event.reason));
  const bool stranded = read.FedBy(event.assignment) != nullptr && read.running;
  Release(*reader, event.assignment);
  if (!stranded) return;
  if (read.excluded.size() >= options_.limits.excluded_sources && !HasSource(read)) {
    stranded_.push_back({reader, absl::UnavailableError("too many sources failed"), true});
    return;
  }
  QueueForAssignment(*reader);
}

std::optional<ReadGraph::Stranded> ReadGraph::TakeStranded() {
  if (stranded_.empty()) return std::nullopt;
  Stranded first = std::move(stranded_.front());
  stranded_.pop_front();
  return first;
}

// Once it may be tried again (ReadmitOnce; at once, if it only refused); the second time is the
// last. A refusal and a failure are two things: one does not use up the other's second chance.
// Neither is a connection that is cut again and again the same failure, as long as the read gets
// further in between: the chunks that are left bound how often.
void ReadGraph::Exclude(Worker& reader, const WorkerIdentity& source, bool refused) const {
  Read& read = *reader.read;
  const bool is_new = !read.excluded.contains(source);
  if (is_new && read.excluded.size() >= options_.limits.excluded_sources) return;
  Exclusion& exclusion = read.excluded[source];
  const uint32_t chunks = reader.reference->valid_chunks;
  const bool got_further = chunks > std::exchange(exclusion.chunks, chunks);
  if (!is_new && got_further && !absl::IsDataLoss(read.last_failure)) exclusion.failed = false;
  const bool again = std::exchange(refused ? exclusion.refused : exclusion.failed, true);
  const Exclusion::State at_first =
      refused ? Exclusion::State::kReadmitted : Exclusion::State::kExcluded;
  exclusion.state = again ? Exclusion::State::kFinal : at_first;
}

// R8: half a complaint. The reader moves on, as after a whole one, only if there is somebody as
// good who is not doubted; the source's next word ends the doubt.
void ReadGraph::On(const SourceSilent& event) {
  Worker* reader = roster_.FindSession(event.session);
  const Assignment* known =
      reader == nullptr ? nullptr : KnownAssignment(*reader, event.transaction, event.assignment);
  if (known == nullptr || !IsPresent({reader, event.assignment})) return;
  Worker& source = *known->source;
  turn_.Say(LogLine::Level::kInfo, absl::StrCat(ToString(reader->id.key), " hears nothing from ",
                                                ToString(source.id.key)));
  Suspect(source, *reader);
  if (reader->read->ranges) return LeaveSilent(*reader, source, event.assignment);
  const std::optional<Candidate> best = Choose(*reader);
  if (!best || !IsGood(*best) || best->serial == source.serial) return;
  // Without the bar a reader that can reach nobody would be moved to and fro and never complain.
  Exclude(*reader, source.id);
  MoveTo(*reader, *roster_.FindRow(best->serial));
}

// One that failed several readers comes last in its tier, until nobody has complained for a while.
void ReadGraph::RecordFailureReport(Worker& source, const WorkerIdentity& reader) {
  if (source.complainers.size() < kUnreliableFrom) source.complainers.insert(reader);
  Remember(source);
  MarkIndexStale(source);
}

void ReadGraph::Remember(Worker& source) {
  turn_.ClearTimer(Timer{source.forget_at, Timer::Kind::kForget, source.serial, 0});
  source.forget_at = turn_.now() + kForgetMs;
  turn_.SetTimer(Timer{source.forget_at, Timer::Kind::kForget, source.serial, 0});
}

void ReadGraph::Forget(Worker& source) {
  turn_.ClearTimer(Timer{source.forget_at, Timer::Kind::kForget, source.serial, 0});
  source.forget_at = 0;
  source.complainers.clear();
  source.slow = false;
  MarkIndexStale(source);
}

// Until its next word.
void ReadGraph::Suspect(Worker& source, const Worker& asker, bool verify) {
  Ask(source, asker, verify);
  SetAbsent(source, true);
}

// One whose session has ended cannot answer; when it comes back, it reports what it holds.
void ReadGraph::Ask(Worker& source, const Worker& asker, bool verify) {
  if (source.session == 0) return;
  turn_.Send(source, Probe{source.reference->generation, verify});
  const bool longer = verify && source.question && !source.question->verify;
  if (longer) {
    turn_.ClearTimer(Timer{source.question->until, Timer::Kind::kQuestion, source.serial, 0});
  }
  if (!source.question || longer) {
    if (!source.question) source.question.emplace();
    source.question->until = turn_.now() + options_.lease_ms + (verify ? TimeToVerify(source) : 0);
    source.question->verify = verify;
    turn_.SetTimer(Timer{source.question->until, Timer::Kind::kQuestion, source.serial, 0});
  }
  source.question->requesters.insert(asker.serial);
}

// What it was asked by an earlier session it may not have heard.
void ReadGraph::AskOnceMore(const Worker& source) {
  if (!source.question || !source.reference) return;
  turn_.Send(source, Probe{source.reference->generation, source.question->verify});
}

// At 1 GiB/s: a tenth of what a core does, since it may have other work.
TimeMs ReadGraph::TimeToVerify(const Worker& source) const {
  const uint64_t bytes = source.reference->sharding->chunk_bytes * source.reference->valid_chunks;
  return static_cast<TimeMs>(bytes >> 20);
}

// R5: it may have gone across the wide area because of a source that has vouched for itself.
void ReadGraph::ReturnInside(Worker& reader) {
  if (turn_.recovering() || !IsFedFromAfar(reader) || !ReadmitOnce(reader, Tier::kDatacenter))
    return;
  for (const auto& [id, exclusion] : reader.read->excluded) {
    const bool pardoned = exclusion.state == Exclusion::State::kReadmitted && exclusion.failed;
    const Worker* source = pardoned ? roster_.FindLive(id) : nullptr;
    if (source != nullptr && source->reference) return DrawNearer(reader, *source);
  }
}

void ReadGraph::ConfirmHolder(Worker& source, bool verified) {
  if (!source.question || (source.question->verify && !verified)) return;
  for (const Serial asker : source.question->requesters) {
    Worker* reader = roster_.FindRow(asker);
    if (reader == nullptr || !reader->read) continue;
    const auto exclusion = reader->read->excluded.find(source.id);
    if (exclusion == reader->read->excluded.end() ||
        exclusion->second.state != Exclusion::State::kExcluded)
      continue;
    exclusion->second.state = Exclusion::State::kConfirmed;
    ReturnInside(*reader);
  }
  EndQuestion(source);
}

// Readers that waited for the answer have it now, or will not get it.
void ReadGraph::EndQuestion(Worker& source) {
  if (!source.question) return;
  const Question question = *std::exchange(source.question, std::nullopt);
  turn_.ClearTimer(Timer{question.until, Timer::Kind::kQuestion, source.serial, 0});
  for (const Serial asker : question.requesters) {
    Worker* reader = roster_.FindRow(asker);
    if (reader != nullptr && Reads(*reader) && !IsFed(*reader)) QueueForAssignment(*reader);
  }
}

}  // namespace tensorhub::hub
