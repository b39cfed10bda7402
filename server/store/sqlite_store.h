// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The store in a directory: DIR/hub.db, an SQLite database with a write-ahead log, of which each
// batch is one transaction that is synced before it counts. DIR/LOCK keeps a second server off.
//
// 1. A batch is there whole or not at all, whenever the process or the machine stops.
// 2. DIR/hub.db appears whole, with an identity in it: an empty or broken one is damage, never a
//    start from nothing.
// 3. What a newer server wrote is refused; what an older one wrote is brought up to date, once.
//
// Backups: copy DIR while no server runs on it.

#ifndef TENSORHUB_SERVER_STORE_SQLITE_STORE_H_
#define TENSORHUB_SERVER_STORE_SQLITE_STORE_H_

#include <memory>
#include <string>

#include "server/store/data_dir.h"
#include "server/store/rows.h"
#include "server/store/sqlite.h"
#include "server/store/store.h"

namespace tensorhub::store {

class SqliteStore final : public Store {
 public:
  // Makes the directory and the database if they are missing. Errors are one line that names the
  // file and what to do: FAILED_PRECONDITION (another server has it, or a newer one wrote it),
  // DATA_LOSS (it is damaged), and what the system says otherwise.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(const std::string& directory);

  absl::StatusOr<Loaded> Load() override;
  absl::Status Commit(const hub::Persist& rows) override;
  bool blocks() const override { return true; }

 private:
  explicit SqliteStore(std::unique_ptr<DataDir> dir) : dir_(std::move(dir)) {}
  absl::Status CreateIfMissing();
  absl::Status OpenDatabase();
  absl::Status Check();
  absl::StatusOr<ServerIdentity> RaiseEpoch();

  const std::unique_ptr<DataDir> dir_;
  bool earlier_life_ = false;
  std::unique_ptr<Sqlite> database_;
  Statement begin_;
  Statement commit_;
  RowWriter writer_;
};

}  // namespace tensorhub::store

#endif  // TENSORHUB_SERVER_STORE_SQLITE_STORE_H_
