// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/safetensors/directory_writer.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/random.h"
#include "common/thread.h"
#include "tools/safetensors/names.h"

namespace tensorhub::safetensors {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlockBytes = size_t{8} << 20;
constexpr unsigned kThreadsMax = 4;
constexpr std::string_view kPartial = ".partial-";
constexpr int kAttempts = 3;

absl::Status CannotWrite(int error, const std::string& path, const std::string& what) {
  const absl::StatusCode code = error == ENOSPC || error == EDQUOT
                                    ? absl::StatusCode::kResourceExhausted
                                    : absl::ErrnoToStatusCode(error);
  return absl::Status(code, absl::StrCat(path, ": ", what, ": ", std::strerror(error)));
}

absl::Status CannotBeMade(int error, const std::string& directory) {
  return absl::Status(absl::ErrnoToStatusCode(error),
                      absl::StrCat(directory, ": cannot be made (", std::strerror(error),
                                   "); choose a place where you may write"));
}

// "a/b/" and "a/b" name one directory, and the partial one goes beside it.
std::string WithoutTrailingSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

absl::Status CheckSpace(const std::string& directory, uint64_t bytes) {
  std::error_code error;
  const fs::space_info space = fs::space(directory, error);
  if (error || space.available >= bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(directory, ": the disk has ", space.available,
                                                   " bytes left, ", bytes,
                                                   " are needed; choose another one"));
}

absl::Status SyncDirectory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return CannotWrite(errno, path, "cannot be opened");
  const int result = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  return result == 0 ? absl::OkStatus() : CannotWrite(error, path, "cannot be made durable");
}

// The folders in it first.
absl::Status SyncTree(const std::string& path) {
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (!it->is_directory(error)) continue;
    if (absl::Status status = SyncTree(it->path()); !status.ok()) return status;
  }
  return SyncDirectory(path);
}

// What is mounted from the same file system is not noticed, and fails at the end.
bool IsMountPoint(const std::string& directory) {
  struct stat of_it = {};
  struct stat of_parent = {};
  const std::string parent = (fs::path(directory) / "..").string();
  return ::stat(directory.c_str(), &of_it) == 0 && ::stat(parent.c_str(), &of_parent) == 0 &&
         of_it.st_dev != of_parent.st_dev;
}

// Why nothing can be renamed to it, empty as it may be; nothing if it can.
const char* ReasonToStay(const std::string& directory) {
  std::error_code error;
  if (fs::equivalent(directory, ".", error)) return "is the current directory";
  const fs::path last = fs::path(WithoutTrailingSlashes(directory)).filename();
  if (last == "." || last == "..") return "ends in . or ..";
  return IsMountPoint(directory) ? "is a mount point" : nullptr;
}

// The lock that a writer has on its partial directory, as a descriptor; -1: somebody lives who has
// it.
int LockDirectory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 || ::flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  ::close(fd);
  return -1;
}

bool IsStillThere(int fd, const std::string& path) {
  struct stat open_one = {};
  struct stat named = {};
  return ::fstat(fd, &open_one) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open_one.st_ino == named.st_ino && open_one.st_dev == named.st_dev;
}

std::string ParentOf(const std::string& directory) {
  const std::string parent = fs::path(directory).parent_path().string();
  return parent.empty() ? "." : parent;
}

// What killed writers left beside it.
void RemoveDead(const std::string& directory) {
  const std::string start = fs::path(directory).filename().string().append(kPartial);
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator it(ParentOf(directory), error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().filename().string().starts_with(start)) found.push_back(it->path());
  }
  for (const fs::path& path : found) {
    const int lock = LockDirectory(path);
    if (lock < 0) continue;
    fs::remove_all(path, error);
    ::close(lock);
  }
}

// Makes it and locks it. Another writer may take it for dead in between; then there is another one.
absl::StatusOr<std::pair<std::string, int>> MakePartial(const std::string& directory) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string partial =
        absl::StrFormat("%s%s%016x", directory, kPartial, Random(RandomSeed()).Next());
    if (::mkdir(partial.c_str(), 0777) != 0) return CannotBeMade(errno, directory);
    const int lock = LockDirectory(partial);
    if (lock >= 0 && IsStillThere(lock, partial)) return std::pair(partial, lock);
    if (lock >= 0) ::close(lock);
  }
  return CannotBeMade(EAGAIN, directory);
}

