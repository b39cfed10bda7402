// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/local_moves.h"

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

void LocalMoves::Sort() {
  const bool kernel = kernels_.ok() && without_kernel_ == 0;
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
  return Means{*std::move(event), nullptr};
}

absl::Status LocalMoves::Begin() {
  Sort();
  next_ = (next_ + 1) % streams_.size();
  absl::StatusOr<Means> means = TakeMeans();
  absl::Status status = means.ok() ? Enqueue(*means) : means.status();
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
  if (!status.ok()) return status;
  return primary_.driver()->RecordEvent(means.ended.get(), stream());
}

// A device without room for the kernel's tables makes copies of them, and is not asked for it again
// for a while.
absl::Status LocalMoves::EnqueueShort(Means& means) {
  if (short_.empty()) return absl::OkStatus();
  if (means.mover == nullptr) {
    absl::StatusOr<std::unique_ptr<kernels::DeviceMover>> mover =
        kernels::DeviceMover::Create(kernels_->get());
    if (!mover.ok()) return mover.status();
    means.mover = *std::move(mover);
  }
  const absl::Status status = means.mover->Start(short_, stream());
  if (!absl::IsResourceExhausted(status)) return status;
  without_kernel_ = kBatchesWithout;
  return Copy(short_);
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
  return ended;
}

}  // namespace tensorhub::agent
