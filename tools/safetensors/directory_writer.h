// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Writes a checkpoint's directory as a whole or not at all: into `DIR.partial-<random>` beside it,
// made durable, then renamed. Whatever ends the writer early removes the partial directory; that of
// a process that was killed is removed by the next writer of the same directory.
//
// Threads: one writer, which writes with several; Abandon may come from another thread (a signal's)
// at any time and waits for the blocks being written.

#ifndef TENSORHUB_TOOLS_SAFETENSORS_DIRECTORY_WRITER_H_
#define TENSORHUB_TOOLS_SAFETENSORS_DIRECTORY_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "tools/safetensors/attachment.h"

namespace tensorhub::safetensors {

class DirectoryWriter {
 public:
  // ALREADY_EXISTS unless `directory` is missing or empty; FAILED_PRECONDITION: it is the current
  // directory, ends in `.` or `..`, or something is mounted there: nothing could take its place.
  static absl::Status CheckVacant(const std::string& directory);

  // Whether what is written there takes memory, as in /dev/shm.
  static bool IsInMemory(const std::string& directory);

  // As CheckVacant; otherwise as the file system says.
  // `bytes` is what will be written: RESOURCE_EXHAUSTED if the disk has less.
  static absl::StatusOr<std::unique_ptr<DirectoryWriter>> Create(const std::string& directory,
                                                                 uint64_t bytes);
  ~DirectoryWriter();
  DirectoryWriter(const DirectoryWriter&) = delete;
  DirectoryWriter& operator=(const DirectoryWriter&) = delete;

  // The attachment's files, their data taken from `memory` one file after the other. Files that
  // another rank wrote with the same content (extras) are written once. `progress` hears the bytes
  // written since the last call.
  absl::Status Write(const Attachment& attachment, const std::byte* memory,
                     const std::function<void(uint64_t)>& progress = nullptr);

  // Makes the directory appear under its name.
  absl::Status Commit();

  // Removes what was written. Later calls fail. Idempotent; without effect after Commit.
  void Abandon();

 private:
  using Progress = std::function<void(uint64_t)>;

  DirectoryWriter(std::string directory, std::string partial, int lock);
  absl::StatusOr<int> OpenNew(const std::string& name);
  absl::Status WriteFile(const std::string& name, std::string_view first, std::string_view second,
                         const Progress& progress);
  absl::Status WriteBlocks(int fd, const std::string& name, uint64_t offset,
                           std::string_view content, const Progress& progress);
  absl::Status WriteBlock(int fd, const std::string& name, uint64_t offset, std::string_view block);
  absl::Status Finish(int fd, const std::string& name);
  bool Enter() ABSL_LOCKS_EXCLUDED(mutex_);
  void Leave() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string directory_;
  const std::string partial_;
  const int lock_;  // says that this process lives
  Mutex mutex_;
  CondVar left_;
  int writing_ ABSL_GUARDED_BY(mutex_) = 0;
  bool abandoned_ ABSL_GUARDED_BY(mutex_) = false;
  bool committed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace tensorhub::safetensors

#endif  // TENSORHUB_TOOLS_SAFETENSORS_DIRECTORY_WRITER_H_
