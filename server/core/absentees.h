// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R8: workers that are waited for. Those that were there when the hub's earlier life ended are
// expected until they have said all that they have to say, or the grace is over. Those that fell
// silent with something that may be wanted, or out of service, are away until they are back, or an
// outage would be over.
//
// What a worker's row in the store says follows from both, and from who is there (RowOf). Each
// change of it is noted in the turn's changes.
//
// Invariants: nobody is both expected and away. Who is away is not alive. Only in a recovery is
// anybody expected. While anybody is away, Timer::kAway is set, at the first end or before it.

#ifndef TENSORHUB_SERVER_CORE_ABSENTEES_H_
#define TENSORHUB_SERVER_CORE_ABSENTEES_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "server/core/catalog.h"
#include "server/core/hub.h"
#include "server/core/roster.h"
#include "server/core/turn.h"

namespace tensorhub::hub {

class Absentees {
 public:
  // All of them live longer.
  Absentees(const HubOptions& options, Turn& turn, const Roster& roster, const Catalog& catalog)
      : options_(options), turn_(turn), roster_(roster), catalog_(catalog) {}
  Absentees(const Absentees&) = delete;
  Absentees& operator=(const Absentees&) = delete;

  // What the earlier life kept. To be called once, at the start.
  void Restore(const std::map<WorkerKey, WorkerRow>& rows);

  // --- until the grace is over -------------------------------------------------------------------

  bool IsExpected(const WorkerKey& key) const { return expected_.contains(key); }
  size_t expected() const { return expected_.size(); }
  // What a worker says when it opens a session, and by the call that it repeats, is all that the
  // earlier life may have known of it. A new process in its place says that it will not come back,
  // or that it will not be heard.
  void Hear(const SessionOpened& event);
  // The process has ended in this life, so that no more is to come of it.
  void ExpectNoMore(const Worker& worker);
  // Whether it is known who was there before, and each of them has said all. Forgets those that
  // have, up to the first that has not.
  bool HaveAllSaid();
  // Whichever have not come are away, if what they may have is wanted.
  void EndGrace();

  // --- outages -----------------------------------------------------------------------------------

  // The worker fell silent. No publication: nothing that it held is waited for. R9: with as many
  // away as there may be dead workers, one more is not remembered.
  void NoteAway(const WorkerIdentity& worker, const PublicationId& publication, bool withdrawn);
  // The worker reports what it holds, or another process has its place.
  void ComesBack(const WorkerKey& key);
  // To be called when Timer::kAway fires.
  void EndAway();
  // Some worker that may come back with it, until the next change here. Null: nobody.
  const WorkerKey* MayReturn(const std::string& model, const PublicationId& publication) const;

  // --- an operator's order to one that is not here -----------------------------------------------

  // Whether that process was out of service when it was last here, or is expected to be.
  bool IsWithdrawn(const WorkerIdentity& worker) const;
  // The order reached the process, which is expected still.
  void SetWithdrawn(const WorkerIdentity& worker, bool withdrawn);
  // Takes back the order that a worker would find when it is back. False: there is none.
  bool TakeOrderBack(const WorkerKey& key);

  // What is kept of a worker. Of two processes the one that is expected is the newer one. None:
  // nothing is.
  std::optional<WorkerRow> RowOf(const WorkerKey& key) const;
  void CheckInvariants() const;
  // The rows of those that are not here, as they have to be kept.
  void AddRows(std::map<WorkerKey, WorkerRow>& rows) const;

 private:
  bool HasSaidAll(const WorkerKey& key, const Expected& expected) const;
  void NoteUnaccounted(const WorkerKey& key, const Expected& expected);
  void SetAwayTimer();

  const HubOptions& options_;
  Turn& turn_;
  const Roster& roster_;
  const Catalog& catalog_;

  // While recovering; empty: those of the earlier life are not known, or are there.
  std::map<WorkerKey, Expected> expected_;
  bool names_all_ = true;  // false: in a recovery that began without the rows of workers
  std::map<WorkerKey, Away> away_;
  std::optional<TimeMs> away_timer_;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_ABSENTEES_H_
