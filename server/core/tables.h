// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The rows of the hub's tables: plain data. Who may change what is in state.h.
//
// Rows that cannot be there one without the other refer to each other by address: a worker's row
// stays where it is until it is forgotten, and then it neither holds nor reads anything. Nothing is
// ever sorted by address.

#ifndef TENSORHUB_SERVER_CORE_TABLES_H_
#define TENSORHUB_SERVER_CORE_TABLES_H_

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "common/content_identity.h"
#include "server/core/box_comparison.h"
#include "server/core/durable.h"
#include "server/core/effects.h"
#include "server/core/events.h"
#include "server/core/holder_index.h"
#include "server/core/source_forest.h"
#include "server/core/terms.h"
#include "server/core/totals.h"
#include "server/core/views.h"

namespace tensorhub::hub {

// One reader at a source: who, and which of the assignments that it was given.
struct ReaderSlot {
  Worker* reader = nullptr;
  AssignmentNumber assignment = 0;
  bool operator<(const ReaderSlot& other) const;  // by serial
};

// A reader that may be at a source which is not listed (yet, or any more).
struct AwaitedReader {
  Serial reader = 0;
  AssignmentNumber assignment = 0;
  Generation generation = 0;  // of the source
};

struct Shard;
struct Sharding;
struct Publication;

// The one holding of a worker. Filling with all chunks: finished, its group not yet committed.
struct Reference {
  PublicationId publication;
  Publication* row = nullptr;  // of that, which is there as long as it has references
  VersionNumber version = 0;
  Generation generation = 0;
  uint32_t valid_chunks = 0;
  ReferenceState state = ReferenceState::kPublishing;
  std::set<ReaderSlot> readers;  // counted from assignment until released
  uint32_t absent_readers = 0;   // of them, those that take no place (Worker::absent)
  TimeMs drain_end = 0;          // of kDraining
  Sharding* sharding = nullptr;  // by which its holder's group cut the publication
  Shard* shard = nullptr;        // of that; which is there as long as it has holders
  GroupEpoch epoch;              // of kPublishing: to which it belongs (R2)
  ContentDigest digest;          // of its shard, as its holder says; none: not said
  bool hashing = false;          // that is still to come
};

struct Assignment {
  Worker* source = nullptr;  // where the reader is counted
  Generation generation = 0;
  Tier tier = Tier::kRemote;
  std::string uplink;    // kRemote: the source's datacenter, at which the read is counted
  std::string way = {};  // as the reader says, for people
};

// R8: a source that failed this reader is excluded for it, until it has been pardoned (once).
struct Exclusion {
  enum class State {
    kExcluded,    // its own word is not known
    kConfirmed,   // it says that it holds what the reader wants; may be pardoned
    kReadmitted,  // tried once more
    kFinal        // and it failed again
  };
  State state = State::kExcluded;
  bool failed = false;   // the reader, before, with as much of the version
  uint32_t chunks = 0;   // the reader's, when it failed last
  bool refused = false;  // what the reader showed, before (R9)
};

// How fast a read goes, by windows of about kWindowMs. Rates: thousandths of a chunk per second.
struct Pace {
  TimeMs told_at = 0;    // when the reader reported last
  TimeMs since = 0;      // of the window in progress
  uint32_t chunks = 0;   // the reader's, when it began
  uint32_t offered = 0;  // the source's, when it began
  TimeMs moved_at = 0;   // when the read got further last, or had nothing to get
  uint64_t rate = 0;     // of the last whole window
  TimeMs rate_at = 0;
  uint64_t best = 0;
  uint32_t starved = 0;  // windows in a row
};

// The fastest read of a shard and tier in the last moments.
struct Fastest {
  Serial reader = 0;
  uint64_t rate = 0;
  TimeMs at = 0;
};

// What feeds a read, by one source at a time.
struct Stream {
  // The shard of another sharding of which it brings a part. Null: it brings the reader's own.
  Shard* from = nullptr;
  AssignmentNumber current = 0;  // the assignment by which it is fed; 0: no source
  AssignmentNumber last = 0;     // the newest that it had
  bool ended = false;  // the reader was told that it gets no other one for now (EndStream)
  // R8: the assignment by which it was at a source when it reported to this life of the hub, and
  // may be still; 0: none.
  AssignmentNumber reported = 0;
  Pace pace;
  // Sources left because they were slow; they come last for this reader.
  std::set<WorkerIdentity> left;
  std::optional<WorkerIdentity> suspect;  // of them, the one that is not judged yet
  uint64_t rate_at_suspect = 0;
  uint32_t slow_moves = 0;  // at most kSlowMovesMax
};

// What a worker reads, from BeginRead until its FinishRead (also when its transaction was aborted:
// until then, operations may be outstanding at the sources).
struct Read {
  TransactionId transaction;
  PublicationId publication;
  VersionNumber version = 0;
  bool running = true;        // false: done or aborted, no source is wanted
  bool restored = false;      // R8: begun in an earlier life of the hub
  bool apart = false;         // its reader was out of service, and so no seed for others
  bool digests_come = true;   // R1: its source has a list of them, or gets one
  AssignmentNumber last = 0;  // of all streams
  // How the shard is divided (Assign). Fed by one source (whole) unless `ranges`.
  uint32_t plan = 0;
  bool ranges = false;
  std::vector<Stream> streams = std::vector<Stream>(1);  // by part; never empty
  const Sharding* origin = nullptr;  // whose shards the streams bring parts of; null: its own
  std::map<AssignmentNumber, Assignment> assignments;  // of all streams, until released
  std::map<WorkerIdentity, Exclusion> excluded;        // sources that failed this reader, bounded
  absl::Status last_failure;
  // R3: not released, at sources that are not listed: that it reported, or that were lost.
  std::map<AssignmentNumber, WorkerIdentity> awaits;
  TimeMs began = 0;
  // Through how many it reads, as when it was led to its source, or the chain that it ends was cut.
  uint32_t depth = 0;

