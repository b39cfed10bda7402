// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/safetensors/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/safetensors/names.h"

namespace tensorhub::safetensors {
namespace {

absl::Status CannotRead(int error, const std::string& path, const std::string& what) {
  return absl::Status(absl::ErrnoToStatusCode(error),
                      absl::StrCat(path, ": ", what, ": ", std::strerror(error)));
}

FileState StateOf(const struct stat& info) {
  return {static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino),
          static_cast<uint64_t>(info.st_size), info.st_mtim};
}

}  // namespace

bool FileState::operator==(const FileState& other) const {
  return device == other.device && inode == other.inode && bytes == other.bytes &&
         changed.tv_sec == other.changed.tv_sec && changed.tv_nsec == other.changed.tv_nsec;
}

absl::StatusOr<InputFile> InputFile::Open(const std::string& path) {
  // Not blocking: a named pipe would otherwise wait for a writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return CannotRead(errno, path, "cannot be opened");
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a regular file"));
  }
  return InputFile(path, fd, StateOf(info));
}

InputFile::InputFile(std::string path, int fd, const FileState& state)
    : path_(std::move(path)), fd_(fd), state_(state) {}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), state_(other.state_) {}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

absl::Status InputFile::CheckStill(const FileState& state) const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) return CannotRead(errno, path_, "cannot be looked at");
  if (StateOf(info) == state) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(path_, ": was written to while it was read; try again once it is complete"));
}

absl::Status InputFile::ReadAt(uint64_t offset, void* out, size_t count) const {
  char* to = static_cast<char*>(out);
  while (count > 0) {
    const ssize_t got = ::pread(fd_, to, count, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(errno, path_, "cannot be read");
    if (got == 0) {
      return absl::DataLossError(
          absl::StrCat(path_, ": ends at byte ", offset, ", ", count, " bytes early"));
    }
    to += got;
    offset += static_cast<uint64_t>(got);
    count -= static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadWhole(const std::string& path, uint64_t bytes_max) {
  const absl::StatusOr<InputFile> file = InputFile::Open(path);
  if (!file.ok()) return file.status();
  if (file->bytes() > bytes_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": has ", file->bytes(), " bytes, at most ", bytes_max, " are allowed"));
  }
  std::string content(file->bytes(), '\0');
  if (absl::Status status = file->ReadAt(0, content.data(), content.size()); !status.ok()) {
    return status;
  }
  if (absl::Status status = file->CheckStill(file->state()); !status.ok()) return status;
  return content;
}

}  // namespace tensorhub::safetensors
