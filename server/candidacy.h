// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A server that is one of several: it stands by, until it is elected (News::kElected), and from
// then on holds the lead until it ends. Whatever ends the lead ends the server (EndFor); its
// supervisor starts it anew, and it stands by again.
//
// Thread contract: the owner's thread; GiveBack on any.

#ifndef TENSORHUB_SERVER_CANDIDACY_H_
#define TENSORHUB_SERVER_CANDIDACY_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "common/mutex.h"
#include "server/deathwatch.h"
#include "server/flags.h"
#include "server/rpc/rpc_server.h"
#include "server/rpc/standby_server.h"
#include "server/store/election.h"

namespace tensorhub {

class Candidacy {
 public:
  // Listens once it returns. What is wrong with the place in etcd, it says by EndFor.
  static absl::StatusOr<std::unique_ptr<Candidacy>> Start(const Flags& flags,
                                                          const ListenAddress& listen,
                                                          const rpc::Guard::Options& guard);
  ~Candidacy();
  Candidacy(const Candidacy&) = delete;
  Candidacy& operator=(const Candidacy&) = delete;

  // With the port that was found.
  const ListenAddress& listen() const { return listen_; }
  // Where agents reach this server.
  const std::string& address() const { return address_; }
  void Reload() { standby_->Reload(); }

  // Once elected. It ends before this object does.
  std::unique_ptr<store::Store> OpenStore() { return election_->OpenStore(); }
  // Once the server that leads listens, at the same address.
  void EndStandby() { standby_->Shutdown(); }
  // The server whose health is to show that the lead is in doubt; null: no server's any more.
  void Show(rpc::RpcServer* server) ABSL_LOCKS_EXCLUDED(mutex_);
  // Nothing more will be kept: others need not wait for the lease.
  void GiveBack() { election_->Resign(); }
  // The server ends: what still waits for etcd does so for a few seconds more at most.
  void Hurry() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Candidacy(const Flags& flags, std::unique_ptr<rpc::StandbyServer> standby);
  void Run();
  void NoteLeader(const std::optional<store::Leader>& leader);
  void NoteDoubt(bool doubt) ABSL_LOCKS_EXCLUDED(mutex_);
  void StopLater() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::unique_ptr<rpc::StandbyServer> standby_;
  const ListenAddress listen_;
  const std::string address_;
  std::unique_ptr<store::Election> election_;
  Deathwatch deathwatch_;

  Mutex mutex_;
  CondVar wake_;
  rpc::RpcServer* shown_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool doubted_ ABSL_GUARDED_BY(mutex_) = false;
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread campaign_;
  std::thread hurry_;
};

}  // namespace tensorhub

#endif  // TENSORHUB_SERVER_CANDIDACY_H_
