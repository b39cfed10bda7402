// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/local_gets.h"

#include "absl/strings/str_format.h"
#include "worker_agent/cuda/mapped_region.h"
#include "worker_agent/transport/shared_memory_description.h"

namespace tensorhub::agent {
namespace {

// Bytes that end together. Some thirty microseconds of a device; while the reader is told of one
// batch and asks on, the device is at the next.
constexpr uint64_t kBatchBytes = 64 << 20;

absl::StatusOr<std::shared_ptr<PeerRegion>> FindLocalRegion(const LocalKey& key, uint64_t base,
                                                            size_t bytes) {
  std::shared_ptr<PeerRegion> region = LocalRegions::OfThisProcess().Find(key.entry);
  if (region == nullptr) {
    return absl::FailedPreconditionError("the peer does not share that memory in this process");
  }
  if (reinterpret_cast<uintptr_t>(region->base()) == base && region->bytes() == bytes) {
    return region;
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "the peer's key is for %d bytes at %p, not for %d", region->bytes(), region->base(), bytes));
}

bool Within(const PeerRegion& region, uint64_t offset, size_t bytes) {
  return offset <= region.bytes() && bytes <= region.bytes() - offset;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalGets>> LocalGets::Create(CudaDriver* driver, int device,
                                                             Sink* sink,
                                                             std::span<const char> image) {
  std::unique_ptr<LocalGets> gets(new LocalGets(driver, sink));
  absl::StatusOr<CudaPrimary> primary = CudaPrimary::Retain(driver, device);
  if (!primary.ok()) return primary.status();
  gets->primary_ = *std::move(primary);
  absl::StatusOr<std::unique_ptr<LocalMoves>> moves = LocalMoves::Make(gets->primary_, image);
  if (!moves.ok()) return moves.status();
  gets->moves_ = *std::move(moves);
  return gets;
}

// Own gets first: whoever withdraws memory that they read waits for them.
LocalGets::~LocalGets() {
  moves_.reset();
  batches_.push_back(std::move(open_));
  for (const Batch& batch : batches_) {
    for (const auto& region : batch.entered) region->Exit();
  }
  for (const std::string& key : keys_) LocalRegions::OfThisProcess().Remove(key);
}

absl::StatusOr<SharedRegion> LocalGets::Allocate(size_t /*bytes*/) {
  return absl::FailedPreconditionError("copies within the host need no memory of theirs");
}

absl::StatusOr<SharedRegion> LocalGets::Register(void* base, size_t bytes) {
  CudaCurrent current(primary_);
  auto* const begin = static_cast<std::byte*>(base);
  const absl::StatusOr<CudaPointer> found = driver_->Lookup(base);
  reads_into_device_ = found.ok() && found->kind == CudaMemoryKind::kDevice;
  const int device = reads_into_device_ ? found->device : -1;
  keys_.push_back(LocalRegions::OfThisProcess().Add(begin, bytes, device));
  return SharedRegion{base, bytes, "", LocalKey::Of(keys_.back(), begin, *driver_).Encode()};
}

std::string LocalGets::Address() const { return LocalProcess(); }

absl::StatusOr<PeerId> LocalGets::Connect(std::string_view address) {
  if (address == LocalProcess()) return ++last_peer_;
  if (address.empty() || address != HostIdentity()) {
    return absl::UnavailableError("the peer is on another host");
  }
  outside_.insert(++last_peer_);
  return last_peer_;
}

absl::StatusOr<GetTransport::RegionId> LocalGets::ImportRegion(PeerId peer,
                                                               std::string_view packed_key,
                                                               uint64_t remote_base, size_t bytes) {
  const LocalKey key = LocalKey::Decode(packed_key);
  absl::StatusOr<std::shared_ptr<PeerRegion>> region =
      outside_.contains(peer) ? MappedRegion::Map(primary_, key, bytes)
                              : FindLocalRegion(key, remote_base, bytes);
  if (!region.ok()) return region.status();
  imports_[++last_region_] = {peer, *std::move(region)};
  return last_region_;
}

void LocalGets::Get(PeerId peer, RegionId region, uint64_t offset, void* to, size_t bytes,
                    uint64_t token) {
  const Import* const import = Find(peer, region);
  if (import == nullptr) {
    done_.emplace_back(token, absl::CancelledError("the connection to the peer is closed"));
    return;
  }
  const absl::Status status = Add(*import, offset, to, bytes);
  if (!status.ok()) {
    done_.emplace_back(token, status);
    return;
  }
  Await(token, bytes);
}

// What cannot be read at all is for Get to say.
std::optional<size_t> LocalGets::GetWithDigest(PeerId peer, std::span<const Part> parts,
                                               uint64_t token, std::optional<uint64_t>* digest) {
  chunk_.clear();
  uint64_t bytes = 0;
  for (const Part& part : parts) {
    const Import* const import = Find(peer, part.region);
    if (import == nullptr || !WithinDevice(*import->region)) return std::nullopt;
    if (!Within(*import->region, part.offset, part.bytes)) return std::nullopt;
    if (!Enter(import->region)) return std::nullopt;
    chunk_.push_back({import->region->base() + part.offset, part.to, part.bytes});
    bytes += part.bytes;
  }
  if (!moves_->AddChunk(chunk_, digest)) return std::nullopt;
  return AwaitChunk(token, bytes);
}

const LocalGets::Import* LocalGets::Find(PeerId peer, RegionId region) const {
  const auto found = imports_.find(region);
  return found == imports_.end() || found->second.peer != peer ? nullptr : &found->second;
}

// Most gets in a row are of one region, which is entered once then.
bool LocalGets::Enter(const std::shared_ptr<PeerRegion>& region) {
  if (!open_.entered.empty() && open_.entered.back() == region) return true;
  if (!region->Enter()) return false;
  open_.entered.push_back(region);
  return true;
}

void LocalGets::Await(uint64_t token, uint64_t bytes) {
  open_.tokens.push_back(token);
  AddBytes(bytes);
}

// A batch ends as a whole: of its chunks under one token nobody has to hear one by one.
size_t LocalGets::AwaitChunk(uint64_t token, uint64_t bytes) {
  const bool joins = !open_.tokens.empty() && open_.tokens.back() == token;
  if (!joins) open_.tokens.push_back(token);
  AddBytes(bytes);
  return joins ? 0 : 1;
}

void LocalGets::AddBytes(uint64_t bytes) {
  open_.bytes += bytes;
  if (open_.bytes >= kBatchBytes) Begin();
}

absl::Status LocalGets::Add(const Import& import, uint64_t offset, void* to, size_t bytes) {
  PeerRegion& region = *import.region;
  if (!Within(region, offset, bytes)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "get of %d bytes at %d leaves the region (%d)", bytes, offset, region.bytes()));
  }
  if (!Enter(import.region)) return absl::UnavailableError("the peer has withdrawn its memory");
  moves_->Add({region.base() + offset, to, bytes}, ByKernels(region));
  return absl::OkStatus();
}