bool InMemory(const struct statfs& info) {
  return info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC;
}

// Where the file system can, so that a full disk shows before anything is written. In memory it
// would make all pages, on one thread.
absl::Status Reserve(int fd, const std::string& path, uint64_t bytes) {
  struct statfs info = {};
  if (::fstatfs(fd, &info) != 0 || InMemory(info)) return absl::OkStatus();
  if (bytes == 0 || ::fallocate(fd, 0, 0, static_cast<off_t>(bytes)) == 0) return absl::OkStatus();
  const int error = errno;
  if (error != ENOSPC && error != EDQUOT && error != EFBIG) return absl::OkStatus();
  return CannotWrite(error, path, "cannot be written");
}

}  // namespace

absl::Status DirectoryWriter::CheckVacant(const std::string& directory) {
  if (const char* const reason = ReasonToStay(directory)) {
    return absl::FailedPreconditionError(absl::StrCat(
        directory, ": ", reason, ", which cannot be replaced; name a directory in it, such as ",
        (fs::path(directory) / "model").string()));
  }
  std::error_code error;
  const fs::file_status status = fs::symlink_status(directory, error);
  if (status.type() == fs::file_type::not_found) return absl::OkStatus();
  if (status.type() == fs::file_type::none) return CannotBeMade(error.value(), directory);
  if (status.type() == fs::file_type::directory && fs::is_empty(directory, error) && !error) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(
      absl::StrCat(directory, ": exists and is no empty directory; choose another one"));
}

absl::StatusOr<std::unique_ptr<DirectoryWriter>> DirectoryWriter::Create(const std::string& path,
                                                                         uint64_t bytes) {
  const std::string directory = WithoutTrailingSlashes(path);
  if (directory.empty()) return absl::InvalidArgumentError("the directory's name is empty");
  if (absl::Status status = CheckVacant(directory); !status.ok()) return status;
  RemoveDead(directory);
  if (absl::Status status = CheckSpace(ParentOf(directory), bytes); !status.ok()) return status;
  const auto partial = MakePartial(directory);
  if (!partial.ok()) return partial.status();
  return std::unique_ptr<DirectoryWriter>(
      new DirectoryWriter(directory, partial->first, partial->second));
}

bool DirectoryWriter::IsInMemory(const std::string& directory) {
  struct statfs info = {};
  if (::statfs(ParentOf(WithoutTrailingSlashes(directory)).c_str(), &info) != 0) return false;
  return InMemory(info);
}

DirectoryWriter::DirectoryWriter(std::string directory, std::string partial, int lock)
    : directory_(std::move(directory)), partial_(std::move(partial)), lock_(lock) {}

DirectoryWriter::~DirectoryWriter() {
  Abandon();
  ::close(lock_);
}

