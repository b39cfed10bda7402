// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Changes of keys that happen together, whole or not at all, whatever their number and size; etcd
// takes 128 operations and 1.5 MiB in a transaction. What is larger than our bounds goes the long
// way: it is written aside in pieces (journal/N), sealed by one key, carried out in bounded
// transactions, and cleared away. Who finds a seal carries it out again, which changes nothing
// where that has been done; what was written aside without a seal never happened.
//
// 1. Every transaction compares the revision in which the leader's key was made: a leader that has
//    been replaced changes nothing any more.
// 2. While no member of etcd answers, or it has no room, a transaction is repeated. Each one
// changes
//    the key `turn` and compares the revision in which the one before did: a try that a member has
//    held back, stopped or cut off, and carries out late, finds another turn and does nothing.
// 3. A transaction that fails by its turn alone was carried out by an earlier try of it: nobody but
//    the leader changes the turn.
//
// Thread contract: one thread at a time.

#ifndef TENSORHUB_SERVER_STORE_ETCD_COMMITS_H_
#define TENSORHUB_SERVER_STORE_ETCD_COMMITS_H_

#include <memory>
#include <string>
#include <vector>

#include "server/store/etcd/client.h"
#include "server/store/etcd/keys.h"

namespace tensorhub::store {

// Of one transaction; below what etcd takes by default.
inline constexpr size_t kTxnOpsMax = 100;
inline constexpr size_t kTxnBytesMax = size_t{1} << 20;

using EtcdOps = std::vector<etcd::RequestOp>;

etcd::RequestOp PutOp(const std::string& key, const std::string& value);
etcd::RequestOp DeleteOp(const std::string& key);
// From `first` up to, and without, `end`.
etcd::RequestOp DeleteRangeOp(const std::string& first, const std::string& end);
etcd::Compare MadeAt(const std::string& key, int64_t revision);
etcd::Compare ChangedAt(const std::string& key, int64_t revision);
etcd::RequestOp ReadOp(const std::string& key);
// DATA_LOSS: what is there is not what a server wrote.
absl::Status DamagedKey(const std::string& key);

class EtcdCommits {
 public:
  // `leader_made_at`: the revision in which this leader's key was made.
  EtcdCommits(EtcdClient& client, EtcdKeys keys, int64_t leader_made_at)
      : client_(client), keys_(std::move(keys)), leader_made_at_(leader_made_at) {}

  // After Recover. OK: kept. ABORTED: another server leads, or none. CANCELLED: EtcdClient::Stop.
  // Else etcd's refusal. After an error it is not known whether they were kept.
  absl::Status Keep(const EtcdOps& ops);
  // Carries out what an earlier leader has sealed, and clears away what it has not.
  absl::Status Recover();

 private:
  absl::Status KeepOnce(const etcd::TxnRequest& request);
  absl::Status KeepFenced(const EtcdOps& ops);
  absl::Status WasKept(const etcd::TxnResponse& response);
  absl::Status TakeTurn();
  absl::Status WriteAside(const EtcdOps& ops);
  absl::Status CarryOut(const EtcdOps& ops);
  absl::Status ClearAside(bool sealed);
  absl::StatusOr<EtcdOps> ReadAside(size_t parts);
  absl::StatusOr<etcd::RangeResponse> Read(const etcd::RangeRequest& request);

  EtcdClient& client_;
  const EtcdKeys keys_;
  const int64_t leader_made_at_;
  int64_t turn_ = 0;  // the revision of the last change
};

// All of them in order, in as few pieces as the bounds allow.
std::vector<EtcdOps> Bounded(const EtcdOps& ops);

}  // namespace tensorhub::store

#endif  // TENSORHUB_SERVER_STORE_ETCD_COMMITS_H_
