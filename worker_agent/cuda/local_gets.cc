// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/local_gets.h"

#include "absl/strings/str_format.h"
#include "worker_agent/shared_memory_description.h"

namespace tensorhub::agent {

absl::StatusOr<std::unique_ptr<LocalGets>> LocalGets::Create(CudaDriver* driver, int device,
                                                             Sink* sink) {
  std::unique_ptr<LocalGets> gets(new LocalGets(driver, sink));
  if (absl::Status status = gets->Open(device); !status.ok()) return status;
  return gets;
}

absl::Status LocalGets::Open(int device) {
  absl::StatusOr<CudaPrimary> primary = CudaPrimary::Retain(driver_, device);
  if (!primary.ok()) return primary.status();
  primary_ = *std::move(primary);
  absl::StatusOr<OwnedStream> stream = OwnedStream::Make(primary_, StreamKind::kOrdinary);
  if (!stream.ok()) return stream.status();
  stream_ = *std::move(stream);
  return absl::OkStatus();
}

// Own gets first: whoever withdraws memory that they read waits for them.
LocalGets::~LocalGets() {
  if (!stream_) return;
  CudaCurrent current(primary_);
  static_cast<void>(driver_->SynchronizeStream(stream_.get()));
  batches_.push_back(std::move(open_));
  for (const Batch& batch : batches_) {
    for (const Issued& get : batch.gets) get.region->Exit();
  }
  for (const std::string& key : keys_) LocalRegions::OfThisProcess().Remove(key);
}

absl::StatusOr<SharedRegion> LocalGets::Allocate(size_t /*bytes*/) {
  return absl::FailedPreconditionError("copies within the process need no memory of theirs");
}

absl::StatusOr<SharedRegion> LocalGets::Register(void* base, size_t bytes) {
  SharedRegion region{base, bytes, "", ""};
  region.local_key = LocalRegions::OfThisProcess().Add(static_cast<std::byte*>(base), bytes);
  keys_.push_back(region.local_key);
  return region;
}

std::string LocalGets::Address() const { return LocalProcess(); }

absl::StatusOr<PeerId> LocalGets::Connect(std::string_view address) {
  if (address != LocalProcess()) return absl::UnavailableError("the peer is another process");
  return ++last_peer_;
}

absl::StatusOr<GetTransport::RegionId> LocalGets::ImportRegion(PeerId peer,
                                                               std::string_view packed_key,
                                                               uint64_t remote_base, size_t bytes) {
  std::shared_ptr<LocalRegion> region = LocalRegions::OfThisProcess().Find(packed_key);
  if (region == nullptr) {
    return absl::FailedPreconditionError("the peer does not share that memory in this process");
  }
  if (reinterpret_cast<uintptr_t>(region->base()) != remote_base || region->bytes() != bytes) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the peer's key is for %d bytes at %p, not for %d", region->bytes(),
                        region->base(), bytes));
  }
  imports_[++last_region_] = {peer, std::move(region)};
  return last_region_;
}

void LocalGets::Get(PeerId peer, RegionId region, uint64_t offset, void* to, size_t bytes,
                    uint64_t token) {
  const auto found = imports_.find(region);
  if (found == imports_.end() || found->second.peer != peer) {
    done_.emplace_back(token, absl::CancelledError("the connection to the peer is closed"));
    return;
  }
  const absl::Status status = Issue(found->second, offset, to, bytes);
  if (!status.ok()) {
    done_.emplace_back(token, status);
    return;
  }
  open_.gets.push_back({token, found->second.region});
}

absl::Status LocalGets::Issue(const Import& import, uint64_t offset, void* to, size_t bytes) {
  LocalRegion& region = *import.region;
  if (offset > region.bytes() || bytes > region.bytes() - offset) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "get of %d bytes at %d leaves the region (%d)", bytes, offset, region.bytes()));
  }
  if (!region.Enter()) return absl::UnavailableError("the peer has withdrawn its memory");
  CudaCurrent current(primary_);
  const absl::Status status = driver_->CopyAsync(to, region.base() + offset, bytes, stream_.get());
  if (!status.ok()) region.Exit();
  return status;
}

absl::StatusOr<OwnedEvent> LocalGets::TakeEvent() {
  if (events_.empty()) return OwnedEvent::Make(primary_, EventKind::kOrdinary);
  OwnedEvent event = std::move(events_.back());
  events_.pop_back();
  return event;
}

// Without an event the end is known only by waiting for all.
void LocalGets::Seal() {
  if (open_.gets.empty()) return;
  absl::StatusOr<OwnedEvent> event = TakeEvent();
  absl::Status status = event.status();
  if (event.ok()) {
    open_.event = *std::move(event);
    status = driver_->RecordEvent(open_.event.get(), stream_.get());
  }
  batches_.push_back(std::exchange(open_, {}));
  if (status.ok()) return;
  status.Update(driver_->SynchronizeStream(stream_.get()));
  while (!batches_.empty()) Finish(batches_.front(), status);
}

void LocalGets::Finish(Batch& batch, const absl::Status& status) {
  for (const Issued& get : batch.gets) {
    get.region->Exit();
    done_.emplace_back(get.token, status);
  }
  if (batch.event) events_.push_back(std::move(batch.event));
  batches_.pop_front();
}

// Gets under way go on to their end, a few milliseconds at most.
void LocalGets::Close(PeerId peer) {
  std::erase_if(imports_, [peer](const auto& entry) { return entry.second.peer == peer; });
}

std::string LocalGets::Describe(PeerId /*peer*/) const {
  return absl::StrFormat("copies of CUDA device %d", primary_.device());
}

bool LocalGets::Progress() {
  CudaCurrent current(primary_);
  Seal();
  while (!batches_.empty()) {
    const absl::StatusOr<bool> ended = driver_->EventDone(batches_.front().event.get());
    if (ended.ok() && !*ended) break;
    Finish(batches_.front(), ended.status());
  }
  const auto done = std::exchange(done_, {});
  for (const auto& [token, status] : done) sink_->OnGetDone(token, status);
  return !done.empty();
}

}  // namespace tensorhub::agent
