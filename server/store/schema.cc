// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/schema.h"

#include <iterator>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tensorhub::store {
namespace {

constexpr int kApplicationId = 0x54486231;  // "THb1": whose database this is

// Step N makes schema N+1 of schema N. A step that a server has taken anywhere never changes; what
// is to be different is a further step.
constexpr const char* kSteps[] = {
    R"sql(
CREATE TABLE identity (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  store_id BLOB NOT NULL,
  epoch INTEGER NOT NULL
) STRICT;
CREATE TABLE models (
  model TEXT PRIMARY KEY,
  latest INTEGER NOT NULL,
  publication BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE group_fetches (
  model TEXT NOT NULL,
  group_name TEXT NOT NULL,
  transaction_id BLOB NOT NULL,
  publication BLOB NOT NULL,
  version INTEGER NOT NULL,
  world_size INTEGER NOT NULL,
  chunk_bytes INTEGER NOT NULL,
  members BLOB NOT NULL,
  outcome_code INTEGER,
  outcome_message TEXT,
  PRIMARY KEY (model, group_name)
) STRICT, WITHOUT ROWID;
)sql",
    R"sql(
CREATE TABLE retention (
  model TEXT PRIMARY KEY,
  keep_latest INTEGER,
  pins BLOB NOT NULL
) STRICT, WITHOUT ROWID;
)sql",
    R"sql(
ALTER TABLE models ADD COLUMN identity BLOB NOT NULL DEFAULT x'';
ALTER TABLE models ADD COLUMN publishers BLOB NOT NULL DEFAULT x'';
ALTER TABLE group_fetches ADD COLUMN identity BLOB NOT NULL DEFAULT x'';
)sql",
    R"sql(
ALTER TABLE models ADD COLUMN terms BLOB NOT NULL DEFAULT x'';
ALTER TABLE models ADD COLUMN term_by TEXT NOT NULL DEFAULT '';
ALTER TABLE group_fetches ADD COLUMN term INTEGER NOT NULL DEFAULT 0;
ALTER TABLE group_fetches ADD COLUMN term_since INTEGER NOT NULL DEFAULT 0;
)sql",
    R"sql(
ALTER TABLE group_fetches ADD COLUMN outcome_outage INTEGER NOT NULL DEFAULT 0;
)sql",
    R"sql(
CREATE TABLE workers (
  model TEXT NOT NULL,
  group_name TEXT NOT NULL,
  rank INTEGER NOT NULL,
  incarnation INTEGER NOT NULL,
  away BLOB NOT NULL,
  PRIMARY KEY (model, group_name, rank)
) STRICT, WITHOUT ROWID;
)sql",
    R"sql(
ALTER TABLE group_fetches ADD COLUMN sharding BLOB NOT NULL DEFAULT x'';
)sql",
    R"sql(
ALTER TABLE group_fetches ADD COLUMN sharding_full INTEGER NOT NULL DEFAULT 0;
)sql",
    R"sql(
ALTER TABLE workers ADD COLUMN withdrawn INTEGER NOT NULL DEFAULT 0;
CREATE TABLE adopted (
  store_id BLOB PRIMARY KEY,
  settled INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
)sql",
};
constexpr int kSchema = static_cast<int>(std::size(kSteps));

absl::StatusOr<int> AskNumber(Sqlite& database, const char* pragma) {
  const absl::StatusOr<std::string> answer = database.Ask(pragma);
  if (!answer.ok()) return answer.status();
  int number = 0;
  if (!absl::SimpleAtoi(*answer, &number)) return Damaged(database.path(), pragma);
  return number;
}

// In one transaction, so that a crash leaves the schema before or the one after.
std::string StepsFrom(int schema) {
  std::string sql = "BEGIN IMMEDIATE;";
  for (int step = schema; step < kSchema; ++step) absl::StrAppend(&sql, kSteps[step]);
  absl::StrAppend(&sql, "PRAGMA user_version = ", kSchema, ";");
  return sql;
}

}  // namespace

absl::Status CheckSchema(Sqlite& database) {
  const absl::StatusOr<int> application = AskNumber(database, "PRAGMA application_id");
  if (!application.ok()) return application.status();
  if (*application != kApplicationId) {
    return Damaged(database.path(), "it is not a database of tensorhub-server");
  }
  const absl::StatusOr<int> schema = AskNumber(database, "PRAGMA user_version");
  if (!schema.ok()) return schema.status();
  if (*schema > kSchema) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--data-dir: ", database.path(), " has schema ", *schema, ", this tensorhub-server knows ",
        kSchema, ": start the newer version that wrote it, or name another directory"));
  }
  return *schema < 1 ? Damaged(database.path(), "it has no schema") : absl::OkStatus();
}

absl::Status BringUpToDate(Sqlite& database) {
  const absl::StatusOr<int> schema = AskNumber(database, "PRAGMA user_version");
  if (!schema.ok()) return schema.status();
  if (*schema == kSchema) return absl::OkStatus();
  return database.Execute(StepsFrom(*schema) + "COMMIT;");
}

absl::Status CreateTables(Sqlite& database, const ServerIdentity& identity) {
  absl::Status status =
      database.Execute(absl::StrCat(StepsFrom(0), "PRAGMA application_id = ", kApplicationId, ";"));
  if (!status.ok()) return status;
  absl::StatusOr<Statement> insert =
      database.Prepare("INSERT INTO identity (one, store_id, epoch) VALUES (1, ?1, ?2)");
  if (!insert.ok()) return insert.status();
  const std::string id = ToBytes(identity.store_id);
  insert->BindBlob(1, id);
  insert->Bind(2, identity.epoch);
  if (status = insert->Run(); !status.ok()) return status;
  return database.Execute("COMMIT");
}

}  // namespace tensorhub::store
