// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/chunk_server.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tensorhub::agent {
namespace {

// Bounds what strangers can make a source remember (R9).
constexpr size_t kReadsMax = 1024;
constexpr size_t kSendsMax = 16384;
// Who is turned away is named in the log, once each and no more than so many.
constexpr size_t kTurnedAwayMax = 64;

constexpr char kNotSent[] =
    "the server of this source has not sent this reader there, for what the source holds now; "
    "connect it to the same server";
constexpr char kShowsNothing[] =
    "the source serves only whom its server sends, and this reader shows nothing; upgrade the "
    "reader, or run the server with --guard-reads=false until all readers are";

// On slow links frames are shorter than the transport's: a chunk is confirmed, and passed on, only
// behind what was sent ahead of it (docs/architecture.md, "Chunks").
constexpr TimeMs kFrameMs = 2;
constexpr uint64_t kShortestFrame = 8;  // of a whole one: an eighth
constexpr uint64_t kFramesAhead = 2;

}  // namespace

PeerMessage ChunkServer::Header(PeerKind kind, const ReadKey& key, const Read& read) const {
  PeerMessage message;
  message.kind = kind;
  message.from = options_.self.incarnation;
  message.to = key.first;
  message.read = key.second;
  message.generation = read.generation;
  message.valid = reference_.valid_chunks();
  message.confirmed = ConfirmedChunks(read);
  return message;
}

void ChunkServer::Refuse(const ReadKey& key, const absl::Status& reason, Effects& effects) const {
  PeerMessage message;
  message.kind = PeerKind::kRefuse;
  message.from = options_.self.incarnation;
  message.to = key.first;
  message.read = key.second;
  message.code = static_cast<uint16_t>(reason.code());
  message.text = std::string(reason.message()).substr(0, 512);
  effects.emplace_back(SendMessage{key.first, Encode(message)});
}

// R9, its one place at a source: before anything is told, of what is held or of the memory it is
// in. All fields that were signed are the message's own, so that what was given for another reader,
// source, generation or publication does not fit. A stranger learns nothing by the answer.
std::optional<absl::Status> ChunkServer::Trespass(const PeerMessage& open) const {
  if (!guards_) return std::nullopt;
  const ReadUse needed = open.kind == PeerKind::kOpenRanges ? ReadUse::kRanges : ReadUse::kChunks;
  const bool digests = needed == ReadUse::kChunks && open.use == ReadUse::kDigests;
  const ReadRight right = {open.from, options_.self.incarnation, open.publication, open.generation,
                           digests ? ReadUse::kDigests : needed};
  const bool shows = (open.flags & kFlagCapability) != 0;
  if (shows && Allows(open.capability, options_.read_key, right)) return std::nullopt;
  return absl::UnauthenticatedError(shows ? kNotSent : kShowsNothing);
}

void ChunkServer::TurnAway(const PeerMessage& open, const absl::Status& reason, Effects& effects) {
  Refuse({open.from, open.read}, reason, effects);
  if (turned_away_.size() >= kTurnedAwayMax || !turned_away_.insert(open.from).second) return;
  const bool last = turned_away_.size() == kTurnedAwayMax;
  effects.emplace_back(
      LogLine{LogLine::Level::kWarning,
              absl::StrCat("turned away the reader ", open.from, ": ",
                           std::string(reason.message()), last ? " (no more are named)" : "")});
}

// R4, the source's half: a read is of one generation and one publication. While the publication is
// not known yet (the hub answered a reader sooner than this publisher) the read waits.
std::optional<absl::Status> ChunkServer::Problem(const Read& read) const {
  if (read.generation != reference_.generation() || reference_.state() == Reference::State::kFree) {
    return absl::AbortedError("the source's buffers hold something else by now");
  }
  const Reference::Content& content = reference_.content();
  if (!content.publication) return std::nullopt;
  if (read.publication != content.publication) {
    return absl::AbortedError("the source holds another publication");
  }
  if (read.chunk_bytes != content.chunking.chunk_bytes ||
      read.first_chunk > content.chunking.count() || read.credit > content.chunking.count()) {
    return absl::InvalidArgumentError("the read does not fit the version's chunks");
  }
  if (read.ranges && read.ranges->end() > content.chunking.total_bytes) {
    return absl::InvalidArgumentError("the reader wants bytes beyond the shard's end");
  }
  return std::nullopt;
}

void ChunkServer::Keep(const ReadKey& key, const PeerMessage& open, TimeMs now, Effects& effects) {
  if (early_.size() >= kReadsMax && !early_.contains(key)) {
    return Refuse(key, absl::ResourceExhaustedError("the source has too many readers"), effects);
  }
  auto& early = early_[key] = {open, std::nullopt, now};
  early.open.text.clear();  // where its reader is, which is known by now
}

