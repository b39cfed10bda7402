// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The rows of workers, by key, serial and session. A row stays where it is in memory until the hub
// forgets the worker. The hub alone adds rows, numbers them and takes them away.

#ifndef TENSORHUB_SERVER_CORE_ROSTER_H_
#define TENSORHUB_SERVER_CORE_ROSTER_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/container/btree_map.h"
#include "server/core/tables.h"

namespace tensorhub::hub {

class Roster {
 public:
  // Null: there is none (any more).
  Worker* FindWorker(const WorkerKey& key);
  const Worker* FindWorker(const WorkerKey& key) const;
  Worker* FindRow(Serial serial) const;
  Worker* FindSession(SessionId session);
  // Null also if that process is dead, or another one has its place.
  Worker* FindLive(const WorkerIdentity& id);

  size_t alive() const { return alive_; }                // workers within their leases
  size_t connected() const { return sessions_.size(); }  // those that have a session
  const std::map<WorkerKey, Worker>& workers() const { return workers_; }

  // Calls `visit(Worker&)` for each live worker, by key.
  template <typename Visit>
  void ForEachAlive(Visit visit) {
    for (auto& [key, worker] : workers_) {
      if (worker.alive) visit(worker);
    }
  }
  // Calls `visit(Worker&)` for each worker of the model, dead or alive, by group and rank.
  template <typename Visit>
  void ForEachOf(const std::string& model, Visit visit) {
    for (auto it = workers_.lower_bound({model, "", 0});
         it != workers_.end() && it->first.model == model; ++it) {
      visit(it->second);
    }
  }
  // Calls `visit(Worker&)` for each live worker of the group, by rank.
  template <typename Visit>
  void ForEachLive(const GroupKey& group, Visit visit) {
    for (auto it = workers_.lower_bound({group.model, group.group, 0}); it != workers_.end();
         ++it) {
      if (it->first.model != group.model || it->first.group != group.group) return;
      if (it->second.alive) visit(it->second);
    }
  }

 protected:
  Roster() = default;
  ~Roster() = default;
  void Number(Worker& row);  // from then on FindRow finds it

  std::map<WorkerKey, Worker> workers_;
  absl::btree_map<Serial, Worker*> rows_;  // of workers_
  absl::btree_map<SessionId, Worker*> sessions_;
  size_t alive_ = 0;

 private:
  Serial last_serial_ = 0;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_ROSTER_H_