// What was entered for gets that came to nothing is left again as well.
void LocalGets::Begin() {
  if (open_.tokens.empty() && open_.entered.empty()) return;
  CudaCurrent current(primary_);
  batches_.push_back(std::exchange(open_, {}));
  const absl::Status status = moves_->Begin();
  while (!status.ok() && !batches_.empty()) FinishOldest(status);
}

void LocalGets::FinishOldest(const absl::Status& status) {
  const Batch batch = std::move(batches_.front());
  batches_.pop_front();
  for (const auto& region : batch.entered) region->Exit();
  for (const uint64_t token : batch.tokens) done_.emplace_back(token, status);
}

// Gets under way go on to their end, a few milliseconds at most.
void LocalGets::Close(PeerId peer) {
  outside_.erase(peer);
  std::erase_if(imports_, [peer](const auto& entry) { return entry.second.peer == peer; });
}

std::string LocalGets::Summary() const {
  const absl::Status& why = moves_->why_no_kernel();
  return why.ok() ? "copies within the host, short ones by a kernel"
                  : absl::StrFormat("copies within the host, without a kernel for short ones (%s)",
                                    std::string(why.message()));
}

std::string LocalGets::Describe(PeerId /*peer*/) const {
  return absl::StrFormat("copies of CUDA device %d", primary_.device());
}

void LocalGets::FinishEnded() {
  if (batches_.empty()) return;
  CudaCurrent current(primary_);
  while (!batches_.empty()) {
    const absl::StatusOr<bool> ended = moves_->OldestEnded();
    if (ended.ok() && !*ended) return;
    FinishOldest(ended.status());
  }
}

bool LocalGets::Progress() {
  Begin();
  FinishEnded();
  const auto done = std::exchange(done_, {});
  for (const auto& [token, status] : done) sink_->OnGetDone(token, status);
  return !done.empty();
}

}  // namespace tensorhub::agent
