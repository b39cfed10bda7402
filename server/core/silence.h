// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R8: the hub's failure detector: whose silence it is. A lease says that a worker which is not
// heard is gone. Where nobody is heard at all it is this server that was stopped, or cut off: then
// silence proves nothing, and as after a start everybody has one lease from the moment at which it
// hears again.
//
// Silence alone writes Worker::heard, lease_end and fell_silent. The lease's timer follows when it
// fires, in sessions.cc.
//
// Invariant: of those that fell silent each is alive, and has no session.

#ifndef TENSORHUB_SERVER_CORE_SILENCE_H_
#define TENSORHUB_SERVER_CORE_SILENCE_H_

#include <cstddef>
#include <string>

#include "server/core/hub.h"
#include "server/core/roster.h"
#include "server/core/turn.h"

namespace tensorhub::hub {

class Silence {
 public:
  // All of them live longer.
  Silence(const HubOptions& options, Turn& turn, Roster& roster)
      : options_(options), turn_(turn), roster_(roster) {}
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

  // Any word of anybody who wants to be a worker.
  void HearSomebody();
  // A word of the worker, whose lease is renewed.
  void Hear(Worker& worker);
  // True: the worker's session ended long after its last word, so that it was silent before.
  void SetFellSilent(Worker& worker, bool silent);
  // A process that ends closes its session; its host, or the network, does not.
  static bool FellSilent(const Worker& worker);
  // Instead of the end of its lease: silence proves nothing now. The lease's timer is set anew, so
  // that it is asked again soon.
  bool Excuses(Worker& worker);
  // Nobody could be heard for a while. Everybody has another lease, and a recovery another grace.
  void Forgive(const std::string& why);

  void CheckInvariants() const;

 private:
  bool IsCutOff() const;

  const HubOptions& options_;
  Turn& turn_;
  Roster& roster_;

  TimeMs heard_ = 0;        // when any worker was heard last
  size_t fell_silent_ = 0;  // workers of whom that is true
  bool cut_off_said_ = false;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_SILENCE_H_
