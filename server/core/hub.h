// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The hub: everything the server decides, as a deterministic state machine. The same sequence of
// (event, now) from the same seed gives the same effects, byte for byte: the server, the tests and
// the simulator run this very code.
//
// Thread contract: none; one thread at a time. `now` never goes back.

#ifndef TENSORHUB_SERVER_CORE_HUB_H_
#define TENSORHUB_SERVER_CORE_HUB_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/core/documents.h"
#include "server/core/effects.h"
#include "server/core/events.h"
#include "server/core/fleet_views.h"
#include "server/core/views.h"

namespace tensorhub::hub {

// Every table that a client can fill has a bound; beyond it: RESOURCE_EXHAUSTED, or the oldest
// entry that nothing needs any more is forgotten.
struct HubLimits {
  size_t models = 10'000;        // each has a durable row once it has a version: never forgotten
  size_t workers = 100'000;      // with a lease
  size_t dead_workers = 10'000;  // remembered, so that they may come back; then forgotten, and with
                                 // the last of a group the group's durable row
  size_t waits = 65'536;         // WaitOp at a time
  size_t past_versions = 4'096;  // per model: visible once, held no more; then forgotten
  // Documents; unused ones make room.
  DocumentLimits layouts{4'096, uint64_t{1} << 30};
  DocumentLimits attachments{1'024, uint64_t{4} << 30};
  size_t pins = 1'024;           // per model
  size_t excluded_sources = 64;  // that may fail one reader before its fetch is given up
};

struct HubOptions {
  uint64_t seed = 1;
  // Which life of the hub this is: greater than that of any before (R2).
  uint64_t hub_epoch = 1;
  // Whose data it has (R8); none: nothing is kept, and any worker is welcome.
  Id128 store = {};
  // How long a silent worker counts as alive. Shorter: dead workers hinder others less; longer:
  // pauses of the trainer (a checkpoint, a debugger) do not cost its references.
  TimeMs lease_ms = 5000;
  TimeMs heartbeat_ms = 1000;
  // Where nobody is heard at all it is this server that is cut off, and nobody is taken for dead
  // (R8): for so long. Longer than a switch takes to restart.
  TimeMs cut_off_ms = 300'000;
  // Started on the data of an earlier life: wait one lease for the workers to report (R8).
  bool recovering = false;
  // What the earlier life kept.
  DurableState durable;
  // Readers that one source feeds at a time before others are preferred. With one, readers form
  // chains, which use every link once; more than one divides a source's link among them.
  uint32_t readers_per_source = 1;
  // Sources that one reader is given at a time, where as many hold the shard whole, are as near as
  // the best of them, and feed nobody. More than one is worth it where a source, or one connection,
  // is slower than the reader's link; it leaves fewer free sources for other readers.
  uint32_t sources_per_reader = 1;
  // From so many readers in a row on, a chain is cut in its middle when there is a free source that
  // has the shard whole. Each member of a chain adds a hop; a move costs a connection, some hops.
  uint32_t long_chain = 64;
  // Reports of all readers together, at most: with many workers each reports less often. A report
  // costs the hub some 3 us, and the server around it more.
  uint32_t reports_per_second = 50'000;
  // How many of a model's newest versions are not lost by an orderly unpublish (R7), unless
  // an operator has said otherwise.
  uint32_t keep_latest = 0;
  // R9: readers are given capabilities, and sources that have a key serve nobody without. False: as
  // an older hub, for as long as there are older agents, which show none.
  bool guard_reads = true;
  // What the wall clock shows when this hub's shows 0: pins end by it, whichever hub is there then.
  TimeMs wall_at_zero = 0;
  HubLimits limits;
};

class Hub {
 public:
  Hub(const HubOptions& options, TimeMs now);
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  // Appends what has to be done, in order.
  void Apply(const Event& event, TimeMs now, Effects& effects);
  // When Tick is due at the latest, if nothing else happens.
  std::optional<TimeMs> NextDeadline() const;

  // Models by name. If there are many: those behind `after`, at most `limit`.
  std::vector<ModelView> Models(const std::string& after = "", size_t limit = ~size_t{0}) const;
  // Empty if the model is unknown; `HasModel` tells the two apart.
  bool HasModel(const std::string& model) const;
  // The newest that ever became visible.
  std::optional<VersionNumber> Latest(const std::string& model) const;
  std::vector<VersionView> Versions(const std::string& model) const;
  std::vector<ReferenceView> References(const std::string& model,
                                        std::optional<VersionNumber> version) const;
  std::vector<WorkerView> Workers(TimeMs now) const;
  std::vector<WorkerView> Workers(const WorkerQuery& query, TimeMs now) const;
  std::vector<TransferView> Transfers(TimeMs now) const;
  // At most `limit` of those that hold the version.
  ReplicationView Replication(const std::string& model, VersionNumber version, size_t limit,
                              TimeMs now) const;
  FleetView Fleet(TimeMs now) const;
  // Fetches of the workers of a model, or of one group (empty: of all), that joined one of that
  // version last, or of any.
  std::vector<FetchView> Fetches(const std::string& model, std::optional<VersionNumber> version,
                                 const std::string& group) const;
  StatusView Status() const;
  uint64_t Revision(const std::string& model) const;
  std::shared_ptr<const Layout> FindLayout(const Fingerprint& fingerprint) const;
  std::shared_ptr<const std::string> FindAttachment(const Fingerprint& fingerprint) const;

  // Aborts the process if an invariant (R1-R3, R6: counts balance, no cycles, …) does not hold.
  void CheckInvariants() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_HUB_H_
