// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/sqlite_store.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "server/store/schema.h"

namespace tensorhub::store {
namespace {

constexpr char kFile[] = "hub.db";
constexpr char kAside[] = "hub.db.new";
// What SQLite keeps beside a database.
constexpr const char* kSuffixes[] = {"-wal", "-shm", "-journal"};

// One owner, who has the lock: no shared memory is needed, and a look from outside cannot hold up
// a commit.
constexpr char kToRead[] =
    "PRAGMA locking_mode = EXCLUSIVE;"
    "PRAGMA cell_size_check = ON;"
    "PRAGMA trusted_schema = OFF;";
// This changes the file: only once it is known to be ours and sound.
constexpr char kToWrite[] =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = FULL;";

absl::Status RemoveBeside(const DataDir& dir, const std::string& file) {
  for (const char* suffix : kSuffixes) {
    if (absl::Status status = dir.Remove(file + suffix); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& directory) {
  absl::StatusOr<std::unique_ptr<DataDir>> dir = DataDir::Open(directory);
  if (!dir.ok()) return dir.status();
  std::unique_ptr<SqliteStore> store(new SqliteStore(*std::move(dir)));
  if (absl::Status status = store->CreateIfMissing(); !status.ok()) return status;
  if (absl::Status status = store->OpenDatabase(); !status.ok()) return status;
  return store;
}

// Written aside and renamed, so that a crash leaves nothing or a whole one. A log that was left
// behind by a database that is gone must not be taken for this one's.
absl::Status SqliteStore::CreateIfMissing() {
  const std::string path = dir_->File(kFile);
  if (std::filesystem::exists(path)) {
    earlier_life_ = true;
    return dir_->RetireOldIdentity();
  }
  const absl::StatusOr<std::optional<ServerIdentity>> old = dir_->OldIdentity();
  if (!old.ok()) return old.status();
  earlier_life_ = old->has_value();
  const ServerIdentity identity =
      old->value_or(ServerIdentity{.store_id = Random(RandomSeed()).NextId(), .epoch = 0});
  absl::Status status = RemoveBeside(*dir_, kFile);
  if (status.ok()) status = RemoveBeside(*dir_, kAside);
  if (status.ok()) status = dir_->Remove(kAside);
  if (!status.ok()) return status;
  absl::StatusOr<std::unique_ptr<Sqlite>> aside =
      Sqlite::Open(dir_->File(kAside), Sqlite::Mode::kCreate);
  if (!aside.ok()) return aside.status();
  if (status = CreateTables(**aside, identity); !status.ok()) return status;
  aside->reset();
  if (status = dir_->Rename(kAside, kFile); !status.ok()) return status;
  return dir_->RetireOldIdentity();
}

absl::Status SqliteStore::OpenDatabase() {
  absl::StatusOr<std::unique_ptr<Sqlite>> database =
      Sqlite::Open(dir_->File(kFile), Sqlite::Mode::kExisting);
  if (!database.ok()) return database.status();
  database_ = *std::move(database);
  absl::Status status = database_->Execute(kToRead);
  if (status.ok()) status = CheckSchema(*database_);
  if (status.ok()) status = Check();
  if (status.ok()) status = database_->Execute(kToWrite);
  if (status.ok()) status = BringUpToDate(*database_);
  if (!status.ok()) return status;
  absl::StatusOr<Statement> begin = database_->Prepare("BEGIN IMMEDIATE");
  absl::StatusOr<Statement> commit = database_->Prepare("COMMIT");
  absl::StatusOr<RowWriter> writer = RowWriter::Prepare(*database_);
  if (!begin.ok()) return begin.status();
  if (!commit.ok()) return commit.status();
  if (!writer.ok()) return writer.status();
  begin_ = *std::move(begin);
  commit_ = *std::move(commit);
  writer_ = *std::move(writer);
  return absl::OkStatus();
}

absl::Status SqliteStore::Check() {
  const absl::StatusOr<std::string> answer = database_->Ask("PRAGMA integrity_check(1)");
  if (!answer.ok()) return answer.status();
  return *answer == "ok" ? absl::OkStatus() : Damaged(database_->path(), *answer);
}

absl::StatusOr<Loaded> SqliteStore::Load() {
  const absl::StatusOr<ServerIdentity> identity = RaiseEpoch();
  if (!identity.ok()) return identity.status();
  auto models = ReadModels(*database_);
  if (!models.ok()) return models.status();
  auto groups = ReadGroups(*database_);
  if (!groups.ok()) return groups.status();
  auto retention = ReadRetention(*database_);
  if (!retention.ok()) return retention.status();
  auto workers = ReadWorkers(*database_);
  if (!workers.ok()) return workers.status();
  auto adopted = ReadAdopted(*database_);
  if (!adopted.ok()) return adopted.status();
  return Loaded{*identity,
                earlier_life_,
                {*std::move(models), *std::move(groups), *std::move(retention), *std::move(workers),
                 *std::move(adopted)}};
}

absl::StatusOr<ServerIdentity> SqliteStore::RaiseEpoch() {
  absl::StatusOr<Statement> raise =
      database_->Prepare("UPDATE identity SET epoch = epoch + 1 RETURNING store_id, epoch");
  if (!raise.ok()) return raise.status();
  absl::StatusOr<bool> row = raise->Step();
  if (!row.ok()) return row.status();
  const std::optional<Id128> id = *row ? FromBytes(raise->Bytes(0)) : std::nullopt;
  if (!id || !*id) return Damaged(database_->path(), "table identity");
  const ServerIdentity identity{*id, raise->Number(1)};
  // The row is on disk when the statement has ended.
  row = raise->Step();
  if (!row.ok()) return row.status();
  return identity;
}

// What is left open after an error is rolled back when the connection ends.
absl::Status SqliteStore::Commit(const hub::Persist& rows) {
  absl::Status status = begin_.Run();
  if (status.ok()) status = writer_.Write(rows);
  return status.ok() ? commit_.Run() : status;
}

}  // namespace tensorhub::store
