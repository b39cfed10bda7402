// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Calls that wait for a newer version (waits.h), until it is there, or their time is up. Each is
// answered once.

#ifndef TENSORHUB_SERVER_CORE_WAIT_CALLS_H_
#define TENSORHUB_SERVER_CORE_WAIT_CALLS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "server/core/catalog.h"
#include "server/core/hub.h"
#include "server/core/turn.h"
#include "server/core/waits.h"

namespace tensorhub::hub {

class WaitCalls {
 public:
  // All of them live longer.
  WaitCalls(const HubOptions& options, Turn& turn, const Catalog& catalog)
      : options_(options), turn_(turn), catalog_(catalog) {}
  WaitCalls(const WaitCalls&) = delete;
  WaitCalls& operator=(const WaitCalls&) = delete;

  void On(const WaitOp& op);
  // A version of the model may be there that was not.
  void Wake(const std::string& model);
  // To be called when Timer::kWait fires.
  void Expire(CallId call);
  // The caller hung up. Any call may be named.
  void Forget(CallId call);

  void CheckInvariants() const;

 private:
  // False: it does not wait (any more).
  bool Take(CallId call);
  std::optional<VersionNumber> Satisfied(const Wait& wait) const;
  std::string WhyInVain(const Wait& wait) const;
  void End(CallId call, absl::Status status, VersionNumber version);

  const HubOptions& options_;
  Turn& turn_;
  const Catalog& catalog_;
  Waits waits_;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_WAIT_CALLS_H_
