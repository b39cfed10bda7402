// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/data_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/layout.h"
#include "common/random.h"

namespace tensorhub::rpc {
namespace {

constexpr char kFormat[] = "tensorhub-identity 1";
constexpr size_t kFileBytesMax = 4096;

absl::Status SystemError(const std::string& what, const std::string& path, int error) {
  return absl::Status(
      absl::ErrnoToStatusCode(error),
      absl::StrCat("--data-dir: cannot ", what, " ", path, " (", std::strerror(error),
                   "): make it writable with room to spare, or name another directory"));
}

// Closes the descriptor on every way out.
class File {
 public:
  File(const std::string& path, int flags) : fd_(open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

std::string Body(const ServerIdentity& identity) {
  return absl::StrCat(kFormat, "\nstore ", ToHex(identity.store_id), "\nepoch ", identity.epoch,
                      "\n");
}

std::string Encode(const ServerIdentity& identity) {
  const std::string body = Body(identity);
  return absl::StrCat(body, "checksum ", ToHex(FingerprintOf(body)), "\n");
}

// Nothing for what Encode would not have written.
std::optional<ServerIdentity> Decode(const std::string& text) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (lines.size() != 5 || !lines[1].starts_with("store ") || !lines[2].starts_with("epoch ")) {
    return std::nullopt;
  }
  ServerIdentity identity;
  const std::optional<Id128> store = ParseHex(std::string_view(lines[1]).substr(6));
  if (!store || !*store || !absl::SimpleAtoi(lines[2].substr(6), &identity.epoch)) {
    return std::nullopt;
  }
  identity.store_id = *store;
  return Encode(identity) == text ? std::optional(identity) : std::nullopt;
}

absl::StatusOr<std::string> ReadWhole(int fd, const std::string& path) {
  std::string content(kFileBytesMax, '\0');
  const ssize_t got = read(fd, content.data(), content.size());
  if (got < 0) return SystemError("read", path, errno);
  content.resize(static_cast<size_t>(got));
  return content;
}

absl::Status WriteWhole(const std::string& path, const std::string& content) {
  const File file(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (file.fd() < 0) return SystemError("write", path, errno);
  const ssize_t written = write(file.fd(), content.data(), content.size());
  if (written < 0) return SystemError("write", path, errno);
  // A short write is a full disk.
  if (static_cast<size_t>(written) != content.size()) return SystemError("write", path, ENOSPC);
  if (fsync(file.fd()) != 0) return SystemError("write", path, errno);
  return absl::OkStatus();
}

absl::Status Replace(const std::string& directory, const std::string& path,
                     const std::string& content) {
  const std::string aside = path + ".new";
  if (absl::Status status = WriteWhole(aside, content); !status.ok()) return status;
  if (rename(aside.c_str(), path.c_str()) != 0) return SystemError("replace", path, errno);
  // The rename itself is on disk only once the directory is.
  const File parent(directory, O_RDONLY | O_DIRECTORY);
  if (parent.fd() < 0 || fsync(parent.fd()) != 0) return SystemError("sync", directory, errno);
  return absl::OkStatus();
}

absl::StatusOr<int> Lock(const std::string& directory) {
  const std::string path = directory + "/LOCK";
  File file(path, O_RDWR | O_CREAT);
  if (file.fd() < 0) return SystemError("write", path, errno);
  if (flock(file.fd(), LOCK_EX | LOCK_NB) == 0) return file.Release();
  if (errno != EWOULDBLOCK) return SystemError("lock", path, errno);
  return absl::FailedPreconditionError(absl::StrCat(
      "--data-dir: another server is using ", directory, ": stop it, or name another directory"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<DataDir>> DataDir::Open(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return SystemError("make", path, error.value());
  absl::StatusOr<int> lock = Lock(path);
  if (!lock.ok()) return lock.status();
  std::unique_ptr<DataDir> dir(new DataDir(path, *lock));
  if (absl::Status status = dir->LoadAndRaise(); !status.ok()) return status;
  return dir;
}

DataDir::~DataDir() { close(lock_fd_); }

absl::Status DataDir::LoadAndRaise() {
  const std::string path = path_ + "/identity";
  const File file(path, O_RDONLY);
  if (file.fd() < 0 && errno != ENOENT) return SystemError("read", path, errno);
  existed_ = file.fd() >= 0;
  if (existed_) {
    const absl::StatusOr<std::string> content = ReadWhole(file.fd(), path);
    if (!content.ok()) return content.status();
    const std::optional<ServerIdentity> identity = Decode(*content);
    if (!identity) {
      return absl::DataLossError(absl::StrCat(
          "--data-dir: ", path, " is damaged: restore it from a backup, or remove it to start as ",
          "a new hub (workers must then be restarted)"));
    }
    identity_ = *identity;
  } else {
    identity_.store_id = Random(RandomSeed()).NextId();
  }
  ++identity_.epoch;
  return Replace(path_, path, Encode(identity_));
}

ServerIdentity IdentityWithoutStore() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
  return {.store_id = {}, .epoch = static_cast<uint64_t>(ms)};
}

}  // namespace tensorhub::rpc
