// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R6: the rows of groups: the ranks that wait for the others, the one fetch that is open, and the
// outcome of the last one. The hub alone decides, commits and aborts.

#ifndef TENSORHUB_SERVER_CORE_GROUPS_H_
#define TENSORHUB_SERVER_CORE_GROUPS_H_

#include <map>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/core/durable.h"
#include "server/core/tables.h"

namespace tensorhub::hub {

class Groups {
 public:
  const std::map<GroupKey, Group>& groups() const { return groups_; }
  // The row of that worker's group, made where there is none.
  Group& GroupOf(const WorkerKey& key) { return groups_[{key.model, key.group}]; }

  // The worker's part in its group's open fetch, in that one, or in whichever is open. Null: it has
  // none, or an earlier process of its rank had it.
  Member* FindMember(const WorkerIdentity& worker, const TransactionId& transaction);
  Member* FindOpenMember(const WorkerIdentity& worker);
  // R9: the ranks of a fetch are those of one group; a report does not make it larger or smaller.
  bool IsOpenFetch(const Worker& worker, const OpenFetch& fetch) const;
  // UNKNOWN: it is not the group's last one.
  absl::Status OutcomeOf(const WorkerKey& worker, const TransactionId& transaction) const;

  // What is kept of a group's fetch; none: nothing is. (durable.cc)
  std::optional<GroupRow> RowOfGroup(const GroupKey& key) const;

 protected:
  Groups() = default;
  ~Groups() = default;

  std::map<GroupKey, Group> groups_;
};

// The ranks for which that does not hold, in a line's length. Empty: it holds for all.
std::string RanksWithout(uint32_t world_size, absl::FunctionRef<bool(Rank)> holds);

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_GROUPS_H_
