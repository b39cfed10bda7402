// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/etcd/row_values.h"

#include <utility>

#include "common/remedy.h"
#include "server/store/etcd/kept.pb.h"
#include "server/store/rows.h"

namespace tensorhub::store {
namespace {

constexpr uint32_t kCodeMax = static_cast<uint32_t>(absl::StatusCode::kUnauthenticated);

std::string IdOrEmpty(const Id128& id) { return id ? ToBytes(id) : std::string(); }

std::optional<Id128> IdOf(const std::string& bytes) {
  const std::optional<Id128> id = FromBytes(bytes);
  return id && *id ? id : std::nullopt;
}

// Empty: none.
std::optional<Id128> IdOrNoneOf(const std::string& bytes) {
  return bytes.empty() ? Id128{} : IdOf(bytes);
}

template <class Message>
std::optional<Message> Parse(const std::string& value) {
  Message message;
  return message.ParseFromString(value) ? std::optional(std::move(message)) : std::nullopt;
}

kept::Group::Outcome OutcomeOf(const absl::Status& outcome) {
  kept::Group::Outcome message;
  message.set_code(static_cast<uint32_t>(outcome.code()));
  message.set_message(std::string(outcome.message()));
  message.set_outage(IsOutage(outcome));
  return message;
}

absl::Status OutcomeFrom(const kept::Group::Outcome& message) {
  return AsOutage(absl::Status(static_cast<absl::StatusCode>(message.code()), message.message()),
                  message.outage());
}

}  // namespace

std::string ToValue(const hub::ModelRow& row) {
  kept::Model message;
  message.set_latest(row.latest);
  message.set_publication(ToBytes(row.publication));
  message.set_identity(IdOrEmpty(row.identity));
  message.set_publishers(EncodePublishers(row.publishers));
  message.set_terms(EncodeTerms(row.terms));
  message.set_term_by(row.term_by);
  return message.SerializeAsString();
}

std::optional<hub::ModelRow> ModelFrom(const std::string& value) {
  const auto message = Parse<kept::Model>(value);
  if (!message) return std::nullopt;
  const std::optional<Id128> publication = IdOf(message->publication());
  const std::optional<Id128> identity = IdOrNoneOf(message->identity());
  auto publishers = DecodePublishers(message->publishers());
  auto terms = DecodeTerms(message->terms());
  if (!publication || !identity || !publishers || !terms) return std::nullopt;
  return hub::ModelRow{message->latest(),      *publication,      *identity,
                       *std::move(publishers), *std::move(terms), message->term_by()};
}

std::string ToValue(const hub::GroupRow& row) {
  kept::Group message;
  message.set_transaction(ToBytes(row.transaction));
  message.set_publication(ToBytes(row.publication));
  message.set_version(row.version);
  message.set_world_size(row.world_size);
  message.set_chunk_bytes(row.chunk_bytes);
  message.set_members(EncodeMembers(row.members));
  if (row.outcome) *message.mutable_outcome() = OutcomeOf(*row.outcome);
  message.set_identity(IdOrEmpty(row.identity));
  message.set_term(row.term.number);
  message.set_term_since(row.term.since);
  message.set_sharding(IdOrEmpty(row.sharding.id));
  message.set_sharding_full(row.sharding.full);
  return message.SerializeAsString();
}

std::optional<hub::GroupRow> GroupFrom(const std::string& value) {
  const auto message = Parse<kept::Group>(value);
  if (!message) return std::nullopt;
  const std::optional<Id128> transaction = IdOf(message->transaction());
  const std::optional<Id128> publication = IdOf(message->publication());
  const std::optional<Id128> identity = IdOrNoneOf(message->identity());
  const std::optional<Id128> sharding = IdOrNoneOf(message->sharding());
  auto members = DecodeMembers(message->members());
  if (!transaction || !publication || !identity || !sharding) return std::nullopt;
  if (!members || members->empty() || message->term() > kTermMax) return std::nullopt;
  const uint32_t world_size = message->world_size();
  if (world_size == 0 || world_size > kWorldSizeMax) return std::nullopt;
  if (members->rbegin()->first >= world_size) return std::nullopt;
  if (message->outcome().code() > kCodeMax) return std::nullopt;
  hub::GroupRow row;
  row.transaction = *transaction;
  row.publication = *publication;
  row.version = message->version();
  row.term = {message->term(), message->term_since()};
  row.world_size = world_size;
  row.chunk_bytes = message->chunk_bytes();
  row.members = *std::move(members);
  if (message->has_outcome()) row.outcome = OutcomeFrom(message->outcome());
  row.identity = *identity;
  row.sharding = {*sharding, message->sharding_full()};
  return row;
}

std::string ToValue(const hub::RetentionRow& row) {
  kept::Retention message;
  if (row.keep_latest) message.set_keep_latest(*row.keep_latest);
  message.set_pins(EncodePins(row.pins));
  return message.SerializeAsString();
}

std::optional<hub::RetentionRow> RetentionFrom(const std::string& value) {
  const auto message = Parse<kept::Retention>(value);
  if (!message || message->keep_latest() > hub::kKeepLatestMax) return std::nullopt;
  auto pins = DecodePins(message->pins());
  if (!pins) return std::nullopt;
  hub::RetentionRow row;
  if (message->has_keep_latest()) row.keep_latest = message->keep_latest();
  row.pins = *std::move(pins);
  return row;
}

std::string ToValue(const hub::AdoptedRow& row) {
  kept::Adopted message;
  message.set_settled(row.settled);
  return message.SerializeAsString();
}

std::optional<hub::AdoptedRow> AdoptedFrom(const std::string& value) {
  const auto message = Parse<kept::Adopted>(value);
  return message ? std::optional(hub::AdoptedRow{message->settled()}) : std::nullopt;
}

std::string ToValue(const hub::WorkerRow& row) {
  kept::Worker message;
  message.set_incarnation(row.incarnation);
  message.set_away(IdOrEmpty(row.away));
  message.set_withdrawn(row.withdrawn);
  return message.SerializeAsString();
}

std::optional<hub::WorkerRow> WorkerFrom(const std::string& value) {
  const auto message = Parse<kept::Worker>(value);
  if (!message || message->incarnation() == 0) return std::nullopt;
  const std::optional<Id128> away = IdOrNoneOf(message->away());
  if (!away) return std::nullopt;
  return hub::WorkerRow{message->incarnation(), *away, message->withdrawn()};
}

}  // namespace tensorhub::store