void ChunkServer::EndAnnouncement(Effects& effects) {
  announced_.reset();
  for (const auto& [key, early] : std::exchange(early_, {})) {
    OnOpen(early.open, early.at, effects);
    if (early.request) OnRequest(*early.request, early.at, effects);
  }
}

void ChunkServer::OnOpen(const PeerMessage& message, TimeMs now, Effects& effects) {
  if (const auto trespass = Trespass(message)) return TurnAway(message, *trespass, effects);
  const ReadKey key{message.from, message.read};
  const bool of_ranges = message.kind == PeerKind::kOpenRanges;
  // Ranges are wanted only of what is published, or whole: of nothing that is announced.
  if (message.generation == announced_ && !of_ranges) return Keep(key, message, now, effects);
  Read read;
  if (of_ranges) read.ranges.emplace();
  read.hash_parts = of_ranges && (message.flags & kFlagHashed) != 0;
  read.generation = message.generation;
  read.publication = message.publication;
  read.chunk_bytes = message.chunk_bytes;
  read.first_chunk = read.credit = read.told_confirmed = message.chunk;
  read.only_digests = guards_ && !of_ranges && message.use == ReadUse::kDigests;
  read.one_sided = (message.flags & kFlagOneSided) != 0 && offer_description_ && !read.only_digests;
  read.said_at = now;
  if (const auto problem = Problem(read)) return Refuse(key, *problem, effects);
  if (reads_.erase(key) != 0) {
    return Refuse(key, absl::InvalidArgumentError("this read was opened before"), effects);
  }
  if (reads_.size() >= kReadsMax || sends_.size() >= kSendsMax) {
    return Refuse(key, absl::ResourceExhaustedError("the source has too many readers"), effects);
  }
  read.wants_digests = (message.flags & kFlagDigests) != 0;
  read.told_digests = message.begin;
  if (read.wants_digests) TellSomeDigests(key, read, effects);
  TellDigests(key, read, effects);
  if ((message.flags & kFlagOneSided) != 0) {
    PeerMessage opened = Header(PeerKind::kOpened, key, read);
    if (read.one_sided) opened.flags = kFlagOneSided;
    if (read.one_sided && (message.flags & kFlagHaveDescription) == 0) {
      const uint64_t token = next_token_++;
      sends_[token] = {key, 0};
      effects.emplace_back(SendDescription{key.first, Encode(opened), token});
    } else {
      effects.emplace_back(SendMessage{key.first, Encode(opened)});
    }
  }
  read.told_valid = reference_.valid_chunks();
  reads_[key] = std::move(read);
}

void ChunkServer::OnRequest(const PeerMessage& message, TimeMs now, Effects& effects) {
  const ReadKey key{message.from, message.read};
  if (const auto early = early_.find(key); early != early_.end()) {
    early->second.request = message;
    early->second.request->text.clear();
    return;
  }
  const auto found = reads_.find(key);
  if (found == reads_.end() || found->second.ranges) return;  // refused or closed a moment ago
  if (found->second.only_digests) {                           // R9
    Refuse(key, absl::PermissionDeniedError("this reader may ask for digests only"), effects);
    reads_.erase(found);
    return;
  }
  Read& read = found->second;
  read.one_sided = false;  // a reader that could not map the memory asks to be served instead
  read.credit = std::max(read.credit, message.chunk);
  read.unfragmented_bytes = message.begin;
  Pump(found->first, read, now, effects);
}

// Reads are dropped before the generation is raised, so one that is open is of the present one;
// whose read was dropped has been refused.
void ChunkServer::OnAskWord(const PeerMessage& message, TimeMs now, Effects& effects) {
  const auto found = reads_.find({message.from, message.read});
  if (found == reads_.end()) return;
  Read& read = found->second;
  TH_CHECK(read.generation == reference_.generation());
  PeerMessage word = Header(PeerKind::kWord, found->first, read);
  word.begin = message.begin;
  read.asks_words = true;
  read.told_valid = word.valid;
  read.said_at = now;
  effects.emplace_back(SendMessage{message.from, Encode(word)});
}

void ChunkServer::OnClose(const PeerMessage& message) {
  reads_.erase({message.from, message.read});
  early_.erase({message.from, message.read});
}

void ChunkServer::DropPeer(Incarnation peer) {
  const auto is_its = [peer](const auto& entry) { return entry.first.first == peer; };
  std::erase_if(reads_, is_its);
  std::erase_if(early_, is_its);
}

