// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/roster.h"

namespace tensorhub::hub {

Worker* Roster::FindWorker(const WorkerKey& key) {
  const auto it = workers_.find(key);
  return it == workers_.end() ? nullptr : &it->second;
}

const Worker* Roster::FindWorker(const WorkerKey& key) const {
  const auto it = workers_.find(key);
  return it == workers_.end() ? nullptr : &it->second;
}

Worker* Roster::FindRow(Serial serial) const {
  const auto it = rows_.find(serial);
  return it == rows_.end() ? nullptr : it->second;
}

Worker* Roster::FindSession(SessionId session) {
  const auto it = sessions_.find(session);
  return it == sessions_.end() ? nullptr : it->second;
}

Worker* Roster::FindLive(const WorkerIdentity& id) {
  Worker* worker = FindWorker(id.key);
  const bool live = worker != nullptr && worker->alive && worker->id.incarnation == id.incarnation;
  return live ? worker : nullptr;
}

void Roster::Number(Worker& row) {
  if (row.serial == 0) rows_[row.serial = ++last_serial_] = &row;
}

}  // namespace tensorhub::hub
