// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// SQLite as this project uses it: one connection, statements that are prepared once, and errors as
// absl::Status. sqlite3.h stays behind it.
//
// Thread contract: one thread at a time.

#ifndef TENSORHUB_SERVER_STORE_SQLITE_H_
#define TENSORHUB_SERVER_STORE_SQLITE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tensorhub::store {

// A statement of a connection, which must outlive it. Parameters count from 1, columns from 0.
// What is bound has to stay until the next Reset. Unsigned numbers are kept as the signed ones with
// the same bits, since SQLite knows no others.
class Statement {
 public:
  Statement() = default;

  void Bind(int parameter, uint64_t number);
  void Bind(int parameter, const std::optional<int>& number);
  void BindText(int parameter, std::string_view text);
  void BindBlob(int parameter, std::string_view bytes);

  // True: there is a row to look at. False: done, and bound anew from here on.
  absl::StatusOr<bool> Step();
  // Runs a statement that returns no rows.
  absl::Status Run();

  uint64_t Number(int column) const;
  bool IsNull(int column) const;
  std::string Bytes(int column) const;  // of a text or a blob

 private:
  friend class Sqlite;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string path_;
};

class Sqlite {
 public:
  enum class Mode { kCreate, kExisting };
  static absl::StatusOr<std::unique_ptr<Sqlite>> Open(const std::string& path, Mode mode);
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;

  const std::string& path() const { return path_; }
  absl::StatusOr<Statement> Prepare(std::string_view sql);
  // Any number of statements; rows are thrown away.
  absl::Status Execute(const std::string& sql);
  // The first column of the first row.
  absl::StatusOr<std::string> Ask(std::string_view sql);

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  explicit Sqlite(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  std::unique_ptr<sqlite3, Close> connection_;
};

// DATA_LOSS: the file is not what a server wrote. One line: which file, why, what to do.
absl::Status Damaged(const std::string& path, std::string_view why);

}  // namespace tensorhub::store

#endif  // TENSORHUB_SERVER_STORE_SQLITE_H_
