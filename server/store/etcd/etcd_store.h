// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The store of the hub that leads, in etcd (keys.h). It is made by an election (etcd_election.h),
// which has raised the epoch, and ends with it: whatever is kept is fenced on that election.
//
// While no member of etcd answers, Commit does not end: nobody hears of what is not kept, and
// whatever needs nothing to be kept goes on.

#ifndef TENSORHUB_SERVER_STORE_ETCD_ETCD_STORE_H_
#define TENSORHUB_SERVER_STORE_ETCD_ETCD_STORE_H_

#include <map>
#include <memory>
#include <string>

#include "server/store/etcd/commits.h"
#include "server/store/store.h"

namespace tensorhub::store {

// What the election knows of the store.
struct EtcdLead {
  ServerIdentity identity;
  bool earlier_life = false;
  int64_t leader_made_at = 0;
};

class EtcdStore final : public Store {
 public:
  EtcdStore(EtcdClient& client, const EtcdKeys& keys, const EtcdLead& lead)
      : client_(client), keys_(keys), lead_(lead), commits_(client, keys, lead.leader_made_at) {}

  // Besides etcd's own refusals: ABORTED, another server leads; DATA_LOSS names the key that no
  // server can have written.
  absl::StatusOr<Loaded> Load() override;
  absl::Status Commit(const hub::Persist& rows) override;
  bool blocks() const override { return true; }

 private:
  // Values by the words of their keys, whole.
  using Values = std::map<std::vector<std::string>, std::string>;

  absl::StatusOr<Values> ReadAll();
  absl::Status Take(const etcd::KeyValue& pair, Values& values);
  absl::Status Damaged(const std::vector<std::string>& words) const;
  bool TakeRow(const std::vector<std::string>& words, const std::string& value,
               hub::DurableState& state) const;
  void Put(const std::string& key, const std::string& value, EtcdOps& ops);
  void Drop(const std::string& key, EtcdOps& ops);

  EtcdClient& client_;
  const EtcdKeys keys_;
  const EtcdLead lead_;
  EtcdCommits commits_;
  std::map<std::string, size_t> parts_;  // of the keys whose values have some
};

}  // namespace tensorhub::store

#endif  // TENSORHUB_SERVER_STORE_ETCD_ETCD_STORE_H_
