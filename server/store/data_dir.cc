// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/data_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/layout.h"

namespace tensorhub::store {
namespace {

constexpr char kFormat[] = "tensorhub-identity 1";
constexpr char kOldIdentity[] = "identity";
constexpr size_t kFileBytesMax = 4096;

// Closes the descriptor on every way out.
class OpenFile {
 public:
  OpenFile(const std::string& path, int flags) : fd_(open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

std::string Encode(const ServerIdentity& identity) {
  const std::string body =
      absl::StrCat(kFormat, "\nstore ", ToHex(identity.store_id), "\nepoch ", identity.epoch, "\n");
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

absl::StatusOr<int> Lock(const std::string& directory) {
  const std::string path = directory + "/LOCK";
  OpenFile file(path, O_RDWR | O_CREAT);
  if (file.fd() < 0) return DataDirError("write", path, errno);
  if (flock(file.fd(), LOCK_EX | LOCK_NB) == 0) return file.Release();
  if (errno != EWOULDBLOCK) return DataDirError("lock", path, errno);
  return absl::FailedPreconditionError(absl::StrCat(
      "--data-dir: another server is using ", directory, ": stop it, or name another directory"));
}

}  // namespace

absl::Status DataDirError(const std::string& what, const std::string& path, int error) {
  return absl::Status(
      absl::ErrnoToStatusCode(error),
      absl::StrCat("--data-dir: cannot ", what, " ", path, " (", std::strerror(error),
                   "): make it writable with room to spare, or name another directory"));
}

absl::StatusOr<std::unique_ptr<DataDir>> DataDir::Open(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return DataDirError("make", path, error.value());
  absl::StatusOr<int> lock = Lock(path);
  if (!lock.ok()) return lock.status();
  return std::unique_ptr<DataDir>(new DataDir(path, *lock));
}

DataDir::~DataDir() { close(lock_fd_); }

absl::StatusOr<std::optional<ServerIdentity>> DataDir::OldIdentity() const {
  const std::string path = File(kOldIdentity);
  const OpenFile file(path, O_RDONLY);
  if (file.fd() < 0 && errno == ENOENT) return std::nullopt;
  if (file.fd() < 0) return DataDirError("read", path, errno);
  std::string content(kFileBytesMax, '\0');
  const ssize_t got = read(file.fd(), content.data(), content.size());
  if (got < 0) return DataDirError("read", path, errno);
  content.resize(static_cast<size_t>(got));
  const std::optional<ServerIdentity> identity = Decode(content);
  if (identity) return identity;
  return absl::DataLossError(absl::StrCat(
      "--data-dir: ", path, " is damaged: restore it from a backup, or start without ",
      "--data-dir, which keeps what workers hold; docs/operations.md says how to go on"));
}

absl::Status DataDir::RetireOldIdentity() const {
  if (!std::filesystem::exists(File(kOldIdentity))) return absl::OkStatus();
  return Rename(kOldIdentity, absl::StrCat(kOldIdentity, ".old"));
}

absl::Status DataDir::Rename(const std::string& from, const std::string& to) const {
  const std::string path = File(to);
  if (std::rename(File(from).c_str(), path.c_str()) != 0) {
    return DataDirError("replace", path, errno);
  }
  // The rename itself is on disk only once the directory is.
  const OpenFile parent(path_, O_RDONLY | O_DIRECTORY);
  if (parent.fd() < 0 || fsync(parent.fd()) != 0) return DataDirError("sync", path_, errno);
  return absl::OkStatus();
}

absl::Status DataDir::Remove(const std::string& name) const {
  const std::string path = File(name);
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return DataDirError("remove", path, errno);
}

}  // namespace tensorhub::store