bool ChunkServer::Serves(Incarnation peer) const {
  const auto any_of = [peer](const auto& reads) {
    const auto first = reads.lower_bound({peer, 0});
    return first != reads.end() && first->first.first == peer;
  };
  return any_of(reads_) || any_of(early_);
}

void ChunkServer::DropAll(const absl::Status& reason, Effects& effects) {
  for (const auto& [key, read] : reads_) Refuse(key, reason, effects);
  reads_.clear();
}

uint64_t ChunkServer::SendableEnd(const Read& read) const {
  const Chunking& chunking = reference_.content().chunking;
  const uint32_t chunks = std::min(read.credit, reference_.valid_chunks());
  return std::min(chunking.begin(chunks), chunking.total_bytes);
}

// Everything below the oldest send that is still under way has left this memory.
uint32_t ChunkServer::ConfirmedChunks(const Read& read) const {
  if (!read.started || read.ranges) return read.first_chunk;
  const Chunking& chunking = reference_.content().chunking;
  const uint64_t done = read.in_flight.empty() ? read.issued : read.in_flight.begin()->second;
  if (done >= chunking.total_bytes) return chunking.count();
  return static_cast<uint32_t>(done / chunking.chunk_bytes);
}

bool ChunkServer::Start(const ReadKey& key, Read& read, Effects& effects) {
  if (read.started) return true;
  if (!reference_.content().publication) return false;
  if (const auto problem = Problem(read)) {
    Refuse(key, *problem, effects);
    reads_.erase(key);
    return false;
  }
  read.issued = std::min(reference_.content().chunking.begin(read.first_chunk),
                         reference_.content().chunking.total_bytes);
  read.started = true;
  return true;
}

// The longest frame that the link takes in its time.
uint64_t ChunkServer::LinkBytes(const Read& read) const {
  const uint64_t bytes = read.rate.BytesIn(kFrameMs).value_or(options_.frame_bytes);
  return std::min(std::max(bytes, options_.frame_bytes / kShortestFrame), options_.frame_bytes);
}

uint64_t ChunkServer::FrameBytes(const Read& read) const {
  const uint64_t bytes = LinkBytes(read);
  if (read.unfragmented_bytes == 0) return bytes;
  return std::min(bytes, std::max(read.unfragmented_bytes, options_.frame_bytes / kShortestFrame));
}

// How much of a read may be under way.
uint64_t ChunkServer::AheadBytes(const Read& read) const {
  return std::min(options_.send_ahead_bytes, kFramesAhead * LinkBytes(read));
}

void ChunkServer::Pump(const ReadKey& key_ref, Read& read, TimeMs now, Effects& effects) {
  const ReadKey key = key_ref;  // Start may erase the entry that the reference is part of
  if (read.one_sided || !Start(key, read, effects)) return;
  if (read.ranges) return PumpRanges(key, read, now, effects);
  const uint64_t end = SendableEnd(read);
  const uint64_t ahead = AheadBytes(read);
  while (read.issued < end && read.in_flight_bytes < ahead) {
    IssueFrame(key, read, end, now, effects);
  }
  if (read.issued >= end || read.in_flight.empty()) Confirm(key, read, now, effects);
}

// Frames do not cross chunks, so that each belongs to one commit.
void ChunkServer::IssueFrame(const ReadKey& key, Read& read, uint64_t end, TimeMs now,
                             Effects& effects) {
  const Chunking& chunking = reference_.content().chunking;
  const uint64_t chunk_end = (read.issued / chunking.chunk_bytes + 1) * chunking.chunk_bytes;
  const uint64_t limit = std::min({read.issued + FrameBytes(read), chunk_end, end});
  const uint64_t bytes = frames_.EndOfFrame(read.issued, limit) - read.issued;
  PeerMessage header = Header(PeerKind::kData, key, read);
  header.begin = read.issued;
  read.told_confirmed = header.confirmed;
  read.told_valid = header.valid;
  const uint64_t token = next_token_++;
  sends_[token] = {key, bytes};
  read.in_flight[token] = read.issued;
  read.in_flight_bytes += bytes;
  effects.emplace_back(SendData{key.first, Encode(header), {{read.issued, bytes}}, token});
  read.issued += bytes;
  read.said_at = now;
}

// A confirmation rides on the next frame; only where none follows it travels alone.
void ChunkServer::Confirm(const ReadKey& key, Read& read, TimeMs now, Effects& effects) {
  if (ConfirmedChunks(read) == read.told_confirmed && Proven(read) == read.told_proven) return;
  effects.emplace_back(SendMessage{key.first, Encode(Standing(key, read, now))});
}

