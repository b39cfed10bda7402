// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What must hold between any two events, of the tables as a whole. Each part of the hub that has
// state of its own checks that itself.

#ifndef TENSORHUB_SERVER_CORE_INVARIANTS_H_
#define TENSORHUB_SERVER_CORE_INVARIANTS_H_

#include <cstdint>
#include <string>

#include "server/core/state.h"

namespace tensorhub::hub {

struct Hub::State::Invariants {
  const State& state;

  void Check() const;  // and ends the process if one is broken

  void CheckSettled() const;
  void CheckEpoch(const Worker& worker) const;
  void CheckReference(const Worker& worker) const;
  void CheckRead(const Worker& worker) const;
  void CheckPublication(const Publication& publication) const;
  uint32_t CheckSharding(const Publication& publication, const Sharding& sharding) const;
  void CheckModel(const std::string& name, const Model& model) const;
  void CheckStanding(const Model& model, const Publication& publication) const;
  void CheckDigests(const Shard& shard) const;
  void CheckGroup(const GroupKey& key, const Group& group) const;
  void CheckDurable() const;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_INVARIANTS_H_
