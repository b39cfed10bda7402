// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R5, R8: slow members are bypassed. The hub sees how fast each read goes. A read is *starved*
// while its source has clearly more than it has and it gets much less than it could: less than half
// of what its source gets, or of the fastest read of the shard over the same kind of link; or less
// than a third of its own best. A share of a source's link counts as the whole link.
//
// Whose fault it is, one source cannot tell. So a starved reader is moved to its source's own
// source. If it does better there, the source that it left feeds slowly: it comes last from now on,
// and follows the reader. If it does not, or there is nowhere to go, it is slow itself: its readers
// move to its source, and it goes to the end of the line.
//
// Readers report ten times a second, or less often where they are very many; a window has several
// reports, so that it does not matter when the last one came.

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/read_graph.h"

namespace tensorhub::hub {
namespace {

constexpr TimeMs kReportMs = 100;
constexpr TimeMs kWindowMs = 500;
constexpr TimeMs kReportsPerWindow = 3;
// The first window after a move has a connection's set-up in it.
constexpr uint32_t kStarvedWindows = 2;
// Less may be reports that crossed each other.
constexpr uint32_t kLeadChunks = 4;
// Below it, a window has too few chunks to compare: four per window.
constexpr uint64_t kComparableRate = 8000;
constexpr TimeMs kFreshWindows = 4;

uint32_t Offers(const Worker& source) {
  const Reference& reference = *source.reference;
  const bool whole = reference.state == ReferenceState::kComplete;
  return whole ? reference.shard->chunks.value_or(reference.valid_chunks) : reference.valid_chunks;
}

}  // namespace

// Readers that are assigned from now on are told.
TimeMs ReadGraph::ReportMs() const {
  return std::max(kReportMs, static_cast<TimeMs>(roster_.alive() * 1000 /
                                                 std::max(1u, options_.reports_per_second)));
}

TimeMs ReadGraph::WindowMs() const { return std::max(kWindowMs, kReportsPerWindow * ReportMs()); }

// A rate of then still says something.
bool ReadGraph::IsFresh(TimeMs then) const {
  return turn_.now() - then <= kFreshWindows * WindowMs();
}

void ReadGraph::BeginWindow(Worker& reader) {
  Pace& pace = reader.read->whole().pace;
  const bool moved = reader.reference->valid_chunks > pace.chunks;
  pace.since = turn_.now();
  pace.chunks = reader.reference->valid_chunks;
  pace.offered = Offers(SourceOf(reader));
  if (moved || pace.offered <= pace.chunks) pace.moved_at = turn_.now();
}

void ReadGraph::NoteProgress(Worker& reader, const std::string& way) {
  if (!reader.read) return;
  Read& read = *reader.read;
  Stream& stream = read.whole();
  stream.pace.told_at = turn_.now();
  const auto current = read.assignments.find(stream.current);
  if (current != read.assignments.end() && !way.empty()) current->second.way = way;
}

void ReadGraph::GotFurther(Worker& reader) {
  MarkIndexStale(reader);
  DrawNearer(reader);
  LeaveCrowd(reader);
  Sample(reader);
}

// Called with whatever the reader says.
void ReadGraph::Sample(Worker& reader) {
  if (!IsFedWhole(reader) || turn_.now() - reader.read->whole().pace.since < WindowMs()) return;
  Pace& pace = reader.read->whole().pace;
  const bool setting_up = pace.rate_at == 0;
  const uint64_t rate = CloseWindow(reader);
  pace.starved = IsStarved(reader, rate) ? pace.starved + 1 : 0;
  const bool stalled = IsStalled(reader);
  BeginWindow(reader);
  if (pace.starved >= kStarvedWindows || stalled) return LeaveSlowSource(reader);
  if (reader.read->whole().suspect && !setting_up) EvaluateProbation(reader, rate);
}

uint64_t ReadGraph::CloseWindow(Worker& reader) {
  Pace& pace = reader.read->whole().pace;
  const uint32_t valid = reader.reference->valid_chunks;
  const uint64_t got = valid > pace.chunks ? valid - pace.chunks : 0;
  pace.rate = got * 1'000'000 / static_cast<uint64_t>(turn_.now() - pace.since);
  pace.rate_at = turn_.now();
  pace.best = std::max(pace.best, pace.rate);
  Fastest& fastest = reader.reference->shard->fastest[Present(reader).tier];
  const bool stale = fastest.reader == reader.serial || !IsFresh(fastest.at);
  if (stale || pace.rate >= fastest.rate) fastest = {reader.serial, pace.rate, turn_.now()};
  return pace.rate;
}

bool ReadGraph::IsStarved(const Worker& reader, uint64_t rate) const {
  const Pace& pace = reader.read->whole().pace;
  const Worker& source = SourceOf(reader);
  const uint32_t valid = reader.reference->valid_chunks;
  const bool all_the_time =
      pace.offered >= pace.chunks + kLeadChunks && Offers(source) >= valid + kLeadChunks;
  if (!all_the_time) return false;
  const uint64_t link = rate * Occupied(*source.reference);
  if (pace.best >= kComparableRate && link * 3 < pace.best) return true;
  const Tier tier = Present(reader).tier;
  uint64_t others = 0;
  // A source that is fed over a nearer link than it feeds says nothing about that link.
  if (IsFedWhole(source) && Present(source).tier >= tier &&
      IsFresh(source.read->whole().pace.rate_at)) {
    others = source.read->whole().pace.rate;
  }
  const auto fastest = reader.reference->shard->fastest.find(tier);
  if (fastest != reader.reference->shard->fastest.end() &&
      fastest->second.reader != reader.serial && IsFresh(fastest->second.at)) {
    others = std::max(others, fastest->second.rate);
  }
  return others >= kComparableRate && link * 2 < others;
}

// Nothing at all, for longer than an agent waits for a silent source and for a chunk over any link
// that is worth it: the reader is stuck, or the source says that it has what it does not give.
bool ReadGraph::IsStalled(const Worker& reader) const {
  const Pace& pace = reader.read->whole().pace;
  if (reader.reference->valid_chunks > pace.chunks || pace.offered <= pace.chunks) return false;
  return turn_.now() - pace.moved_at >= 2 * options_.lease_ms;
}

void ReadGraph::LeaveSlowSource(Worker& reader) {
  Stream& stream = reader.read->whole();
  stream.pace.starved = 0;
  stream.pace.moved_at = turn_.now();
  if (stream.slow_moves >= kSlowMovesMax || reader.slow) return;
  Worker& source = SourceOf(reader);
  const bool again = !stream.left.empty();
  stream.left.insert(source.id);
  Worker* other = again ? nullptr : OtherSource(reader);
  if (other == nullptr) {
    stream.suspect.reset();
    CallSlow(reader, "it is fed slowly, whoever feeds it");
    return Bypass(reader);
  }
  stream.suspect = source.id;
  stream.rate_at_suspect = stream.pace.rate;
  ++stream.slow_moves;
  const bool inside = Present(reader).tier != Tier::kRemote;
  MoveTo(reader, *other);
  // One seed: the two change places.
  if (!inside || Present(reader).tier != Tier::kRemote) return;
  ++source.read->whole().slow_moves;
  MoveTo(source, reader);
}

// The source's own source, or else anybody as good; across the wide area only to change places with
// the seed.
Worker* ReadGraph::OtherSource(const Worker& reader) {
  const Worker& source = SourceOf(reader);
  const bool inside = Present(reader).tier != Tier::kRemote;
  if (IsFedWhole(source)) {
    Worker& above = SourceOf(source);
    const bool across = inside && TierBetween(above.location, reader.location) == Tier::kRemote;
    // One place more than usual: one of the two leaves it when it is known who is slow.
    const bool room = Occupied(*above.reference) <= options_.readers_per_source;
    const bool swaps =
        MayServeWhole(reader, source) && source.read->whole().slow_moves < kSlowMovesMax;
    if (MayServeWhole(above, reader) && (across ? swaps : room)) return &above;
  }
  const std::optional<Candidate> best = Choose(reader);
  if (!best || best->behind || best->slow || best->serial == source.serial) return nullptr;
  if (inside && best->tier == Tier::kRemote) return nullptr;
  return roster_.FindRow(best->serial);
}

// The first window behind another source (after the one with the set-up) tells whose fault it was.
// A fair share of that source's link, or a better rate than before, speaks for the reader.
void ReadGraph::EvaluateProbation(Worker& reader, uint64_t rate) {
  const Worker& source = SourceOf(reader);
  uint64_t fellows = 0;
  for (const ReaderSlot& slot : source.reference->readers) {
    const Worker& fellow = *slot.reader;
    if (&fellow == &reader || !IsPresent(slot) || fellow.read->ranges) continue;
    if (!IsFresh(fellow.read->whole().pace.rate_at)) continue;
    fellows = std::max(fellows, fellow.read->whole().pace.rate);
  }
  const bool fair = fellows > 0 && rate * 4 >= fellows * 3;
  const bool better = rate * 2 >= reader.read->whole().rate_at_suspect * 3;
  const bool limited = Offers(source) >= reader.reference->valid_chunks + kLeadChunks;
  const WorkerIdentity left = *std::exchange(reader.read->whole().suspect, std::nullopt);
  Worker* suspect = roster_.FindLive(left);
  if (rate > 0 && (fair || (fellows == 0 && better))) {
    reader.read->whole().left.erase(left);
    if (suspect != nullptr && suspect->reference) MarkSlow(*suspect, reader);
  } else if (limited) {
    CallSlow(reader, "it is fed slowly, whoever feeds it");
    Bypass(reader);
  }
}

// Back to one reader per link: it goes to the end of the line, else it follows the reader that it
// held up.
void ReadGraph::MarkSlow(Worker& suspect, Worker& reader) {
  CallSlow(suspect, "it feeds its readers slowly");
  const bool beside = IsFedWhole(suspect) && Present(suspect).source == Present(reader).source;
  if (!beside || suspect.read->whole().slow_moves >= kSlowMovesMax ||
      !MayServeWhole(reader, suspect)) {
    return;
  }
  if (TierBetween(reader.location, suspect.location) > Present(suspect).tier) return;
  ++suspect.read->whole().slow_moves;
  if (!AssignSource(suspect)) MoveTo(suspect, reader);
}

void ReadGraph::CallSlow(Worker& worker, const char* why) {
  worker.slow = true;
  Remember(worker);
  MarkIndexStale(worker);
  turn_.Say(LogLine::Level::kWarning, absl::StrCat(ToString(worker.id.key), " is slow: ", why,
                                                   "; others come first as sources"));
}

// The slow reader's readers, the most advanced first, go on at somebody as good who feeds nobody,
// or else the first at its source and the others where they are sent, as a rule behind the first.
// The reader itself goes to the end of the line.
void ReadGraph::Bypass(Worker& reader) {
  std::set<Orphan> behind;  // in their order
  for (const ReaderSlot& slot : reader.reference->readers) {
    const Worker& follower = *slot.reader;
    // Readers of ranges, or of parts for another shard, are no chain behind it.
    if (!IsPresent(slot) || follower.read->ranges) continue;
    if (follower.read->whole().slow_moves < kSlowMovesMax) {
      behind.insert({follower.reference->valid_chunks, slot.reader});
    }
  }
  Worker& source = SourceOf(reader);
  bool first = true;
  for (const Orphan& each : behind) {
    Worker& follower = *each.reader;
    const std::optional<Candidate> best = Choose(follower);
    const bool idle = best && !best->behind && best->readers == 0 && best->tier != Tier::kRemote;
    const bool across = TierBetween(source.location, follower.location) == Tier::kRemote &&
                        Present(follower).tier != Tier::kRemote;
    const bool serves =
        MayServeWhole(source, follower) && (!across || MayServeWhole(follower, reader));
    ++follower.read->whole().slow_moves;
    if (!idle && serves && std::exchange(first, false)) {
      MoveTo(follower, source);
    } else {
      AssignSource(follower);
    }
  }
  if (reader.read->whole().slow_moves < kSlowMovesMax && AssignSource(reader))
    ++reader.read->whole().slow_moves;
}

}  // namespace tensorhub::hub
