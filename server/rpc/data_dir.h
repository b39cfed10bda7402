// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a server keeps on disk: its identity (rule R8), behind a lock that keeps a second server
// off the same data. DIR/LOCK is held with flock as long as this object lives, DIR/identity is
// replaced as a whole (written aside, synced, renamed), so that a crash leaves the old or the new.
//
// Thread contract: none; used at start only.

#ifndef TENSORHUB_SERVER_RPC_DATA_DIR_H_
#define TENSORHUB_SERVER_RPC_DATA_DIR_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/rpc/identity.h"

namespace tensorhub::rpc {

class DataDir {
 public:
  // Makes the directory if it is missing, locks it, reads the identity or invents one, raises the
  // epoch and writes it back. Errors are one line that names the path and what to do:
  // FAILED_PRECONDITION (another server has it), DATA_LOSS (the identity file is damaged), and
  // what the system says otherwise.
  static absl::StatusOr<std::unique_ptr<DataDir>> Open(const std::string& path);
  ~DataDir();
  DataDir(const DataDir&) = delete;
  DataDir& operator=(const DataDir&) = delete;

  const ServerIdentity& identity() const { return identity_; }
  // An earlier life of this server wrote here: its workers will come back.
  bool existed() const { return existed_; }

 private:
  DataDir(std::string path, int lock_fd) : path_(std::move(path)), lock_fd_(lock_fd) {}
  absl::Status LoadAndRaise();

  const std::string path_;
  const int lock_fd_;
  ServerIdentity identity_;
  bool existed_ = false;
};

// The identity of a server that keeps nothing: no store, and the wall clock as epoch, so that a
// restart counts as later.
ServerIdentity IdentityWithoutStore();

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_DATA_DIR_H_