absl::Status DirectoryWriter::Write(const Attachment& attachment, const std::byte* memory,
                                    const std::function<void(uint64_t)>& progress) {
  const char* data = reinterpret_cast<const char*>(memory);
  for (const SplitFile& file : attachment.files) {
    const std::string_view content(data, file.header.data_bytes);
    absl::Status status = WriteFile(file.name, file.header.raw, content, progress);
    if (!status.ok()) return status;
    if (data != nullptr) data += file.header.data_bytes;
  }
  for (const ExtraFile& file : attachment.extras) {
    std::error_code error;
    if (fs::exists(fs::path(partial_) / file.name, error)) continue;
    absl::Status status = WriteFile(file.name, file.content, "", progress);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<int> DirectoryWriter::OpenNew(const std::string& name) {
  MutexLock lock(mutex_);
  const std::string path = fs::path(partial_) / name;
  if (abandoned_) return absl::CancelledError("interrupted");
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return CannotWrite(errno, path, "cannot be made");
  return fd;
}

absl::Status DirectoryWriter::WriteFile(const std::string& name, std::string_view first,
                                        std::string_view second, const Progress& progress) {
  const absl::StatusOr<int> fd = OpenNew(name);
  if (!fd.ok()) return fd.status();
  absl::Status status = Reserve(*fd, directory_ + "/" + name, first.size() + second.size());
  if (status.ok()) status = WriteBlocks(*fd, name, 0, first, nullptr);
  if (status.ok()) status = WriteBlocks(*fd, name, first.size(), second, progress);
  const absl::Status finished = Finish(*fd, name);
  return status.ok() ? finished : status;
}

// Several threads write: one alone cannot fill the page cache as fast as a disk may be, or memory.
absl::Status DirectoryWriter::WriteBlocks(int fd, const std::string& name, uint64_t offset,
                                          std::string_view content, const Progress& progress) {
  const size_t blocks = (content.size() + kBlockBytes - 1) / kBlockBytes;
  std::atomic<size_t> next = 0;
  Mutex mutex;
  absl::Status first_error;
  const auto run = [&] {
    for (size_t i = next++; i < blocks; i = next++) {
      const std::string_view block = content.substr(i * kBlockBytes, kBlockBytes);
      const absl::Status status = WriteBlock(fd, name, offset + i * kBlockBytes, block);
      MutexLock lock(mutex);
      first_error.Update(status);
      if (!first_error.ok()) return;
      if (progress) progress(block.size());
    }
  };
  const size_t threads =
      std::min<size_t>(std::clamp(std::thread::hardware_concurrency(), 1u, kThreadsMax), blocks);
  RunInThreads(threads, run);
  return first_error;
}

bool DirectoryWriter::Enter() {
  MutexLock lock(mutex_);
  if (!abandoned_) ++writing_;
  return !abandoned_;
}

void DirectoryWriter::Leave() {
  MutexLock lock(mutex_);
  if (--writing_ == 0) left_.NotifyAll();
}

absl::Status DirectoryWriter::WriteBlock(int fd, const std::string& name, uint64_t offset,
                                         std::string_view block) {
  if (!Enter()) return absl::CancelledError("interrupted");
  int error = 0;
  for (std::string_view left = block; !left.empty() && error == 0;) {
    const auto at = static_cast<off_t>(offset + block.size() - left.size());
    const ssize_t written = ::pwrite(fd, left.data(), left.size(), at);
    if (written < 0 && errno != EINTR) error = errno;
    if (written > 0) left.remove_prefix(static_cast<size_t>(written));
  }
  // The disk works while the rest is copied; a wish.
  static_cast<void>(::sync_file_range(fd, static_cast<off_t>(offset),
                                      static_cast<off_t>(block.size()), SYNC_FILE_RANGE_WRITE));
  Leave();
  if (error == 0) return absl::OkStatus();
  return CannotWrite(error, directory_ + "/" + name, "cannot be written");
}

absl::Status DirectoryWriter::Finish(int fd, const std::string& name) {
  int error = ::fsync(fd) == 0 ? 0 : errno;
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error == 0) return absl::OkStatus();
  return CannotWrite(error, directory_ + "/" + name, "cannot be made durable");
}

absl::Status DirectoryWriter::Commit() {
  if (absl::Status status = SyncTree(partial_); !status.ok()) return status;
  MutexLock lock(mutex_);
  if (abandoned_) return absl::CancelledError("interrupted");
  // Replaces an empty directory; anything else that appeared meanwhile stays.
  if (::rename(partial_.c_str(), directory_.c_str()) != 0) {
    return CannotWrite(errno, directory_, "cannot take its place");
  }
  committed_ = true;
  return SyncDirectory(ParentOf(directory_));
}

void DirectoryWriter::Abandon() {
  MutexLock lock(mutex_);
  if (abandoned_ || committed_) return;
  abandoned_ = true;
  while (writing_ > 0) left_.Wait(mutex_);
  std::error_code error;
  fs::remove_all(partial_, error);
  if (error) std::fprintf(stderr, "%s: cannot be removed\n", partial_.c_str());
}

}  // namespace tensorhub::safetensors
