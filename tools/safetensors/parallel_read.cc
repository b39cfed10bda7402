// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/safetensors/parallel_read.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "common/mutex.h"
#include "common/thread.h"

namespace tensorhub::safetensors {
namespace {

// A few huge pages: the threads end at about the same time.
constexpr uint64_t kPieceBytes = uint64_t{16} << 20;
constexpr unsigned kReadThreadsMax = 8;

// All at once is cheaper than one by one, as the read would. A wish: kernels before 5.14 refuse it.
void MakePages(const FileRange& range) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(range.to) + page - 1) / page * page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(range.to) + range.bytes) / page * page;
  if (begin >= end) return;
  std::byte* const first = range.to + (begin - reinterpret_cast<uintptr_t>(range.to));
  static_cast<void>(::madvise(first, end - begin, MADV_POPULATE_WRITE));
}

absl::Status ReadRange(const FileRange& range) {
  const absl::StatusOr<InputFile> file = InputFile::Open(*range.path);
  if (!file.ok()) return file.status();
  if (absl::Status status = file->CheckStill(*range.state); !status.ok()) return status;
  MakePages(range);
  absl::Status status = file->ReadAt(range.offset, range.to, range.bytes);
  return status.ok() ? file->CheckStill(*range.state) : status;
}

class Reading {
 public:
  Reading(const std::vector<FileRange>& ranges, const std::function<absl::Status(uint64_t)>& after)
      : ranges_(ranges), after_(after) {}

  void Run() {
    while (const std::optional<FileRange> piece = Next()) Done(*piece, ReadRange(*piece));
  }
  absl::Status status() {
    MutexLock lock(mutex_);
    return status_;
  }

 private:
  std::optional<FileRange> Next() {
    MutexLock lock(mutex_);
    while (range_ < ranges_.size() && at_ == ranges_[range_].bytes) {
      ++range_;
      at_ = 0;
    }
    if (range_ == ranges_.size() || !status_.ok()) return std::nullopt;
    FileRange piece = ranges_[range_];
    piece.offset += at_;
    piece.to += at_;
    piece.bytes = std::min(kPieceBytes, piece.bytes - at_);
    at_ += piece.bytes;
    return piece;
  }
  void Done(const FileRange& piece, const absl::Status& status) {
    MutexLock lock(mutex_);
    done_ += piece.bytes;
    status_.Update(status);
    if (status_.ok() && after_) status_.Update(after_(done_));
  }

  const std::vector<FileRange>& ranges_;
  const std::function<absl::Status(uint64_t)>& after_;
  Mutex mutex_;
  size_t range_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t at_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::Status ReadRanges(const std::vector<FileRange>& ranges,
                        const std::function<absl::Status(uint64_t)>& after) {
  uint64_t pieces = 0;
  for (const FileRange& range : ranges) pieces += (range.bytes + kPieceBytes - 1) / kPieceBytes;
  const uint64_t wanted = std::min<uint64_t>(
      std::clamp(std::thread::hardware_concurrency(), 1u, kReadThreadsMax), pieces);
  Reading reading(ranges, after);
  RunInThreads(wanted, [&reading] { reading.Run(); });
  return reading.status();
}

}  // namespace tensorhub::safetensors
