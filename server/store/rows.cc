// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/rows.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/bytes.h"
#include "common/remedy.h"

namespace tensorhub::store {
namespace {

constexpr int kStatusCodeMax = static_cast<int>(absl::StatusCode::kUnauthenticated);
// Bounded so that the clocks' difference can be taken off.
constexpr uint64_t kWallMsMax = uint64_t{1} << 60;

std::optional<Id128> IdFrom(const Statement& row, int column) {
  const std::optional<Id128> id = FromBytes(row.Bytes(column));
  return id && *id ? id : std::nullopt;
}

// Empty: none.
std::optional<Id128> IdOrNoneFrom(const Statement& row, int column) {
  return row.Bytes(column).empty() ? Id128{} : IdFrom(row, column);
}

std::string OrEmpty(const Id128& id) { return id ? ToBytes(id) : std::string(); }

bool AreNames(const std::string& model, const std::string& group) {
  return !NameProblem(model) && !NameProblem(group);
}

std::optional<hub::GroupRow> GroupFrom(const Statement& row) {
  const std::optional<Id128> transaction = IdFrom(row, 2);
  const std::optional<Id128> publication = IdFrom(row, 3);
  auto members = DecodeMembers(row.Bytes(7));
  const uint64_t world_size = row.Number(5);
  const std::optional<Id128> identity = IdOrNoneFrom(row, 10);
  const std::optional<Id128> sharding = IdOrNoneFrom(row, 14);
  if (!transaction || !publication || !members || members->empty()) return std::nullopt;
  if (!identity || !sharding) return std::nullopt;
  if (world_size == 0 || world_size > kWorldSizeMax) return std::nullopt;
  if (members->rbegin()->first >= world_size) return std::nullopt;
  hub::GroupRow group;
  group.transaction = *transaction;
  group.publication = *publication;
  group.version = row.Number(4);
  group.world_size = static_cast<uint32_t>(world_size);
  group.chunk_bytes = row.Number(6);
  group.members = *std::move(members);
  group.identity = *identity;
  group.sharding = {*sharding, row.Number(15) != 0};
  group.term = {row.Number(11), row.Number(12)};
  if (group.term.number > kTermMax) return std::nullopt;
  if (row.IsNull(8)) return group;
  const uint64_t code = row.Number(8);
  if (code > kStatusCodeMax) return std::nullopt;
  group.outcome = AsOutage(absl::Status(static_cast<absl::StatusCode>(code), row.Bytes(9)),
                           row.Number(13) != 0);
  return group;
}

}  // namespace

absl::StatusOr<std::map<std::string, hub::ModelRow>> ReadModels(Sqlite& database) {
  std::map<std::string, hub::ModelRow> models;
  absl::StatusOr<Statement> select = database.Prepare(
      "SELECT model, latest, publication, identity, publishers, terms, term_by FROM models");
  if (!select.ok()) return select.status();
  while (true) {
    const absl::StatusOr<bool> row = select->Step();
    if (!row.ok()) return row.status();
    if (!*row) return models;
    const std::string name = select->Bytes(0);
    const std::optional<Id128> publication = IdFrom(*select, 2);
    const std::optional<Id128> identity = IdOrNoneFrom(*select, 3);
    auto publishers = DecodePublishers(select->Bytes(4));
    auto terms = DecodeTerms(select->Bytes(5));
    if (NameProblem(name) || !publication || !identity || !publishers || !terms) {
      return Damaged(database.path(), absl::StrCat("table models, row \"", name, "\""));
    }
    models[name] = {select->Number(1),      *publication,      *identity,
                    *std::move(publishers), *std::move(terms), select->Bytes(6)};
  }
}

absl::StatusOr<std::map<hub::GroupKey, hub::GroupRow>> ReadGroups(Sqlite& database) {
  std::map<hub::GroupKey, hub::GroupRow> groups;
  absl::StatusOr<Statement> select = database.Prepare(
      "SELECT model, group_name, transaction_id, publication, version, world_size, chunk_bytes, "
      "members, outcome_code, outcome_message, identity, term, term_since, outcome_outage, "
      "sharding, sharding_full "
      "FROM group_fetches");
  if (!select.ok()) return select.status();
  while (true) {
    const absl::StatusOr<bool> row = select->Step();
    if (!row.ok()) return row.status();
    if (!*row) return groups;
    const hub::GroupKey key{select->Bytes(0), select->Bytes(1)};
    std::optional<hub::GroupRow> group = GroupFrom(*select);
    if (!AreNames(key.model, key.group) || !group) {
      return Damaged(database.path(),
                     absl::StrCat("table group_fetches, row \"", key.model, "/", key.group, "\""));
    }
    groups[key] = *std::move(group);
  }
}

absl::StatusOr<std::map<std::string, hub::RetentionRow>> ReadRetention(Sqlite& database) {
  std::map<std::string, hub::RetentionRow> retention;
  absl::StatusOr<Statement> select =
      database.Prepare("SELECT model, keep_latest, pins FROM retention");
  if (!select.ok()) return select.status();
  while (true) {
    const absl::StatusOr<bool> row = select->Step();
    if (!row.ok()) return row.status();
    if (!*row) return retention;
    const std::string name = select->Bytes(0);
    const uint64_t keep_latest = select->Number(1);
    auto pins = DecodePins(select->Bytes(2));
    if (NameProblem(name) || !pins || keep_latest > hub::kKeepLatestMax) {
      return Damaged(database.path(), absl::StrCat("table retention, row \"", name, "\""));
    }
    hub::RetentionRow& kept = retention[name];
    if (!select->IsNull(1)) kept.keep_latest = static_cast<uint32_t>(keep_latest);
    kept.pins = *std::move(pins);
  }
}

absl::StatusOr<std::map<WorkerKey, hub::WorkerRow>> ReadWorkers(Sqlite& database) {
  std::map<WorkerKey, hub::WorkerRow> workers;
  absl::StatusOr<Statement> select =
      database.Prepare("SELECT model, group_name, rank, incarnation, away, withdrawn FROM workers");
  if (!select.ok()) return select.status();
  while (true) {
    const absl::StatusOr<bool> row = select->Step();
    if (!row.ok()) return row.status();
    if (!*row) return workers;
    const uint64_t rank = select->Number(2);
    const WorkerKey key{select->Bytes(0), select->Bytes(1), static_cast<Rank>(rank)};
    const std::optional<Id128> away = IdOrNoneFrom(*select, 4);
    const uint64_t withdrawn = select->Number(5);
    const hub::WorkerRow worker{select->Number(3), away.value_or(Id128{}), withdrawn == 1};
    if (!AreNames(key.model, key.group) || rank >= kWorldSizeMax || worker.incarnation == 0 ||
        !away || withdrawn > 1) {
      return Damaged(database.path(), absl::StrCat("table workers, row \"", key.model, "/",
                                                   key.group, "/", rank, "\""));
    }
    workers[key] = worker;
  }
}

absl::StatusOr<std::map<Id128, hub::AdoptedRow>> ReadAdopted(Sqlite& database) {
  std::map<Id128, hub::AdoptedRow> adopted;
  absl::StatusOr<Statement> select = database.Prepare("SELECT store_id, settled FROM adopted");
  if (!select.ok()) return select.status();
  while (true) {
    const absl::StatusOr<bool> row = select->Step();
    if (!row.ok()) return row.status();
    if (!*row) return adopted;
    const std::optional<Id128> store = FromBytes(select->Bytes(0));
    const uint64_t settled = select->Number(1);
    if (!store || !*store || settled > 1) return Damaged(database.path(), "table adopted");
    adopted[*store] = {settled == 1};
  }
}

std::string EncodeMembers(const std::map<Rank, hub::MemberRow>& members) {
  std::string bytes;
  ByteWriter writer(bytes);
  for (const auto& [rank, member] : members) {
    writer.Put(uint32_t{rank});
    writer.Put(uint64_t{member.incarnation});
    writer.Put(uint64_t{member.join});
    writer.Put(static_cast<uint8_t>(member.already_held));
    writer.PutBytes(ToBytes(member.attachment));
  }
  return bytes;
}

std::optional<std::map<Rank, hub::MemberRow>> DecodeMembers(std::string_view bytes) {
  std::map<Rank, hub::MemberRow> members;
  ByteReader reader(bytes);
  while (reader.ok() && reader.left() > 0) {
    const Rank rank = reader.Take<uint32_t>();
    hub::MemberRow member;
    member.incarnation = reader.Take<uint64_t>();
    member.join = reader.Take<uint64_t>();
    const uint8_t held = reader.Take<uint8_t>();
    const std::optional<Id128> attachment = FromBytes(reader.TakeBytes(16));
    if (!reader.ok() || !attachment || held > 1 || member.incarnation == 0) return std::nullopt;
    member.already_held = held == 1;
    member.attachment = *attachment;
    if (!members.emplace(rank, member).second) return std::nullopt;
  }
  return reader.ok() ? std::optional(std::move(members)) : std::nullopt;
}

// Nothing: they are not known.
std::string EncodePublishers(const hub::PublishersRow& publishers) {
  std::string bytes;
  if (publishers.ranks.empty()) return bytes;
  ByteWriter writer(bytes);
  writer.PutVarint(publishers.group.size());
  writer.PutBytes(publishers.group);
  for (const auto& [rank, publisher] : publishers.ranks) {
    writer.Put(uint32_t{rank});
    writer.Put(uint64_t{publisher.incarnation});
    writer.Put(uint64_t{publisher.generation});
  }
  return bytes;
}

std::optional<hub::PublishersRow> DecodePublishers(std::string_view bytes) {
  hub::PublishersRow publishers;
  if (bytes.empty()) return publishers;
  ByteReader reader(bytes);
  publishers.group = std::string(reader.TakeBytes(reader.TakeVarint()));
  if (!reader.ok() || NameProblem(publishers.group)) return std::nullopt;
  while (reader.ok() && reader.left() > 0) {
    const Rank rank = reader.Take<uint32_t>();
    hub::PublisherRow publisher;
    publisher.incarnation = reader.Take<uint64_t>();
    publisher.generation = reader.Take<uint64_t>();
    if (!publishers.ranks.emplace(rank, publisher).second) return std::nullopt;
  }
  return reader.ok() ? std::optional(std::move(publishers)) : std::nullopt;
}

std::string EncodeTerms(const std::vector<Term>& terms) {
  std::string bytes;
  ByteWriter writer(bytes);
  for (const Term& term : terms) {
    writer.Put(uint64_t{term.number});
    writer.Put(uint64_t{term.since});
  }
  return bytes;
}

// Ascending, or they are none.
std::optional<std::vector<Term>> DecodeTerms(std::string_view bytes) {
  std::vector<Term> terms;
  ByteReader reader(bytes);
  while (reader.ok() && reader.left() > 0) {
    Term term;
    term.number = reader.Take<uint64_t>();
    term.since = reader.Take<uint64_t>();
    const Term last = terms.empty() ? Term{} : terms.back();
    const bool rises = term.number > last.number && (terms.empty() || term.since > last.since);
    if (!reader.ok() || !rises || term.number > kTermMax) return std::nullopt;
    terms.push_back(term);
  }
  return reader.ok() ? std::optional(std::move(terms)) : std::nullopt;
}

std::string EncodePins(const std::map<std::string, hub::PinRow>& pins) {
  std::string bytes;
  ByteWriter writer(bytes);
  for (const auto& [name, pin] : pins) {
    writer.PutVarint(name.size());
    writer.PutBytes(name);
    writer.Put(uint64_t{pin.version});
    writer.Put(static_cast<uint8_t>(pin.until.has_value()));
    writer.Put(static_cast<uint64_t>(pin.until.value_or(0)));
  }
  return bytes;
}

std::optional<std::map<std::string, hub::PinRow>> DecodePins(std::string_view bytes) {
  std::map<std::string, hub::PinRow> pins;
  ByteReader reader(bytes);
  while (reader.ok() && reader.left() > 0) {
    const std::string name(reader.TakeBytes(reader.TakeVarint()));
    hub::PinRow pin;
    pin.version = reader.Take<uint64_t>();
    const uint8_t ends = reader.Take<uint8_t>();
    const uint64_t until = reader.Take<uint64_t>();
    if (!reader.ok() || NameProblem(name) || ends > 1 || until > kWallMsMax) return std::nullopt;
    if (ends == 1) pin.until = static_cast<TimeMs>(until);
    if (!pins.emplace(name, pin).second) return std::nullopt;
  }
  return reader.ok() ? std::optional(std::move(pins)) : std::nullopt;
}

absl::StatusOr<RowWriter> RowWriter::Prepare(Sqlite& database) {
  RowWriter writer;
  const std::pair<Statement*, const char*> statements[] = {
      {&writer.put_model_,
       "INSERT OR REPLACE INTO models (model, latest, publication, identity, publishers, terms, "
       "term_by) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"},
      {&writer.drop_model_, "DELETE FROM models WHERE model = ?1"},
      {&writer.put_group_,
       "INSERT OR REPLACE INTO group_fetches (model, group_name, transaction_id, publication, "
       "version, world_size, chunk_bytes, members, outcome_code, outcome_message, identity, "
       "term, term_since, outcome_outage, sharding, sharding_full) "
       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"},
      {&writer.drop_group_, "DELETE FROM group_fetches WHERE model = ?1 AND group_name = ?2"},
      {&writer.put_retention_,
       "INSERT OR REPLACE INTO retention (model, keep_latest, pins) VALUES (?1, ?2, ?3)"},
      {&writer.drop_retention_, "DELETE FROM retention WHERE model = ?1"},
      {&writer.put_worker_,
       "INSERT OR REPLACE INTO workers (model, group_name, rank, incarnation, away, "
       "withdrawn) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"},
      {&writer.drop_worker_,
       "DELETE FROM workers WHERE model = ?1 AND group_name = ?2 AND rank = ?3"},
      {&writer.put_adopted_, "INSERT OR REPLACE INTO adopted (store_id, settled) VALUES (?1, ?2)"},
      {&writer.drop_adopted_, "DELETE FROM adopted WHERE store_id = ?1"},
  };
  for (const auto& [statement, sql] : statements) {
    absl::StatusOr<Statement> prepared = database.Prepare(sql);
    if (!prepared.ok()) return prepared.status();
    *statement = *std::move(prepared);
  }
  return writer;
}

absl::Status RowWriter::Write(const hub::Persist& rows) {
  for (const auto& [model, row] : rows.models) {
    if (absl::Status status = Write(model, row); !status.ok()) return status;
  }
  for (const auto& [key, row] : rows.groups) {
    if (absl::Status status = Write(key, row); !status.ok()) return status;
  }
  for (const auto& [model, row] : rows.retention) {
    if (absl::Status status = Write(model, row); !status.ok()) return status;
  }
  for (const auto& [key, row] : rows.workers) {
    if (absl::Status status = Write(key, row); !status.ok()) return status;
  }
  for (const auto& [store, row] : rows.adopted) {
    if (absl::Status status = Write(store, row); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status RowWriter::Write(const std::string& model, const std::optional<hub::ModelRow>& row) {
  if (!row) {
    drop_model_.BindText(1, model);
    return drop_model_.Run();
  }
  const std::string publication = ToBytes(row->publication);
  put_model_.BindText(1, model);
  put_model_.Bind(2, row->latest);
  put_model_.BindBlob(3, publication);
  const std::string identity = OrEmpty(row->identity);
  put_model_.BindBlob(4, identity);
  const std::string publishers = EncodePublishers(row->publishers);
  put_model_.BindBlob(5, publishers);
  const std::string terms = EncodeTerms(row->terms);
  put_model_.BindBlob(6, terms);
  put_model_.BindText(7, row->term_by);
  return put_model_.Run();
}

absl::Status RowWriter::Write(const hub::GroupKey& key, const std::optional<hub::GroupRow>& row) {
  if (!row) {
    drop_group_.BindText(1, key.model);
    drop_group_.BindText(2, key.group);
    return drop_group_.Run();
  }
  const std::string transaction = ToBytes(row->transaction);
  const std::string publication = ToBytes(row->publication);
  const std::string members = EncodeMembers(row->members);
  const std::string message(row->outcome ? row->outcome->message() : "");
  put_group_.BindText(1, key.model);
  put_group_.BindText(2, key.group);
  put_group_.BindBlob(3, transaction);
  put_group_.BindBlob(4, publication);
  put_group_.Bind(5, row->version);
  put_group_.Bind(6, uint64_t{row->world_size});
  put_group_.Bind(7, row->chunk_bytes);
  put_group_.BindBlob(8, members);
  put_group_.Bind(
      9, row->outcome ? std::optional(static_cast<int>(row->outcome->code())) : std::nullopt);
  put_group_.BindText(10, message);
  const std::string identity = OrEmpty(row->identity);
  put_group_.BindBlob(11, identity);
  put_group_.Bind(12, row->term.number);
  put_group_.Bind(13, row->term.since);
  put_group_.Bind(14, uint64_t{row->outcome && IsOutage(*row->outcome)});
  const std::string sharding = OrEmpty(row->sharding.id);
  put_group_.BindBlob(15, sharding);
  put_group_.Bind(16, uint64_t{row->sharding.full});
  return put_group_.Run();
}

absl::Status RowWriter::Write(const std::string& model,
                              const std::optional<hub::RetentionRow>& row) {
  if (!row) {
    drop_retention_.BindText(1, model);
    return drop_retention_.Run();
  }
  const std::string pins = EncodePins(row->pins);
  put_retention_.BindText(1, model);
  put_retention_.Bind(
      2, row->keep_latest ? std::optional(static_cast<int>(*row->keep_latest)) : std::nullopt);
  put_retention_.BindBlob(3, pins);
  return put_retention_.Run();
}

absl::Status RowWriter::Write(const WorkerKey& key, const std::optional<hub::WorkerRow>& row) {
  Statement& statement = row ? put_worker_ : drop_worker_;
  statement.BindText(1, key.model);
  statement.BindText(2, key.group);
  statement.Bind(3, uint64_t{key.rank});
  const std::string away = row ? OrEmpty(row->away) : "";
  if (row) statement.Bind(4, row->incarnation);
  if (row) statement.BindBlob(5, away);
  if (row) statement.Bind(6, uint64_t{row->withdrawn});
  return statement.Run();
}

absl::Status RowWriter::Write(const Id128& store, const std::optional<hub::AdoptedRow>& row) {
  Statement& statement = row ? put_adopted_ : drop_adopted_;
  const std::string id = ToBytes(store);
  statement.BindBlob(1, id);
  if (row) statement.Bind(2, uint64_t{row->settled});
  return statement.Run();
}

}  // namespace tensorhub::store
