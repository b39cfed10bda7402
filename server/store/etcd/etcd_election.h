// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// An election in etcd: whoever makes the key PREFIX/leader, bound to a lease of its own, leads as
// long as that very key is there. The same transaction raises PREFIX/epoch, so that each leader has
// an epoch and each epoch one leader. The epoch is a counter and no revision of etcd's: one that is
// restored from a snapshot counts its revisions anew.

#ifndef TENSORHUB_SERVER_STORE_ETCD_ETCD_ELECTION_H_
#define TENSORHUB_SERVER_STORE_ETCD_ETCD_ELECTION_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "server/store/election.h"
#include "server/store/etcd/client.h"
#include "server/store/etcd/etcd_store.h"
#include "server/store/etcd/keys.h"
#include "server/store/etcd/place.h"

namespace tensorhub::store {

class EtcdElection final : public Election {
 public:
  struct Options {
    EtcdPlace place;
    tls::Files tls = {};
    // Of the hub; others' prefixes have other names, or none. Empty: any will do.
    std::string name = {};
    std::string address;  // by which agents reach this server
    std::string version;
    // How long a leader that is silent keeps the others waiting. etcd gives 2 s at least, unless
    // its own elections are quicker.
    std::chrono::seconds lease{3};
  };

  EtcdElection(Options options, Listener listener);
  ~EtcdElection() override;

  absl::Status Prepare() override;
  absl::Status Campaign() override;
  void Hold() override;
  std::unique_ptr<Store> OpenStore() override;
  void Depose(const Leader& leader) override;
  void Resign() override;
  void Stop() override;

 private:
  // The place, as one look finds it.
  struct Seen {
    std::optional<Leader> leader;
    int64_t leader_lease = 0;
    uint64_t epoch = 0;
    int64_t epoch_changed_at = 0;
    int schema = 0;
    int64_t schema_changed_at = 0;
    int64_t revision = 0;  // of the look
  };

  absl::Status LookAround();
  absl::StatusOr<etcd::TxnResponse> Patiently(const etcd::TxnRequest& request);
  absl::Status CheckAround();
  absl::Status MakePlace();
  absl::Status CheckName(const std::string& name) const;
  absl::Status GiveName();
  absl::Status CheckPlace(const etcd::TxnResponse& look);
  absl::Status CheckSchema(int schema) const;
  absl::StatusOr<Seen> LookAtLeader();
  absl::StatusOr<bool> CampaignOnce();
  absl::StatusOr<bool> TryToLead(const Seen& seen);
  void Lead(const Seen& seen);
  void Tell(const std::optional<Leader>& leader);
  void Run();
  bool Renew(std::chrono::milliseconds now);
  void NoteDoubt(bool doubt);
  etcd::TxnRequest Candidacy(const Seen& seen) const;

  const Options options_;
  const Listener listener_;
  const EtcdKeys keys_;
  EtcdClient client_;     // of the election
  EtcdClient for_store_;  // which may wait for longer

  // Of the thread of Campaign, then of Run.
  Id128 store_id_;
  int64_t lease_ = 0;
  std::chrono::milliseconds lease_time_{0};
  std::optional<EtcdLead> lead_;
  std::optional<Leader> told_;
  bool told_any_ = false;
  bool doubted_ = false;
  std::chrono::milliseconds renewed_at_{0};

  std::atomic<int64_t> made_at_ = 0;  // this leader's key; 0: it does not lead
  std::thread thread_;
};

}  // namespace tensorhub::store

#endif  // TENSORHUB_SERVER_STORE_ETCD_ETCD_ELECTION_H_