PeerMessage ChunkServer::Standing(const ReadKey& key, Read& read, TimeMs now) const {
  PeerMessage message = Header(read.ranges ? PeerKind::kStand : PeerKind::kConfirm, key, read);
  if (read.ranges) PutPositions(read, message);
  read.told_confirmed = message.confirmed;
  read.told_proven = message.proven;
  read.told_valid = message.valid;
  read.said_at = now;
  return message;
}

void ChunkServer::OnSendDone(const SendDone& event, TimeMs now, Effects& effects) {
  const auto sent = sends_.find(event.token);
  if (sent == sends_.end()) return;
  const Outstanding outstanding = sent->second;
  sends_.erase(sent);
  const auto found = reads_.find(outstanding.key);
  if (found == reads_.end() || !found->second.in_flight.contains(event.token)) return;
  Read& read = found->second;
  // R4: bytes that were not sent are not confirmed; the connection is lost, the reader knows.
  if (!event.status.ok()) {
    reads_.erase(found);
    return;
  }
  read.in_flight.erase(event.token);
  read.in_flight_bytes -= outstanding.bytes;
  read.rate.OnSent(outstanding.bytes, now);
  // The generation is still the read's: DropAll removes the reads before it is raised.
  TH_CHECK(read.generation == reference_.generation());
  Pump(found->first, read, now, effects);
}

void ChunkServer::OnGrown(TimeMs now, Effects& effects) {
  for (auto it = reads_.begin(); it != reads_.end();) {
    auto& [key, read] = *it++;  // Pump may erase the entry
    if (!read.one_sided) {
      Pump(key, read, now, effects);
    } else if (read.told_valid != reference_.valid_chunks()) {
      effects.emplace_back(SendMessage{key.first, Encode(Standing(key, read, now))});
    }
  }
}

void ChunkServer::OnDigests(Effects& effects) {
  for (auto& [key, read] : reads_) TellDigests(key, read, effects);
}

void ChunkServer::TellDigests(const ReadKey& key, Read& read, Effects& effects) const {
  if (!read.wants_digests || read.publication != reference_.content().publication) return;
  while (read.told_digests < digests_.known()) TellSomeDigests(key, read, effects);
  if (read.told_ended != digests_.ended()) TellSomeDigests(key, read, effects);
}

void ChunkServer::TellSomeDigests(const ReadKey& key, Read& read, Effects& effects) const {
  const bool fits = read.publication == reference_.content().publication;
  const uint64_t untold =
      fits && read.told_digests < digests_.known() ? digests_.known() - read.told_digests : 0;
  const auto count = static_cast<uint32_t>(std::min<uint64_t>(untold, kDigestsPerMessage));
  PeerMessage message = Header(PeerKind::kDigests, key, read);
  message.chunk = static_cast<uint32_t>(std::min<uint64_t>(read.told_digests, kChunkCountMax));
  if (count != 0) message.text = EncodeDigests(digests_, message.chunk, count);
  read.told_digests += count;
  read.told_ended = fits && digests_.ended() && read.told_digests >= digests_.known();
  if (read.told_ended) message.flags = kFlagNoMoreDigests;
  effects.emplace_back(SendMessage{key.first, Encode(message)});
}

void ChunkServer::OnTick(TimeMs now, Effects& effects) {
  for (auto& [key, read] : reads_) {
    if (now - read.said_at < options_.alive_ms) continue;
    effects.emplace_back(SendMessage{key.first, Encode(Standing(key, read, now))});
  }
}

std::optional<TimeMs> ChunkServer::NextDeadline() const {
  std::optional<TimeMs> next;
  for (const auto& [key, read] : reads_) {
    const TimeMs due = read.said_at + options_.alive_ms;
    if (!next || due < *next) next = due;
  }
  return next;
}

// Parked readers cost nothing, nor do those that read one-sided and by themselves; only bytes under
// way are worth spinning for, and questions, of which the next comes within a window's copying.
bool ChunkServer::Busy() const {
  if (!sends_.empty()) return true;
  return std::any_of(reads_.begin(), reads_.end(), [&](const auto& entry) {
    const Read& read = entry.second;
    if (read.one_sided && read.asks_words) return true;
    return !read.one_sided && read.started && reference_.content().publication && HasUnsent(read) &&
           reference_.valid_chunks() == reference_.content().chunking.count();
  });
}

bool ChunkServer::HasUnsent(const Read& read) const {
  if (read.ranges) return !read.ranges->empty();
  return read.issued < reference_.content().chunking.total_bytes;
}

}  // namespace tensorhub::agent