  // Which feeds the whole shard, if the read is not divided.
  Stream& whole() { return streams.front(); }
  const Stream& whole() const { return streams.front(); }
  // The stream that this assignment feeds; null if there is none, or none any more.
  const Stream* FedBy(AssignmentNumber number) const {
    const auto it = std::find_if(streams.begin(), streams.end(),
                                 [&](const Stream& stream) { return stream.current == number; });
    return number == 0 || it == streams.end() ? nullptr : &*it;
  }
  Stream* FedBy(AssignmentNumber number) {
    return const_cast<Stream*>(std::as_const(*this).FedBy(number));
  }
};

enum class OpKind { kPublish, kUnpublish, kJoinFetch, kBeginRead, kFinishRead, kLeave };

// A worker's newest operation and, once there is one, its reply, repeated to a retry.
struct OpRecord {
  // kOpen: a call with this number is carried out (again).
  enum class State { kOpen, kPending, kDone };
  OpId id = 0;
  State state = State::kOpen;
  OpKind kind = OpKind::kPublish;
  CallId call = 0;  // 0: nobody waits for the reply any more
  TimeMs deadline = 0;
  Reply reply = {};
  std::optional<PublishOp> deferred = {};   // waits for the end of the recovery
  GroupEpoch epoch = {};                    // of `deferred`: to which it belongs (R2)
  bool leaving = false;                     // of kUnpublish
  std::optional<ReadStart> then_read = {};  // likewise
};

// R7: of one that waits for somebody else to keep what it holds.
struct Succession {
  std::string copier;             // the group that was asked for a copy
  std::set<std::string> refused;  // groups that make none
  std::string no_copy;            // why the last of them makes none
};

// A question to a holder whether its reference still stands.
struct Question {
  TimeMs until = 0;
  std::set<Serial> requesters;  // readers that complained
  bool verify = false;          // only an answer that the bytes were hashed again will do
};

// Readers that a reference still had when its drain time was over.
struct LastDrain {
  Generation generation = 0;
  uint32_t readers = 0;
};

struct Worker {
  WorkerIdentity id;
  Serial serial = 0;
  uint32_t world_size = 0;
  Location location;  // of a life: what it says later is not believed
  Place place;
  bool stable = true;
  bool offers_copies = false;
  bool may_publish = true;        // R9: whose session it was last, may
  bool knows_streams = false;     // it may be one end of a read that has several sources
  bool knows_resharding = false;  // and the reading end where those hold another sharding
  bool knows_boxes = false;       // it says what boxes of its shard give
  std::string copy_of;
  std::string endpoint;
  CapabilityKey read_key;     // R9: what its readers are signed by; none: it has told none
  std::string medium;         // what its memory is, for people; empty: it has not said
  bool alive = false;         // within its lease
  SessionId session = 0;      // 0: closed
  SessionNumber number = 0;   // the highest seen
  Generation generation = 0;  // the highest seen
  TimeMs heard = 0;           // the last word
  bool fell_silent = false;   // its session ended more than a heartbeat after that
  TimeMs lease_end = 0;
  TimeMs lease_timer = 0;
  TimeMs died = 0;
  // The group's epoch when this process came first, perhaps in an earlier life of the hub; of two
  // processes of a rank the one with the later epoch is the newer. None: not known.
  GroupEpoch joined_epoch;
  GroupEpoch epoch_known;  // the latest epoch of its group that it is known to be in (R2)
  GroupEpoch epoch_sent;   // the last that was sent to it
  bool epoch_sent_this_heartbeat = false;  // since its last heartbeat
  std::deque<Incarnation> fenced;          // earlier incarnations; the newest kFencedMax
  OpRecord op;
  Succession succession;
  bool withdrawn = false;  // an operator has taken this process out of service
  std::optional<Reference> reference;
  LastDrain left_behind;  // of the last one
  std::optional<Read> read;
  FetchRecord record;  // for people
  IndexEntry listed;   // what the shard's index says of the reference
  bool stale = false;  // that may have changed
  // Attached to the source of the running read. Asking reshapes it, so: mutable.
  mutable SourceNode node;
  bool slow = false;  // feeds its readers slowly, as was found lately
  // Perhaps dead: a reader complained, or heard nothing, and it has said nothing since. Its lease
  // runs on, but it takes no place at its source, and comes last in its tier as one. That its
  // session has ended alone does not count: streams break while bytes flow.
  bool absent = false;
  // How long its progress thread stands still, by its own word: absent, with its lease renewed.
  TimeMs stalled_ms = 0;
  std::optional<Question> question;
  std::set<WorkerIdentity> complainers;  // lately; at most kUnreliableFrom are counted
  TimeMs forget_at = 0;                  // when complaints are forgotten; 0: there are none
};

inline bool BySerial::operator()(const Worker* a, const Worker* b) const {
  return a->serial < b->serial;
}
inline bool ReaderSlot::operator<(const ReaderSlot& other) const {
  if (reader != other.reader) return reader->serial < other.reader->serial;
  return assignment < other.assignment;
}

// Readers that take a place.
inline uint32_t Occupied(const Reference& reference) {
  return static_cast<uint32_t>(reference.readers.size()) - reference.absent_readers;
}
// In this fetch, be it that it was aborted and may have something outstanding.
inline bool IsIn(const Worker& worker, const TransactionId& transaction) {
  return worker.read && worker.read->transaction == transaction;
}
// The report names this assignment: something may be outstanding where it leads.
inline bool Names(const OpenFetch& report, AssignmentNumber number) {
  if (number == 0) return false;
  if (report.streams.empty()) return report.assignment == number;
  return std::any_of(report.streams.begin(), report.streams.end(),
                     [&](const OpenStream& stream) { return stream.assignment == number; });
}
inline bool HoldsWhole(const Worker& worker) {
  return worker.alive && worker.reference && worker.reference->state == ReferenceState::kComplete;
}
// The worker unpublishes since its program ends.
inline bool IsLeaving(const Worker& worker) {
  return worker.op.kind == OpKind::kUnpublish && worker.op.leaving &&
         worker.op.state != OpRecord::State::kOpen;
}
inline bool IsPending(const Worker& worker, OpKind kind) {
  return worker.op.state == OpRecord::State::kPending && worker.op.kind == kind;
}
// The worker's memory does not stay: it leaves, or an operator has taken it out of service.
inline bool IsGoing(const Worker& worker) { return worker.withdrawn || IsLeaving(worker); }
// R7: the memory of a copy ends with the process in which it was made.
inline bool GoesWith(const Worker& copy, const Worker& owner) {
  return copy.copy_of == owner.id.key.group && copy.id.key.rank == owner.id.key.rank;
}
// R7: a copy in its own process is no copy. An unpublish says so itself.
inline bool TakesMemory(const Worker& worker) {
  return IsPending(worker, OpKind::kUnpublish) ? worker.op.leaving : worker.withdrawn;
}
inline bool Reads(const Worker& worker) { return worker.read && worker.read->running; }
// The first of several sources. Null: nobody feeds it now. (sources.cc)
const Assignment* FirstFeed(const Read& read);
inline bool HasSource(const Read& read) {
  return std::any_of(read.streams.begin(), read.streams.end(),
                     [](const Stream& stream) { return stream.current != 0; });
}
// As one of several sources, which hold the shard whole.
inline bool MayFeedRanges(const Worker& source) {
  return source.knows_streams && source.reference &&
         source.reference->state == ReferenceState::kComplete;
}
bool MayFeedParts(const Worker& source, const Worker& reader);  // a reader of another sharding
inline bool IsFed(const Worker& worker) { return Reads(worker) && HasSource(*worker.read); }
// R9: a report may name anybody. A reader reads its own shard, or parts of any of another sharding.
inline bool IsOfItsShard(const Worker& source, const Worker& reader) {
  const PublicationId& publication = reader.read->publication;
  if (source.id.key.model != reader.id.key.model) return false;
  if (source.reference->publication != publication) return false;
  const std::optional<Reference>& own = reader.reference;
  const bool listed = own && own->publication == publication;
  if (listed && own->shard == source.reference->shard) return true;
  // How one that is not listed (yet, or any more) cuts it is not known.
  if (!listed && reader.knows_resharding) return true;
  if (listed && reader.knows_resharding && own->sharding != source.reference->sharding) return true;
  return source.id.key.rank == reader.id.key.rank;
}
// Fed by one source. So it has its place in the forest, and its pace says something of that source.
inline bool IsFedWhole(const Worker& worker) { return IsFed(worker) && !worker.read->ranges; }
// The assignment by which one that is fed whole is fed.
inline const Assignment& Present(const Worker& reader) {
  return reader.read->assignments.at(reader.read->whole().current);
}
inline Worker& SourceOf(const Worker& reader) { return *Present(reader).source; }
// Across the wide area.
inline bool IsFedFromAfar(const Worker& worker) {
  return IsFedWhole(worker) && Present(worker).tier == Tier::kRemote;
}
// The reader is fed by this, and not only counted there until it has released it.
inline bool IsPresent(const ReaderSlot& slot) {
  return Reads(*slot.reader) && slot.reader->read->FedBy(slot.assignment) != nullptr;
}

struct Shard {
  Fingerprint layout;
  Fingerprint attachment;
  ContentDigest digest;  // R1; none: not known (yet)
  uint64_t bytes = 0;
  std::optional<uint32_t> chunks;  // unknown after a restart until somebody says it
  absl::btree_map<Serial, Worker*> holders;
  uint32_t complete = 0;  // of the holders
  // R8: who held it last fell silent, or has not reported yet, and may come back with it.
  bool may_return = false;
  HolderIndex index;
  std::set<Worker*, BySerial> waiting;   // running reads without a source
  std::set<Worker*, BySerial> draining;  // of the holders
  // Holders out of service. Each serves as long as none in service holds the shard whole.
  std::set<Worker*, BySerial> withdrawn;
  std::map<Tier, Fastest> fastest;
  std::deque<Serial> cut;  // above whom chains were cut, lately
};

// R3: one out of service makes room for those that can do what it does.
inline bool StepsAside(const Worker& holder) {
  if (!holder.withdrawn) return false;
  const Shard& shard = *holder.reference->shard;
  const auto own = std::count_if(shard.withdrawn.begin(), shard.withdrawn.end(),
                                 [](const Worker* each) { return HoldsWhole(*each); });
  return shard.complete > static_cast<uint32_t>(own);
}

// How a group of workers has cut what it holds, and who holds the pieces.
struct Sharding {
  ShardingId id;      // none: as it was published
  bool full = false;  // R7: its shards together are all of the version
  uint32_t world_size = 0;
  uint64_t chunk_bytes = 0;
  std::map<Rank, Shard> shards;
  uint32_t whole_shards = 0;                       // with a complete holder
  std::map<std::string, uint32_t> complete_ranks;  // by group

