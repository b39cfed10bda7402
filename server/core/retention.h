// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R7: which versions must not be lost, who keeps them, and who has to wait before it gives up what
// it holds, until somebody else keeps it. Three files: what is wanted, by the orders of operators
// (policies.cc); who may go, and who waits (retention.cc); who makes a copy (copies.cc).
//
// What others change comes in as calls: that who keeps something may have changed, or which
// versions are wanted. What is wanted of workers goes out as effects of the turn. What the hub has
// to do is handed back: workers that may go now (Departure), and groups whose ranks have joined for
// a copy that is not made (VoidCopy).
//
// Retention alone writes Worker::succession and Model::keep_latest, and has the pins. Who keeps a
// shard is not noted down but seen from the references, so that it cannot differ from them.
//
// Invariants: whoever waits for a keeper is watched, and so is each worker out of service that
// holds its shard whole. Outside of a recovery, the timer of pins is set while there is one that
// ends.

#ifndef TENSORHUB_SERVER_CORE_RETENTION_H_
#define TENSORHUB_SERVER_CORE_RETENTION_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/core/calls.h"
#include "server/core/catalog.h"
#include "server/core/groups.h"
#include "server/core/hub.h"
#include "server/core/pins.h"
#include "server/core/roster.h"
#include "server/core/turn.h"
#include "server/core/version_choice.h"

namespace tensorhub::hub {

class Retention {
 public:
  // A worker that has waited long enough, or need not wait.
  struct Departure {
    Worker* leaver = nullptr;
    // How long its readers have, from when it gives its shard up. None: it holds nothing any more,
    // and hears so.
    std::optional<TimeMs> drain_ms;
  };

  // Groups in which ranks have joined for a copy that is not made.
  struct VoidCopy {
    std::vector<GroupKey> groups;
    absl::Status why;
  };

  // All of them live longer.
  Retention(const HubOptions& options, Turn& turn, Roster& roster, Catalog& catalog,
            const Groups& groups, Calls& calls, const VersionChoice& choice)
      : options_(options),
        turn_(turn),
        roster_(roster),
        catalog_(catalog),
        groups_(groups),
        calls_(calls),
        choice_(choice) {}
  Retention(const Retention&) = delete;
  Retention& operator=(const Retention&) = delete;

  // --- what is wanted (policies.cc) --------------------------------------------------------------

  void On(const RetainOp& op);
  void On(const PinOp& op);
  void On(const UnpinOp& op);
  // To be called when Timer::kPins fires.
  void EndPins();
  // R8: while recovering, no pin ends, and a timer that fires does nothing. To be called at the
  // start, and when a recovery has ended.
  void SetPinTimer();
  uint32_t KeepLatest(const Model& model) const;
  // Why the version must not be lost; nothing if it may be.
  std::vector<std::string> KeptBy(const Publication& publication) const;
  // What is kept of it; none: nothing is. Restore requires that the model is there.
  std::optional<RetentionRow> RowOf(const std::string& model) const;
  void Restore(const std::string& model, const RetentionRow& row);

  // --- who may go (retention.cc) -----------------------------------------------------------------

  // The one place of the rule: whether the holder may give its shard up.
  bool MayGo(const Worker& leaver) const;
  // The leaver's unpublish waits until it may. The holder goes on serving meanwhile. `drain_ms` is
  // for both: for a keeper to appear, and for the readers to go. Requires: not MayGo().
  std::optional<Departure> AwaitKeeper(Worker& leaver, TimeMs drain_ms);
  // The time of that is up, or there is nobody to wait for; readers that it has left may need the
  // rest.
  std::optional<Departure> KeeperDeadline(Worker& leaver);
  // One out of service holds its shard whole: it does not wait, but others are asked to keep it.
  void Watch(const Worker& withdrawn) { leavers_.insert(withdrawn.serial); }
  bool Watches(const Worker& worker) const { return leavers_.contains(worker.serial); }
  // Who was asked for a copy, and who could not make one: another wait begins without that.
  static void ForgetSuccession(Worker& worker) { worker.succession = {}; }

  // Somebody became a keeper, or ceased to be one.
  void KeepersChanged() { changed_ = true; }
  // Other versions of the model are wanted than before.
  void WantedChanged(const std::string& model);
  bool changed() const { return changed_; }
  // As changed(), which is false then.
  bool TakeChanged() { return std::exchange(changed_, false); }
  // A round through all that wait, after a change, or at the end of a recovery. The hub carries out
  // each departure before it asks for the next, until there is none: no round begins within
  // another. The first of each group asks for copies for all its ranks. Only in the round after a
  // recovery are those that it has not yet looked at not watched.
  void BeginRound();
  void BeginRoundAfterRecovery();
  std::optional<Departure> NextDeparture();

  // --- copies (copies.cc) ------------------------------------------------------------------------

  // The versions that this group was asked to copy.
  std::set<VersionNumber> CopiesAskedOf(const GroupKey& copier) const;
  // One rank's failure is that of the whole copy. Another group is asked, if there is one, in the
  // next round: the rank may be in the middle of being replaced.
  VoidCopy NoCopyBy(const WorkerKey& rank, VersionNumber version, const std::string& reason);
  // The rank's session has broken, and perhaps with it what it was asked.
  void AskAgain(const Worker& rank);
  // A copy in the memory of one out of service is none: others' wait for it is over. Its own
  // group's is for its own unpublish.
  void AskOthersThan(const Worker& withdrawn);
  // Whether somebody waits for what that copy is about to fetch.
  bool IsAwaited(const Worker& copy, const VersionSelector& selector) const;
  // A copy that nobody wants any more gives its memory back.
  void ReleaseIfUnwanted(const Worker& copy);

  void CheckInvariants() const;

 private:
  // policies.cc
  absl::Status Pin(const PinOp& op);

  // retention.cc
  bool IsKept(const Shard& shard, const Worker& leaver) const;
  bool IsKeptElsewhere(const Publication& publication, const Worker& leaver) const;
  bool HasStable(const std::string& model) const;
  static bool AwaitsKeeper(const Worker* leaver);
  bool MayBecomeKept(const Worker& leaver) const;
  std::optional<Departure> Look(Serial serial);
  std::optional<Departure> LookAfterRecovery(Serial serial);
  std::optional<Departure> AwaitOn(Worker& leaver);
  static std::optional<Departure> AnswerWithout(Worker* leaver);
  std::string WhyNotKept(const Worker& leaver) const;

  // copies.cc
  std::optional<GroupKey> CopierFor(const Worker& leaver) const;
  static bool MayAsk(const GroupKey& group, const Worker& leaver);
  bool CanCopy(const GroupKey& group, const Worker& leaver, bool stable) const;
  bool IsAsked(const GroupKey& copier, const Worker& leaver) const;
  std::vector<Worker*> LeaversOf(const GroupKey& copier) const;
  void AskForCopies(Worker& leaver);
  void AskForCopy(const Worker& rank, const Worker& leaver);
  std::vector<GroupKey> JoinedFor(const WorkerKey& of, VersionNumber version) const;

  const HubOptions& options_;
  Turn& turn_;
  Roster& roster_;
  Catalog& catalog_;
  const Groups& groups_;
  Calls& calls_;
  const VersionChoice& choice_;

  Pins pins_;
  std::optional<TimeMs> pin_timer_;  // at the first end of a pin
  std::set<Serial> leavers_;         // that wait for a keeper of what they hold; a superset
  bool changed_ = false;             // since a round began, or was asked for
  std::set<Serial> round_;           // of leavers_, that the round has yet to look at
  bool after_recovery_ = false;      // the round is that
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_RETENTION_H_
