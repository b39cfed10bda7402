// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The tables of the database, and how an older one becomes the present one. PRAGMA user_version
// counts the steps that were taken.

#ifndef TENSORHUB_SERVER_STORE_SCHEMA_H_
#define TENSORHUB_SERVER_STORE_SCHEMA_H_

#include "server/store/identity.h"
#include "server/store/sqlite.h"

namespace tensorhub::store {

// FAILED_PRECONDITION: a newer server wrote it. DATA_LOSS: it is no database of this program, or a
// damaged one. Changes nothing.
absl::Status CheckSchema(Sqlite& database);

// Takes the steps that are missing, in one transaction.
absl::Status BringUpToDate(Sqlite& database);

// An empty file becomes a database with this identity.
absl::Status CreateTables(Sqlite& database, const ServerIdentity& identity);

}  // namespace tensorhub::store

#endif  // TENSORHUB_SERVER_STORE_SCHEMA_H_
