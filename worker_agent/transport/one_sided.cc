// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/transport/one_sided.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/status/status.h"
#include "common/check.h"
#include "worker_agent/runtime/log.h"

namespace tensorhub::agent {
namespace {

// Neighbours are one get: a transport may have a call for each.
void Append(const GetTransport::Part& part, std::vector<GetTransport::Part>& parts) {
  if (!parts.empty()) {
    GetTransport::Part& last = parts.back();
    const bool touch = last.region == part.region && last.offset + last.bytes == part.offset &&
                       last.to + last.bytes == part.to;
    if (touch) {
      last.bytes += part.bytes;
      return;
    }
  }
  parts.push_back(part);
}

// R9: a peer's memory is as large as it says, a run of it is where the layouts say.
bool Fits(const Get& get, const SharedMemoryDescription& theirs, const Memory& mine) {
  const auto fits = [](uint64_t begin, uint64_t bytes, uint64_t total) {
    return bytes <= total && begin <= total - bytes;
  };
  return !get.runs.empty() && std::all_of(get.runs.begin(), get.runs.end(), [&](const auto& run) {
    return run.bytes > 0 && fits(run.from, run.bytes, theirs.total_bytes()) &&
           fits(run.to, run.bytes, mine.total_bytes());
  });
}

class PartCutter {
 public:
  // `parts` outlive it.
  explicit PartCutter(std::span<const GetTransport::Part> parts) : parts_(parts) {}

  // Replaces `taken` by the next `bytes` of the parts, or by what is left.
  void Take(uint64_t bytes, std::vector<GetTransport::Part>& taken) {
    taken.clear();
    while (bytes > 0 && at_ < parts_.size()) {
      const GetTransport::Part& part = parts_[at_];
      const size_t now = std::min(bytes, part.bytes - begun_);
      taken.push_back({part.region, part.offset + begun_, part.to + begun_, now});
      bytes -= now;
      begun_ += now;
      if (begun_ < part.bytes) continue;
      ++at_;
      begun_ = 0;
    }
  }

