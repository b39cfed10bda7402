// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R6, R7, R8: which rows follow from the tables, and which tables from the rows. What an event
// changed is compared with what is kept, and goes before everything that the event causes.

#include "server/core/durable.h"

#include <utility>

#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

template <typename Key, typename Row>
void KeepRows(const std::map<Key, std::optional<Row>>& rows, std::map<Key, Row>& kept) {
  for (const auto& [key, row] : rows) {
    if (row) {
      kept[key] = *row;
    } else {
      kept.erase(key);
    }
  }
}

// Adds to `rows` what differs from what is kept.
template <typename Key, typename Row>
void Compare(const Key& key, std::optional<Row> row, const std::map<Key, Row>& kept,
             std::map<Key, std::optional<Row>>& rows) {
  const auto it = kept.find(key);
  const bool same = it == kept.end() ? !row : row && *row == it->second;
  if (!same) rows[key] = std::move(row);
}

template <typename Rows>
void AddRows(Rows later, Rows& rows) {
  for (auto& [key, row] : later) rows[key] = std::move(row);
}

GroupRow RowOf(const Transaction& transaction) {
  GroupRow row;
  row.transaction = transaction.id;
  row.publication = transaction.publication;
  row.version = transaction.version;
  row.term = transaction.term;
  row.world_size = transaction.world_size;
  row.chunk_bytes = transaction.chunk_bytes;
  row.sharding = transaction.sharding;
  for (const auto& [rank, member] : transaction.members) {
    row.members[rank] = {member.incarnation, member.join, member.already_held, member.attachment};
  }
  return row;
}

Transaction TransactionOf(const GroupRow& row) {
  Transaction transaction;
  transaction.id = row.transaction;
  transaction.publication = row.publication;
  transaction.version = row.version;
  transaction.term = row.term;
  transaction.world_size = row.world_size;
  transaction.chunk_bytes = row.chunk_bytes;
  transaction.sharding = row.sharding;
  for (const auto& [rank, member] : row.members) {
    transaction.members[rank] = {.incarnation = member.incarnation,
                                 .join = member.join,
                                 .attachment = member.attachment,
                                 .already_held = member.already_held};
  }
  return transaction;
}

}  // namespace

void Persist::Add(Persist later) {
  AddRows(std::move(later.models), models);
  AddRows(std::move(later.groups), groups);
  AddRows(std::move(later.retention), retention);
  AddRows(std::move(later.workers), workers);
  AddRows(std::move(later.adopted), adopted);
}

void Keep(const Persist& rows, DurableState& state) {
  KeepRows(rows.models, state.models);
  KeepRows(rows.groups, state.groups);
  KeepRows(rows.retention, state.retention);
  KeepRows(rows.workers, state.workers);
  KeepRows(rows.adopted, state.adopted);
}

void Hub::State::Restore() {
  for (const auto& [name, row] : durable_.models) {
    Model& model = models_[name];
    model.latest = row.latest;
    model.visible[row.latest] = row.publication;
    model.identity = row.identity;
    model.publishers = row.publishers;
    for (const Term& term : row.terms) model.terms.Begin(term);
    model.term_by = row.term_by;
  }
  for (const auto& [name, row] : durable_.retention) {
    models_.try_emplace(name);
    retention_.Restore(name, row);
  }
  for (const auto& [key, row] : durable_.groups) {
    Group& group = groups_[key];
    for (const auto& [rank, member] : row.members) RestoreMember(key, rank, member, row.world_size);
    if (row.outcome) {
      group.last = Outcome{TransactionOf(row), *row.outcome, row.identity, {}};
      for (const auto& [rank, member] : row.members) group.last->owed.insert(rank);
    } else {
      group.open = TransactionOf(row);
    }
  }
  absentees_.Restore(durable_.workers);
  adoptions_.rows = durable_.adopted;
}

// R6, R8: remembered like a worker whose lease has expired, so that its next session is told from
// one of another incarnation.
void Hub::State::RestoreMember(const GroupKey& key, Rank rank, const MemberRow& member,
                               uint32_t world_size) {
  const WorkerKey worker_key{key.model, key.group, rank};
  models_[key.model];
  Worker& worker = workers_[worker_key];
  worker.id = {worker_key, member.incarnation};
  Number(worker);
  worker.world_size = world_size;
  worker.died = started_;
  dead_.insert({started_, worker_key});
  ++restored_;
}

std::optional<ModelRow> Catalog::RowOfModel(const std::string& name) const {
  const auto it = models_.find(name);
  if (it == models_.end() || !it->second.latest) return std::nullopt;
  const Model& model = it->second;
  const VersionNumber latest = *model.latest;
  return ModelRow{latest,           model.visible.at(latest), model.identity,
                  model.publishers, model.terms.line(),       model.term_by};
}

std::optional<GroupRow> Groups::RowOfGroup(const GroupKey& key) const {
  const auto it = groups_.find(key);
  if (it == groups_.end()) return std::nullopt;
  const Group& group = it->second;
  if (group.open) return RowOf(*group.open);
  if (!group.last || group.last->owed.empty()) return std::nullopt;
  GroupRow row = RowOf(group.last->transaction);
  row.outcome = group.last->status;
  row.identity = group.last->identity;
  return row;
}

// In front of what the event caused, whatever of it rests on the rows.
void Hub::State::PersistChanges(size_t first) {
  Persist rows;
  for (const std::string& name : std::exchange(changes_.models, {})) {
    Compare(name, RowOfModel(name), durable_.models, rows.models);
  }
  for (const std::string& name : std::exchange(changes_.retention, {})) {
    Compare(name, retention_.RowOf(name), durable_.retention, rows.retention);
  }
  for (const GroupKey& key : std::exchange(changes_.groups, {})) {
    Compare(key, RowOfGroup(key), durable_.groups, rows.groups);
  }
  for (const WorkerKey& key : std::exchange(changes_.workers, {})) {
    Compare(key, absentees_.RowOf(key), durable_.workers, rows.workers);
  }
  for (const Id128& store : std::exchange(adoptions_.changed, {})) {
    Compare(store, std::optional(adoptions_.rows.at(store)), durable_.adopted, rows.adopted);
  }
  if (rows.empty()) return;
  Keep(rows, durable_);
  out_->insert(out_->begin() + static_cast<std::ptrdiff_t>(first), std::move(rows));
}

}  // namespace tensorhub::hub
