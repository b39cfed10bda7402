// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The holders of one shard, by place and in the order in which they are preferred as sources, so
// that a choice does not look at all of them. Beside them, per place, the readers that are fed from
// outside it: in a datacenter, the seeds.
//
// It knows nothing of the rules: who is listed, and with which rank, is for the hub to say
// (source_search.cc, MarkIndexStale), each time that something changes.

#ifndef TENSORHUB_SERVER_CORE_HOLDER_INDEX_H_
#define TENSORHUB_SERVER_CORE_HOLDER_INDEX_H_

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/container/btree_set.h"
#include "absl/functional/function_ref.h"
#include "common/ids.h"
#include "common/location.h"
#include "server/core/source_selection.h"

namespace tensorhub::hub {

struct Worker;

// Where a worker is; rack and host are empty if they are unknown, since those are shared with
// nobody.
struct Place {
  std::string datacenter;
  std::string rack;
  std::string host;
  bool operator==(const Place&) const = default;
};
Place PlaceOf(const Location& location);

struct Holder {
  HolderRank rank;
  Serial serial = 0;  // 0: before all of this rank
  Worker* worker = nullptr;
  bool operator<(const Holder& other) const {
    const std::strong_ordering order = rank <=> other.rank;
    return order != 0 ? order < 0 : serial < other.serial;
  }
};

struct BySerial {
  bool operator()(const Worker* a, const Worker* b) const;
};

struct Scope {
  absl::btree_set<Holder> holders;     // that may serve
  std::set<Worker*, BySerial> inlets;  // from outside this place, or from nowhere at the moment
  size_t members = 0;                  // references in this place, listed or not
};

struct Site {
  Scope all;
  std::map<std::string, Scope> racks;
  std::map<std::string, Scope> hosts;
  size_t unfed = 0;  // listed holders that do not read themselves
};

// What is recorded of one reference.
struct IndexEntry {
  std::optional<HolderRank> rank;  // none: may serve nobody
  bool unfed = false;
  // The farthest place that it is fed from within; kRemote: not even its datacenter, or by holders
  // of another shard. None: it does not read.
  std::optional<Tier> fed_from;
  bool operator==(const IndexEntry&) const = default;
};

// The first holder of the class, in the index's order, that `may` be given to a reader which allows
// a source to miss so many steps. Null: there is none.
const Worker* FirstOf(const Scope& scope, const SourcePolicy& policy, const SourceClass& wanted,
                      uint32_t steps_allowed, absl::FunctionRef<bool(const Worker&)> may);

class HolderIndex {
 public:
  // Between Add and Remove, `worker` stays where it is in memory, and its place stays the same.
  void Add(Worker& worker);
  void Update(Worker& worker, const IndexEntry& from, const IndexEntry& to);
  void Remove(Worker& worker, const IndexEntry& last);

  const std::map<std::string, Site>& sites() const { return sites_; }
  const Site* FindSite(const Place& place) const;
  // Null for a tier that the place does not have.
  const Scope* FindScope(const Place& place, Tier tier) const;

 private:
  std::map<std::string, Site> sites_;  // by datacenter
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_HOLDER_INDEX_H_
