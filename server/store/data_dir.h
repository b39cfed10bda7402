// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A directory that belongs to one server at a time: DIR/LOCK is held with flock as long as this
// object lives. And what servers without a database kept there, DIR/identity.
//
// Thread contract: none.

#ifndef TENSORHUB_SERVER_STORE_DATA_DIR_H_
#define TENSORHUB_SERVER_STORE_DATA_DIR_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/store/identity.h"

namespace tensorhub::store {

class DataDir {
 public:
  // Makes the directory if it is missing, and locks it. Errors are one line that names the path and
  // what to do: FAILED_PRECONDITION (another server has it), and what the system says otherwise.
  static absl::StatusOr<std::unique_ptr<DataDir>> Open(const std::string& path);
  ~DataDir();
  DataDir(const DataDir&) = delete;
  DataDir& operator=(const DataDir&) = delete;

  std::string File(const std::string& name) const { return path_ + "/" + name; }

  // DIR/identity, or nothing if there is none. DATA_LOSS: it is damaged.
  absl::StatusOr<std::optional<ServerIdentity>> OldIdentity() const;
  // The identity is in the database now; the file stays, under another name.
  absl::Status RetireOldIdentity() const;

  // Both files in this directory; once it returns, the new name is on disk.
  absl::Status Rename(const std::string& from, const std::string& to) const;
  // What is not there is removed already.
  absl::Status Remove(const std::string& name) const;

 private:
  DataDir(std::string path, int lock_fd) : path_(std::move(path)), lock_fd_(lock_fd) {}

  const std::string path_;
  const int lock_fd_;
};

// One line that names the path and what to do.
absl::Status DataDirError(const std::string& what, const std::string& path, int error);

}  // namespace tensorhub::store

#endif  // TENSORHUB_SERVER_STORE_DATA_DIR_H_
