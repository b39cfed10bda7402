// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Looks at the tables, row by row, that copy only what is shown.

#ifndef TENSORHUB_SERVER_CORE_LOOKS_H_
#define TENSORHUB_SERVER_CORE_LOOKS_H_

#include <optional>
#include <string>
#include <vector>

#include "server/core/fleet_views.h"
#include "server/core/state.h"

namespace tensorhub::hub {

struct Hub::State::Looks {
  const State& state;

  // views.cc
  // Models by name: those behind `after`, at most `limit`.
  std::vector<ModelView> Models(const std::string& after, size_t limit) const;
  bool HasModel(const std::string& model) const { return state.models_.contains(model); }
  std::vector<VersionView> Versions(const std::string& model) const;
  std::vector<ReferenceView> References(const std::string& model,
                                        std::optional<VersionNumber> version) const;
  std::vector<WorkerView> Workers(TimeMs now) const;
  std::vector<TransferView> Transfers(TimeMs now) const;
  StatusView Status() const;
  uint64_t Revision(const std::string& model) const;
  ModelView ViewOf(const std::string& name, const Model& model) const;
  static WorkerView ViewOf(const Worker& worker, TimeMs now);
  static ReferenceView ViewOfReference(const Worker& worker);  // which holds something

  // fleet_views.cc
  std::optional<VersionNumber> Latest(const std::string& model) const;
  FleetView Fleet(TimeMs now) const;
  bool IsAskedFor(const Worker& worker, WorkerQuery::Which which) const;
  std::vector<WorkerView> Workers(const WorkerQuery& query, TimeMs now) const;

  // replication_view.cc
  static MemberView ViewOfMember(const Worker& worker, TimeMs now);
  ReplicationView Replication(const std::string& model, VersionNumber version, size_t limit,
                              TimeMs now) const;

  std::vector<FetchView> Fetches(const std::string& model, std::optional<VersionNumber> version,
                                 const std::string& group) const;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_LOOKS_H_