 private:
  const std::span<const GetTransport::Part> parts_;
  size_t at_ = 0;
  uint64_t begun_ = 0;  // bytes of that part
};

}  // namespace

absl::Status OneSided::EnsureTransport() {
  if (transport_) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<GetTransport>> made = factory_(this);
  if (!made.ok()) return made.status();
  transport_ = *std::move(made);
  Log().info("one-sided reads: {}", transport_->Summary());
  return absl::OkStatus();
}

absl::StatusOr<SharedRegion> OneSided::Allocate(size_t bytes) {
  const absl::Status status = EnsureTransport();
  if (!status.ok()) return status;
  absl::StatusOr<SharedRegion> region = transport_->Allocate(bytes);
  if (region.ok()) allocated_.push_back(*region);
  return region;
}

absl::Status OneSided::ShareDevice(const Factory& factory, std::span<const Memory::Piece> regions) {
  absl::StatusOr<std::unique_ptr<GetTransport>> made = factory(this);
  if (!made.ok()) return made.status();
  std::vector<SharedRegion> shared;
  for (const Memory::Piece& region : regions) {
    absl::StatusOr<SharedRegion> registered = (*made)->Register(region.data, region.bytes);
    if (!registered.ok()) return registered.status();
    shared.push_back(*std::move(registered));
  }
  allocator_ = std::exchange(transport_, *std::move(made));
  shared_ = std::move(shared);
  device_ = true;
  Log().info("device to device: {}", transport_->Summary());
  return absl::OkStatus();
}

absl::Status OneSided::ShareWithin(const Factory& factory, std::span<const Memory::Piece> regions,
                                   const Within& whose) {
  absl::StatusOr<std::unique_ptr<GetTransport>> made = factory(this);
  if (!made.ok()) return made.status();
  std::vector<SharedRegion> shared = device_ ? shared_ : std::vector<SharedRegion>();
  for (size_t i = 0; i < regions.size(); ++i) {
    absl::StatusOr<SharedRegion> registered = (*made)->Register(regions[i].data, regions[i].bytes);
    if (!registered.ok()) return registered.status();
    if (!device_) shared.push_back({regions[i].data, regions[i].bytes, "", ""});
    shared[i].local_key = registered->local_key;
  }
  shared_ = std::move(shared);
  within_ = *std::move(made);
  whose_ = whose;
  Log().info("on this host: {}", within_->Summary());
  return absl::OkStatus();
}

void OneSided::StopSharing() {
  TH_CHECK(peers_.empty());
  within_.reset();
  whose_ = {};
  if (std::exchange(device_, false)) transport_ = std::move(allocator_);
  shared_.clear();
}

bool OneSided::Progress() {
  const bool any = transport_ && transport_->Progress();
  return (within_ && within_->Progress()) || any;
}

bool OneSided::Arm() { return (!transport_ || transport_->Arm()) && (!within_ || within_->Arm()); }

void OneSided::Import(Incarnation peer, std::string_view description,
                      std::optional<uint64_t> total_bytes) {
  MemoryImported imported{peer, Map(peer, description, total_bytes)};
  if (imported.status.ok()) imported.word_by_message = peers_.at(peer).description.word_by_message;
  later_(std::move(imported));
}

absl::Status OneSided::Map(Incarnation peer, std::string_view description,
                           std::optional<uint64_t> total_bytes) {
  if (IsMapped(peer, description)) {
    peers_.at(peer).used = ++uses_;
    return absl::OkStatus();
  }
  Close(peer);
  if (peers_.size() >= kMappedMax) CloseLeastUsed();
  absl::StatusOr<SharedMemoryDescription> understood = Understand(peer, description, total_bytes);
  if (!understood.ok()) return understood.status();
  absl::Status why;
  for (const Reach& reach : Choose(*understood, why)) {
    absl::StatusOr<Peer> mapped = MapBy(reach, *understood);
    if (!mapped.ok() && reach.by == within_.get() && CloseOthers(peer)) {
      mapped = MapBy(reach, *understood);
    }
    why = mapped.status();
    if (!mapped.ok()) {
      Log().info("no way by {}: {}", reach.by->Summary(), std::string(why.message()));
      continue;
    }
    mapped->description = *std::move(understood);
    mapped->used = ++uses_;
    peers_.emplace(peer, *std::move(mapped));
    break;
  }
  return why;
}

void OneSided::CloseLeastUsed() {
  const auto least =
      std::min_element(peers_.begin(), peers_.end(),
                       [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
  Close(least->first);
}

std::vector<OneSided::Reach> OneSided::Choose(const SharedMemoryDescription& description,
                                              absl::Status& why) {
  const bool same_process = description.process == LocalProcess();
  const bool same_host = !description.host.empty() && description.host == HostIdentity();
  std::vector<Reach> all;
  if (description.word_by_message) {
    why = absl::FailedPreconditionError("the peer's memory is a device's, out of reach from here");
    if (within_ && same_process) all.push_back({within_.get(), description.process});
    if (whose_.with_host && same_host && !same_process) {
      all.push_back({within_.get(), description.host});
    }
    if (device_ && !description.address.empty()) {
      all.push_back({transport_.get(), description.address});
    }
  } else if (device_ || whose_.of_device) {
    why = absl::FailedPreconditionError("the peer's memory is not a device's, this one's is");
  } else if (!same_host) {
    why = absl::FailedPreconditionError("the peer is on another host, or in another container");
  } else {
    why = EnsureTransport();
    if (why.ok()) all.push_back({transport_.get(), description.address});
  }
  return all;
}

bool OneSided::CloseOthers(Incarnation but) {
  std::vector<Incarnation> others;
  for (const auto& [peer, mapped] : peers_) {
    if (peer != but && mapped.by == within_.get()) others.push_back(peer);
  }
  for (const Incarnation peer : others) Close(peer);
  return !others.empty();
}

absl::StatusOr<OneSided::Peer> OneSided::MapBy(const Reach& reach,
                                               const SharedMemoryDescription& description) const {
  const absl::StatusOr<PeerId> id = reach.by->Connect(reach.address);
  if (!id.ok()) return id.status();
  Peer peer{reach.by, *id, {}, {}};
  for (const SharedMemoryDescription::Region& region : description.regions) {
    const std::string& key = reach.by == within_.get() ? region.local_key : region.packed_key;
    const absl::StatusOr<GetTransport::RegionId> mapped =
        reach.by->ImportRegion(peer.id, key, region.base, region.bytes);
    if (!mapped.ok()) {
      reach.by->Close(peer.id);
      return mapped.status();
    }
    peer.regions.push_back(*mapped);
  }
  return peer;
}

bool OneSided::IsMapped(Incarnation peer, std::string_view description) const {
  if (!peers_.contains(peer)) return false;
  const auto kept = descriptions_.find(peer);
  return description.empty() || (kept != descriptions_.end() && kept->second == description);
}

absl::StatusOr<SharedMemoryDescription> OneSided::Understand(Incarnation peer,
                                                             std::string_view description,
                                                             std::optional<uint64_t> total_bytes) {
  if (!description.empty()) {
    if (descriptions_.size() >= kDescriptionsMax) descriptions_.erase(descriptions_.begin());
    descriptions_[peer] = std::string(description);
  }
  const auto kept = descriptions_.find(peer);
  if (kept == descriptions_.end()) {
    return absl::NotFoundError("the peer's description of its memory is not known any more");
  }
  absl::StatusOr<SharedMemoryDescription> decoded = DecodeSharedMemoryDescription(kept->second);
  if (!decoded.ok()) return decoded;
  if (total_bytes && decoded->total_bytes() != total_bytes) {
    return absl::InvalidArgumentError("the peer describes memory of another size");
  }
  return decoded;
}

void OneSided::Get(const agent::Get& get, const Memory& memory) {
  const auto found = peers_.find(get.peer);
  if (found == peers_.end() || !Fits(get, found->second.description, memory)) {
    return later_(GetDone{get.token, absl::UnavailableError("the peer's memory is not mapped")});
  }
  const uint64_t token = ++last_token_;
  gets_[token] = {get.token, 0, absl::OkStatus(), {}};
  // The transport calls back from Progress only, so the count is whole before the first one ends.
  Split(found->second, get, memory);
  if (get.digest_every > 0) return IssueChunks(found->second, get, token);
  gets_[token].pieces = IssueParts(found->second, parts_, token);
}

void OneSided::Split(const Peer& peer, const agent::Get& get, const Memory& memory) {
  parts_.clear();
  for (const CopyRun& run : get.runs) {
    memory.Pieces({run.to, run.bytes}, pieces_);
    PlaceWalk walk(peer.description, run.from);
    for (Memory::Piece piece : pieces_) {
      while (piece.bytes > 0) {
        const auto remote = walk.Take(piece.bytes);
        parts_.push_back({peer.regions[remote.region], remote.offset, piece.data, remote.bytes});
        piece.data += remote.bytes;
        piece.bytes -= remote.bytes;
      }
    }
  }
}

size_t OneSided::IssueParts(const Peer& peer, std::span<const GetTransport::Part> parts,
                            uint64_t token) {
  return parts.empty() ? 0 : peer.by->GetAll(peer.id, parts, token);
}

void OneSided::IssueChunks(const Peer& peer, const agent::Get& get, uint64_t token) {
  PendingGet& pending = gets_[token];
  pending.digests.resize((get.runs[0].bytes + get.digest_every - 1) / get.digest_every);
  plain_.clear();
  PartCutter cutter(parts_);
  for (std::optional<uint64_t>& digest : pending.digests) {
    cutter.Take(get.digest_every, chunk_);
    if (const auto ends = peer.by->GetWithDigest(peer.id, chunk_, token, &digest)) {
      pending.pieces += *ends;
    } else {
      for (const GetTransport::Part& part : chunk_) Append(part, plain_);
    }
  }
  pending.pieces += IssueParts(peer, plain_, token);
}

void OneSided::GetWord(const agent::GetWord& get) {
  const auto found = peers_.find(get.peer);
  if (found == peers_.end()) {
    return later_(
        WordArrived{get.token, absl::UnavailableError("the peer's memory is not mapped"), 0});
  }
  const Peer& peer = found->second;
  TH_CHECK(!peer.description.word_by_message);
  const uint64_t token = ++last_token_;
  PendingWord& word = words_[token];
  word.core_token = get.token;
  peer.by->Get(peer.id, peer.regions[peer.description.word_region], peer.description.word_offset,
               &word.value, sizeof(word.value), token);
}

void OneSided::Close(Incarnation peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  found->second.by->Close(found->second.id);
  peers_.erase(found);
}

void OneSided::CloseAll() {
  while (!peers_.empty()) Close(peers_.begin()->first);
}

void OneSided::End() {
  for (GetTransport* each : {allocator_.get(), transport_.get(), within_.get()}) {
    if (each != nullptr) each->End();
  }
}

std::string OneSided::Describe(Incarnation peer) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? "" : found->second.by->Describe(found->second.id);
}

void OneSided::OnGetDone(uint64_t token, const absl::Status& status) {
  const auto found = gets_.find(token);
  if (found == gets_.end()) return OnWordDone(token, status);
  PendingGet& get = found->second;
  get.status.Update(status);
  TH_CHECK(get.pieces > 0);
  if (--get.pieces > 0) return;
  GetDone done{get.core_token, get.status, std::move(get.digests)};
  gets_.erase(found);
  // R4: the source's word is read after this, and must not be older than the bytes. The gets are
  // loads by this processor, which may otherwise change places on weakly ordered machines.
  std::atomic_thread_fence(std::memory_order_acquire);
  now_(std::move(done));
}

void OneSided::OnWordDone(uint64_t token, const absl::Status& status) {
  const auto found = words_.find(token);
  TH_CHECK(found != words_.end());
  const WordArrived arrived{found->second.core_token, status, found->second.value};
  words_.erase(found);
  now_(arrived);
}

// Peers within the host do not fail.
void OneSided::OnGetPeerFailed(PeerId peer, const absl::Status& status) {
  const auto found = std::find_if(peers_.begin(), peers_.end(), [&](const auto& entry) {
    return entry.second.by == transport_.get() && entry.second.id == peer;
  });
  if (found == peers_.end()) return;
  const Incarnation incarnation = found->first;
  Close(incarnation);
  now_(PeerFailed{incarnation, status});
}

}  // namespace tensorhub::agent
