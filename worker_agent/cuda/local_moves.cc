// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/local_moves.h"

#include <algorithm>
#include <utility>

namespace tensorhub::agent {
namespace {

// A copy call takes the host some two microseconds, in which a device of 2 TB/s copies 4 MiB: those
// of copies of this length are less than half of its time.
constexpr uint64_t kLongBytes = 16 << 20;
constexpr int kBatchesWithout = 64;

}  // namespace

absl::StatusOr<std::unique_ptr<LocalMoves>> LocalMoves::Make(const CudaPrimary& primary,
                                                             std::span<const char> image) {
  std::unique_ptr<LocalMoves> moves(new LocalMoves(primary));
  for (OwnedStream& stream : moves->streams_) {
    absl::StatusOr<OwnedStream> made = OwnedStream::Make(primary, StreamKind::kOrdinary);
    if (!made.ok()) return made.status();
    stream = *std::move(made);
  }
  moves->kernels_ = kernels::KernelModule::Load(primary, image);
  return moves;
}

LocalMoves::~LocalMoves() {
  CudaCurrent current(primary_);
  AwaitAll();
  begun_.clear();
  spare_.clear();
}

void LocalMoves::AwaitAll() {
  for (const OwnedStream& stream : streams_) {
    if (stream) static_cast<void>(primary_.driver()->SynchronizeStream(stream.get()));
  }
}

// Gets of one tensor follow one another, and are one copy.
void LocalMoves::Add(const kernels::MovePiece& piece, bool by_kernels) {
  if (!open_.empty()) {
    Open& last = open_.back();
    const auto* const from = static_cast<const std::byte*>(last.piece.from) + last.piece.bytes;
    const auto* const to = static_cast<const std::byte*>(last.piece.to) + last.piece.bytes;
    if (from == piece.from && to == piece.to && last.by_kernels == by_kernels) {
      last.piece.bytes += piece.bytes;
      return;
    }
  }
  open_.push_back({piece, by_kernels});
}

bool LocalMoves::AddChunk(std::span<const kernels::MovePiece> pieces,
                          std::optional<uint64_t>* digest) {
  if (!HaveKernels() || !kernels::CopiesEvenly(pieces)) return false;
  open_chunks_.AddCopied(pieces);
  open_digests_.push_back(digest);
  return true;
}

void LocalMoves::Sort() {
  const bool kernel = HaveKernels();
  if (without_kernel_ > 0) --without_kernel_;
  long_.clear();
  short_.clear();
  for (const Open& open : open_) {
    const bool is_short = kernel && open.by_kernels && open.piece.bytes < kLongBytes;
    (is_short ? short_ : long_).push_back(open.piece);
  }
  open_.clear();
}

absl::StatusOr<LocalMoves::Means> LocalMoves::TakeMeans() {
  if (!spare_.empty()) {
    Means means = std::move(spare_.back());
    spare_.pop_back();
    return means;
  }
  absl::StatusOr<OwnedEvent> event = OwnedEvent::Make(primary_, EventKind::kOrdinary);
  if (!event.ok()) return event.status();
  return Means{*std::move(event), nullptr, nullptr, {}};
}

absl::Status LocalMoves::Begin() {
  Sort();
  next_ = (next_ + 1) % streams_.size();
  absl::StatusOr<Means> means = TakeMeans();
  absl::Status status = means.ok() ? Enqueue(*means) : means.status();
  open_chunks_.Clear();
  open_digests_.clear();
  if (status.ok()) {
    begun_.push_back(*std::move(means));
    return status;
  }
  // Without an event the end is known only by waiting for all.
  AwaitAll();
  begun_.clear();
  return status;
}

absl::Status LocalMoves::Enqueue(Means& means) {
  absl::Status status = Copy(long_);
  if (status.ok()) status = EnqueueShort(means);
  if (status.ok()) status = EnqueueChunks(means);
  if (!status.ok()) return status;
  return primary_.driver()->RecordEvent(means.ended.get(), stream());
}

absl::Status LocalMoves::EnqueueShort(Means& means) {
  if (short_.empty()) return absl::OkStatus();
  if (means.mover == nullptr) {
    absl::StatusOr<std::unique_ptr<kernels::DeviceMover>> mover =
        kernels::DeviceMover::Create(kernels_->get());
    if (!mover.ok()) return mover.status();
    means.mover = *std::move(mover);
  }
  const absl::Status status = means.mover->Start(short_, stream());
  return WithoutRoom(status) ? Copy(short_) : status;
}

absl::Status LocalMoves::EnqueueChunks(Means& means) {
  std::swap(means.digests, open_digests_);
  if (means.digests.empty()) return absl::OkStatus();
  if (means.chunks == nullptr) {
    means.chunks = std::make_unique<kernels::DigestJob>(primary_.driver());
  }
  const absl::Status status =
      means.chunks->Enqueue((*kernels_)->digest_copy(), open_chunks_, stream());
  return WithoutRoom(status) ? Copy(open_chunks_.Copies()) : status;
}

// A device without room for a kernel's tables makes copies of the pieces, and is not asked for it
// again for a while.
bool LocalMoves::WithoutRoom(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status)) return false;
  without_kernel_ = kBatchesWithout;
  return true;
}

absl::Status LocalMoves::Copy(std::span<const kernels::MovePiece> pieces) {
  for (const kernels::MovePiece& piece : pieces) {
    const absl::Status status =
        primary_.driver()->CopyAsync(piece.to, piece.from, piece.bytes, stream());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> LocalMoves::OldestEnded() {
  if (begun_.empty()) return false;
  const absl::StatusOr<bool> ended = primary_.driver()->EventDone(begun_.front().ended.get());
  if (ended.ok() && !*ended) return false;
  if (!ended.ok()) AwaitAll();  // R4: an answer that failed says nothing of the copies
  spare_.push_back(std::move(begun_.front()));
  begun_.pop_front();
  if (ended.ok()) spare_.back().HandOut();
  spare_.back().digests.clear();
  return ended;
}

// Without room for them there are none.
void LocalMoves::Means::HandOut() const {
  const auto made = chunks == nullptr ? std::span<const uint64_t>() : chunks->digests();
  for (size_t i = 0; i < std::min(made.size(), digests.size()); ++i) *digests[i] = made[i];
}

}  // namespace tensorhub::agent