  // Parts by the sharding whose shards are read where nobody has its own. Not there: not known, in
  // this life of the hub.
  std::map<ShardingId, PartsByRank> parts;

  bool whole() const { return world_size > 0 && whole_shards == world_size; }
  static Sharding Published() {
    Sharding sharding;
    sharding.full = true;
    return sharding;
  }
  ShardingRef ref() const { return id ? ShardingRef{id, full} : ShardingRef{}; }
};

// R1: one layout per shard and one content behind one id.
struct Publication {
  PublicationId id;
  std::string model;
  VersionNumber version = 0;
  Term term;                 // in which it was published; that it begins, if a later one (R2)
  bool visible = false;      // ever
  BoxComparison boxes;       // until it is visible
  bool superseded = false;   // by a later term: reads of it end, and no new one begins
  ContentDigest identity;    // R1; none: a shard's digest is not known (yet)
  PublishersRow publishers;  // who made it whole; none: not known
  Sharding published = Sharding::Published();  // as its publishers cut it
  std::map<ShardingId, Sharding> converted;    // as readers cut it
  // Running reads that lack a source, and may get one that holds another shard.
  std::set<Worker*, BySerial> awaiting;
  uint32_t references = 0;

  // R5, R7: the one that has everything, which others may be read from: the published one as long
  // as it is whole. If none is, the published one too.
  const Sharding& origin() const {
    if (published.whole()) return published;
    for (const auto& [key, sharding] : converted) {
      if (sharding.full && sharding.whole()) return sharding;
    }
    return published;
  }
  bool listed() const { return visible && origin().whole(); }
};

// Calls `visit(Sharding&)`, of a const publication with a const one.
template <typename Publication, typename Visit>
void ForEachSharding(Publication& publication, Visit visit) {
  visit(publication.published);
  for (auto& [id, sharding] : publication.converted) visit(sharding);
}

// Requires: the worker holds something.
inline Publication& PublicationOf(const Worker& holder) { return *holder.reference->row; }

// The one of a publication by that id; null if there is none (any more).
inline const Sharding* FindSharding(const Publication& publication, const ShardingId& id) {
  if (!id) return &publication.published;
  const auto converted = publication.converted.find(id);
  return converted == publication.converted.end() ? nullptr : &converted->second;
}
inline Sharding* FindSharding(Publication& publication, const ShardingId& id) {
  return const_cast<Sharding*>(FindSharding(std::as_const(publication), id));
}

// All holders of what is not whole are of one group.
inline const Worker* AnyHolder(const Publication& publication) {
  for (const auto& [rank, shard] : publication.published.shards) {
    if (!shard.holders.empty()) return shard.holders.begin()->second;
  }
  return nullptr;
}
inline bool IsAnothers(const Publication& publication, const std::string& group) {
  const Worker* holder = AnyHolder(publication);
  return holder != nullptr && holder->id.key.group != group;
}

// R4: a generation has one content.
inline bool MadeItWhole(const Worker& worker, Generation generation,
                        const PublishersRow& publishers) {
  const auto rank = publishers.ranks.find(worker.id.key.rank);
  return rank != publishers.ranks.end() && publishers.group == worker.id.key.group &&
         rank->second == PublisherRow{worker.id.incarnation, generation};
}

struct Model {
  std::optional<VersionNumber> latest;
  Terms terms;
  std::string term_by;                  // who began the last one, for people
  std::optional<uint32_t> keep_latest;  // none: HubOptions::keep_latest
  uint64_t revision = 0;
  std::map<PublicationId, Publication> publications;  // with at least one reference
  // The one publication that stands for each number: neither superseded, nor one that would begin a
  // term once it is whole.
  std::map<VersionNumber, Publication*> held;
  // Ever, also those that nobody holds any more; but for what is superseded.
  std::map<VersionNumber, PublicationId> visible;
  ContentDigest identity;    // of `latest`
  PublishersRow publishers;  // of `latest`; none: not known
};

// The content that became visible under that number, and that no later term supersedes.
inline bool IsVisibleAs(const Model& model, VersionNumber version, const PublicationId& id) {
  const auto visible = model.visible.find(version);
  return visible != model.visible.end() && visible->second == id;
}

// A rank that waits for the others (R6).
struct Join {
  VersionSelector selector;
  Fingerprint layout;
  std::optional<TermNumber> held_in;
  bool whole = false;
};

struct Member {
  Incarnation incarnation = 0;
  OpId join = 0;  // the call that joined; 0: not known
  Fingerprint attachment;
  bool already_held = false;
  bool begun = false;
  bool finished = false;
  ContentDigest digest = {};  // of its shard, as it says when it has finished
  // False only while recovering: it has neither reported this fetch nor asked for the decision.
  bool known = false;
};

struct Transaction {
  TransactionId id;
  PublicationId publication;
  VersionNumber version = 0;
  Term term;             // of the publication
  ShardingRef sharding;  // by which the group reads it
  uint32_t world_size = 0;
  uint64_t chunk_bytes = 0;
  std::map<Rank, Member> members;  // fewer than world_size only while recovering
};

struct Outcome {
  Transaction transaction;
  absl::Status status;
  ContentDigest identity;  // of what was fetched; none: not known
  std::set<Rank> owed;     // those that may still ask for it
};

struct Group {
  GroupEpoch epoch;
  bool is_older = false;  // than this life of the hub, as one of its ranks was
  std::map<Rank, Join> forming;
  std::optional<Transaction> open;
  std::optional<Outcome> last;
};

// R8: a worker that was there when the hub's earlier life ended, until it has said everything that
// this life may have to know before it judges who is missing. Of its rank's processes it is the
// newest: a later one would be in its row.
struct Expected {
  Incarnation incarnation = 0;
  std::optional<OpId> repeats;  // by a call that it repeats; 0: none. None: it has not said
  bool withdrawn = false;       // an operator took it out of service
};

// R8: what a worker held whole when its lease ended in silence. It may come back with it.
struct Away {
  Incarnation incarnation = 0;
  PublicationId publication;  // none: it is here since it was out of service
  TimeMs until = 0;           // from then on it is not waited for any more
  bool withdrawn = false;     // an operator took it out of service
};

struct Timer {
  enum class Kind { kGrace, kLease, kOperation, kDrain, kWait, kQuestion, kForget, kPins, kAway };
  TimeMs at = 0;
  Kind kind = Kind::kGrace;
  Serial worker = 0;
  CallId wait = 0;
  auto operator<=>(const Timer&) const = default;
};

// A reader without a source, most progress first: it is the one that others may follow.
struct Orphan {
  uint32_t valid_chunks = 0;
  Worker* reader = nullptr;
  bool operator<(const Orphan& other) const {
    if (valid_chunks != other.valid_chunks) return valid_chunks > other.valid_chunks;
    return reader->serial < other.reader->serial;
  }
};

// Two moves of a reader for its own slowness (to another source; to the end of the line), and two
// because others were slow. With more, a pace that nobody can reach would keep readers moving.
inline constexpr uint32_t kSlowMovesMax = 4;
inline constexpr size_t kFencedMax = 8;
// One complaint may be the reader's own fault; two readers are not likely to be wrong.
inline constexpr size_t kUnreliableFrom = 2;
// Shardings that one publication is held in at a time, beside the published one.
inline constexpr size_t kConvertedMax = 32;
// How long a complaint counts after the last one: several transfers of usual length.
inline constexpr TimeMs kForgetMs = 30'000;
inline constexpr TimeMs kTimeoutMsMax = TimeMs{30} * 24 * 3600 * 1000;
inline constexpr TimeMs kPinMsMax = TimeMs{3650} * 24 * 3600 * 1000;

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_TABLES_H_
