// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/etcd/etcd_store.h"

#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/ids.h"
#include "common/text.h"
#include "server/store/etcd/row_values.h"

namespace tensorhub::store {
namespace {

constexpr int64_t kPageKeys = 256;
// Of one key; a value that is longer has parts.
constexpr size_t kPartBytesMax = size_t{512} << 10;

bool IsRow(const std::vector<std::string>& words) {
  const std::string& table = words.front();
  if (table == "m" || table == "r" || table == "a") return words.size() == 2;
  if (table == "g") return words.size() == 3;
  return table == "w" && words.size() == 4;
}

bool AreNamesOf(const std::vector<std::string>& words) {
  return !NameProblem(words[1]) && (words.size() < 3 || !NameProblem(words[2]));
}

bool TakeWorker(const std::vector<std::string>& words, const std::string& value,
                hub::DurableState& state) {
  uint32_t rank = 0;
  const std::optional<hub::WorkerRow> row = WorkerFrom(value);
  if (!row || !absl::SimpleAtoi(words[3], &rank) || rank >= kWorldSizeMax) return false;
  if (absl::StrCat(rank) != words[3]) return false;
  state.workers[{words[1], words[2], rank}] = *row;
  return true;
}

bool TakeAdopted(const std::string& word, const std::string& value, hub::DurableState& state) {
  const std::optional<Id128> store = ParseHex(word);
  const std::optional<hub::AdoptedRow> row = AdoptedFrom(value);
  if (!store || !*store || !row || ToHex(*store) != word) return false;
  state.adopted[*store] = *row;
  return true;
}

template <class Row, class Key>
bool TakeInto(std::optional<Row> row, const Key& key, std::map<Key, Row>& rows) {
  if (!row) return false;
  rows[key] = *std::move(row);
  return true;
}

}  // namespace

// --- reading ---------------------------------------------------------------------------------

absl::Status EtcdStore::Damaged(const std::vector<std::string>& words) const {
  return absl::DataLossError(absl::StrCat(
      "--store: etcd's key ", Shown(keys_.all() + absl::StrJoin(words, "/")),
      " is not what a server wrote: restore etcd from a snapshot, or name another prefix"));
}

// A row, or a part of one that came before it: keys come in order.
absl::Status EtcdStore::Take(const etcd::KeyValue& pair, Values& values) {
  static const auto& own =
      *new std::set<std::string>{"id", "schema", "name", "epoch", "leader", "turn"};
  const std::string below = pair.key().substr(keys_.all().size());
  std::optional<std::vector<std::string>> words = WordsOf(below);
  if (!words) return Damaged({below});
  if (words->size() == 1 && own.contains(below)) return absl::OkStatus();
  if (IsRow(*words)) {
    values[*std::move(words)] = pair.value();
    return absl::OkStatus();
  }
  const size_t size = words->size();
  if (size < 4 || (*words)[size - 2] != "part") return Damaged(*words);
  const std::vector<std::string> row(words->begin(), words->end() - 2);
  const auto found = values.find(row);
  if (!IsRow(row) || found == values.end()) return Damaged(*words);
  const std::string key = pair.key().substr(0, pair.key().rfind("/part/"));
  if (PartKey(key, ++parts_[key]) != pair.key()) return Damaged(*words);
  found->second += pair.value();
  return absl::OkStatus();
}

absl::StatusOr<EtcdStore::Values> EtcdStore::ReadAll() {
  Values values;
  etcd::RangeRequest request;
  request.set_key(keys_.all());
  request.set_range_end(AfterAll(keys_.all()));
  request.set_limit(kPageKeys);
  while (true) {
    absl::StatusOr<etcd::RangeResponse> page;
    const absl::Status read = client_.Repeat("reading waits for etcd", [&] {
      page = client_.Range(request);
      return page.status();
    });
    if (!read.ok()) return read;
    for (const etcd::KeyValue& pair : page->kvs()) {
      if (absl::Status status = Take(pair, values); !status.ok()) return status;
    }
    if (!page->more() || page->kvs().empty()) return values;
    request.set_key(page->kvs(page->kvs_size() - 1).key() + std::string(1, '\0'));
  }
}

bool EtcdStore::TakeRow(const std::vector<std::string>& words, const std::string& value,
                        hub::DurableState& state) const {
  if (!AreNamesOf(words)) return false;
  switch (words.front().front()) {
    case 'm':
      return TakeInto(ModelFrom(value), words[1], state.models);
    case 'g':
      return TakeInto(GroupFrom(value), hub::GroupKey{words[1], words[2]}, state.groups);
    case 'r':
      return TakeInto(RetentionFrom(value), words[1], state.retention);
    case 'a':
      return TakeAdopted(words[1], value, state);
    default:
      return TakeWorker(words, value, state);
  }
}

// What an earlier leader began is finished first. Nobody else writes meanwhile: its own commits are
// fenced off.
absl::StatusOr<Loaded> EtcdStore::Load() {
  if (absl::Status status = commits_.Recover(); !status.ok()) return status;
  const absl::StatusOr<Values> values = ReadAll();
  if (!values.ok()) return values.status();
  Loaded loaded{lead_.identity, lead_.earlier_life, {}};
  for (const auto& [words, value] : *values) {
    if (!TakeRow(words, value, loaded.state)) return Damaged(words);
  }
  return loaded;
}

// --- writing ---------------------------------------------------------------------------------

// Of one transaction, no key is named twice: parts that the last value had and this one has not are
// dropped as a range behind it.
void EtcdStore::Put(const std::string& key, const std::string& value, EtcdOps& ops) {
  ops.push_back(PutOp(key, value.substr(0, kPartBytesMax)));
  size_t parts = 0;
  for (size_t at = kPartBytesMax; at < value.size(); at += kPartBytesMax) {
    ops.push_back(PutOp(PartKey(key, ++parts), value.substr(at, kPartBytesMax)));
  }
  const auto found = parts_.find(key);
  if (found != parts_.end() && found->second > parts) {
    ops.push_back(DeleteRangeOp(PartKey(key, parts + 1), AfterAll(key + "/part/")));
  }
  if (parts > 0) {
    parts_[key] = parts;
  } else if (found != parts_.end()) {
    parts_.erase(found);
  }
}

void EtcdStore::Drop(const std::string& key, EtcdOps& ops) {
  ops.push_back(DeleteOp(key));
  if (parts_.erase(key) != 0) {
    ops.push_back(DeleteRangeOp(key + "/part/", AfterAll(key + "/part/")));
  }
}

absl::Status EtcdStore::Commit(const hub::Persist& rows) {
  EtcdOps ops;
  const auto change = [this, &ops](const std::string& key, const auto& row) {
    if (row) {
      Put(key, ToValue(*row), ops);
    } else {
      Drop(key, ops);
    }
  };
  for (const auto& [model, row] : rows.models) change(keys_.Model(model), row);
  for (const auto& [key, row] : rows.groups) change(keys_.Group(key), row);
  for (const auto& [model, row] : rows.retention) change(keys_.Retention(model), row);
  for (const auto& [key, row] : rows.workers) change(keys_.Worker(key), row);
  for (const auto& [store, row] : rows.adopted) change(keys_.Adopted(store), row);
  return commits_.Keep(ops);
}

}  // namespace tensorhub::store
