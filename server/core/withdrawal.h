// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What an operator's order to take a worker out of service does to the tables (withdrawal.cc).

#ifndef TENSORHUB_SERVER_CORE_WITHDRAWAL_H_
#define TENSORHUB_SERVER_CORE_WITHDRAWAL_H_

#include "server/core/state.h"

namespace tensorhub::hub {

struct Hub::State::Service {
  State& state;

  void Set(Worker& worker, bool withdrawn) const;
  // A worker that has come back is what its row says.
  void Restore(Worker& worker) const;
  // A copy that has come is out of service with the process that it is in.
  void FollowOwner(Worker& copy) const;
  DrainReply Describe(const Worker& worker) const;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_WITHDRAWAL_H_
