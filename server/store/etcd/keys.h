// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The keys of one hub in etcd, all of them below PREFIX/:
//
//   id       whose data this is, made once       schema   which form it has
//   epoch    raised by each election (R8)        leader   bound to the leader's lease
//   turn     changed by every commit (commits.h)
//   m/MODEL  g/MODEL/GROUP  r/MODEL  w/MODEL/GROUP/RANK  a/STORE: rows. In names, '/' is %2F and
//   '%' is %25.
//   KEY/part/N: the rest of a value that is too long for one key.
//   sealed, journal/N: a commit that is too large for one transaction (commits.h).

#ifndef TENSORHUB_SERVER_STORE_ETCD_KEYS_H_
#define TENSORHUB_SERVER_STORE_ETCD_KEYS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/durable.h"

namespace tensorhub::store {

// The number of what an older server could not read, or would drop. 2: adopted hubs, and who is out
// of service.
inline constexpr int kEtcdSchema = 2;

class EtcdKeys {
 public:
  explicit EtcdKeys(const std::string& prefix) : below_(prefix + "/") {}

  const std::string& all() const { return below_; }
  std::string Id() const { return below_ + "id"; }
  std::string Schema() const { return below_ + "schema"; }
  std::string Name() const { return below_ + "name"; }
  std::string Epoch() const { return below_ + "epoch"; }
  std::string Leader() const { return below_ + "leader"; }
  std::string Turn() const { return below_ + "turn"; }
  std::string Sealed() const { return below_ + "sealed"; }
  std::string Journal() const { return below_ + "journal/"; }
  std::string Journal(size_t part) const;

  std::string Model(const std::string& model) const;
  std::string Group(const hub::GroupKey& key) const;
  std::string Retention(const std::string& model) const;
  std::string Worker(const WorkerKey& key) const;
  std::string Adopted(const Id128& store) const;

 private:
  const std::string below_;
};

// Of the value under `key`, from 1.
std::string PartKey(const std::string& key, size_t part);
// The first key that is after all that begin with `text`, which does not end with \xff.
std::string AfterAll(std::string text);

// The words of a key below PREFIX/, as they were put together; none: not our spelling.
std::optional<std::vector<std::string>> WordsOf(std::string_view key_below);

}  // namespace tensorhub::store

#endif  // TENSORHUB_SERVER_STORE_ETCD_KEYS_H_
