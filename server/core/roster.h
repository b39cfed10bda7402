// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The rows of workers, by key, serial and session. A row stays where it is in memory until the hub
// forgets the worker. The hub alone adds rows, numbers them and takes them away.

#ifndef TENSORHUB_SERVER_CORE_ROSTER_H_
#define TENSORHUB_SERVER_CORE_ROSTER_H_

#include <cstddef>
#include <map>

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

  size_t alive() const { return alive_; }  // workers within their leases
  const std::map<WorkerKey, Worker>& workers() const { return workers_; }

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
