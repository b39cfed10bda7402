// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/sqlite.h"

#include <sqlite3.h>

#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace tensorhub::store {
namespace {

absl::StatusCode CodeOf(int result) {
  switch (result & 0xff) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::StatusCode::kFailedPrecondition;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      return absl::StatusCode::kPermissionDenied;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

// `connection` may be null. The reason is the system's where it has one.
absl::Status ErrorOf(int result, sqlite3* connection, const std::string& path) {
  const int primary = result & 0xff;
  const std::string why =
      connection == nullptr ? sqlite3_errstr(result) : sqlite3_errmsg(connection);
  if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB) return Damaged(path, why);
  if (primary == SQLITE_BUSY) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--data-dir: another program has ", path, " open: end it, then start the server again"));
  }
  return absl::Status(CodeOf(result),
                      absl::StrCat("--data-dir: cannot use ", path, " (", why,
                                   "): make the disk writable with room to spare, then start the ",
                                   "server again"));
}

int Length(std::string_view text) { return static_cast<int>(text.size()); }

}  // namespace

absl::Status Damaged(const std::string& path, std::string_view why) {
  return absl::DataLossError(absl::StrCat("--data-dir: ", path, " is damaged (", std::string(why),
                                          "): restore it from a backup, or ",
                                          "start without --data-dir, which keeps what workers "
                                          "hold; docs/operations.md says how to go on"));
}

// --- statements ----------------------------------------------------------------------------------

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Statement::Bind(int parameter, uint64_t number) {
  const auto value = std::bit_cast<sqlite3_int64>(number);
  TH_CHECK(sqlite3_bind_int64(statement_.get(), parameter, value) == SQLITE_OK);
}

void Statement::Bind(int parameter, const std::optional<int>& number) {
  const int result = number ? sqlite3_bind_int(statement_.get(), parameter, *number)
                            : sqlite3_bind_null(statement_.get(), parameter);
  TH_CHECK(result == SQLITE_OK);
}

void Statement::BindText(int parameter, std::string_view text) {
  TH_CHECK(sqlite3_bind_text(statement_.get(), parameter, text.data(), Length(text),
                             SQLITE_STATIC) == SQLITE_OK);
}

void Statement::BindBlob(int parameter, std::string_view bytes) {
  TH_CHECK(sqlite3_bind_blob(statement_.get(), parameter, bytes.data(), Length(bytes),
                             SQLITE_STATIC) == SQLITE_OK);
}

absl::StatusOr<bool> Statement::Step() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  // The message has to be fetched before the reset, which may change it.
  const absl::Status status = result == SQLITE_DONE
                                  ? absl::OkStatus()
                                  : ErrorOf(result, sqlite3_db_handle(statement_.get()), path_);
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
  if (!status.ok()) return status;
  return false;
}

absl::Status Statement::Run() {
  const absl::StatusOr<bool> row = Step();
  TH_CHECK(!row.ok() || !*row);
  return row.status();
}

uint64_t Statement::Number(int column) const {
  return std::bit_cast<uint64_t>(sqlite3_column_int64(statement_.get(), column));
}

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::string Statement::Bytes(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  const int bytes = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr ? std::string() : std::string(data, static_cast<size_t>(bytes));
}

// --- the connection ------------------------------------------------------------------------------

void Sqlite::Close::operator()(sqlite3* connection) const { sqlite3_close(connection); }

absl::StatusOr<std::unique_ptr<Sqlite>> Sqlite::Open(const std::string& path, Mode mode) {
  std::unique_ptr<Sqlite> sqlite(new Sqlite(path));
  const int create = mode == Mode::kCreate ? SQLITE_OPEN_CREATE : 0;
  sqlite3* connection = nullptr;
  const int result =
      sqlite3_open_v2(path.c_str(), &connection, SQLITE_OPEN_READWRITE | create, nullptr);
  sqlite->connection_.reset(connection);
  if (result != SQLITE_OK) return ErrorOf(result, connection, path);
  sqlite3_extended_result_codes(connection, 1);
  return sqlite;
}

absl::StatusOr<Statement> Sqlite::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int result = sqlite3_prepare_v3(connection_.get(), sql.data(), Length(sql),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (result != SQLITE_OK) return ErrorOf(result, connection_.get(), path_);
  Statement prepared;
  prepared.statement_.reset(statement);
  prepared.path_ = path_;
  return prepared;
}

absl::Status Sqlite::Execute(const std::string& sql) {
  const int result = sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  return result == SQLITE_OK ? absl::OkStatus() : ErrorOf(result, connection_.get(), path_);
}

absl::StatusOr<std::string> Sqlite::Ask(std::string_view sql) {
  absl::StatusOr<Statement> statement = Prepare(sql);
  if (!statement.ok()) return statement.status();
  const absl::StatusOr<bool> row = statement->Step();
  if (!row.ok()) return row.status();
  return *row ? statement->Bytes(0) : std::string();
}

}  // namespace tensorhub::store
