// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The hub's rows as rows of tables. R9: what is read is checked like any other input.

#ifndef TENSORHUB_SERVER_STORE_ROWS_H_
#define TENSORHUB_SERVER_STORE_ROWS_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "server/core/durable.h"
#include "server/store/sqlite.h"

namespace tensorhub::store {

// DATA_LOSS names the table and the row that cannot be.
absl::StatusOr<std::map<std::string, hub::ModelRow>> ReadModels(Sqlite& database);
absl::StatusOr<std::map<hub::GroupKey, hub::GroupRow>> ReadGroups(Sqlite& database);
absl::StatusOr<std::map<std::string, hub::RetentionRow>> ReadRetention(Sqlite& database);
absl::StatusOr<std::map<WorkerKey, hub::WorkerRow>> ReadWorkers(Sqlite& database);
absl::StatusOr<std::map<Id128, hub::AdoptedRow>> ReadAdopted(Sqlite& database);

// The statements that write rows, prepared once; within a transaction of the caller's.
class RowWriter {
 public:
  static absl::StatusOr<RowWriter> Prepare(Sqlite& database);

  absl::Status Write(const hub::Persist& rows);

 private:
  absl::Status Write(const std::string& model, const std::optional<hub::ModelRow>& row);
  absl::Status Write(const hub::GroupKey& key, const std::optional<hub::GroupRow>& row);
  absl::Status Write(const std::string& model, const std::optional<hub::RetentionRow>& row);
  absl::Status Write(const WorkerKey& key, const std::optional<hub::WorkerRow>& row);
  absl::Status Write(const Id128& store, const std::optional<hub::AdoptedRow>& row);

  Statement put_model_;
  Statement drop_model_;
  Statement put_group_;
  Statement drop_group_;
  Statement put_retention_;
  Statement drop_retention_;
  Statement put_worker_;
  Statement drop_worker_;
  Statement put_adopted_;
  Statement drop_adopted_;
};

// One record per rank, of fixed length.
std::string EncodeMembers(const std::map<Rank, hub::MemberRow>& members);
std::optional<std::map<Rank, hub::MemberRow>> DecodeMembers(std::string_view bytes);

// The group, then one record per rank, of fixed length.
std::string EncodePublishers(const hub::PublishersRow& publishers);
std::optional<hub::PublishersRow> DecodePublishers(std::string_view bytes);

// One record per pin, by name.
// Of Terms::line.
std::string EncodeTerms(const std::vector<Term>& terms);
std::optional<std::vector<Term>> DecodeTerms(std::string_view bytes);

std::string EncodePins(const std::map<std::string, hub::PinRow>& pins);
std::optional<std::map<std::string, hub::PinRow>> DecodePins(std::string_view bytes);

}  // namespace tensorhub::store

#endif  // TENSORHUB_SERVER_STORE_ROWS_H_
