// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/checkers/r9_bounded.h"

#include "absl/strings/str_cat.h"
#include "tests/sim/hub_node.h"
#include "tests/sim/process.h"
#include "tests/sim/strangers.h"

namespace tensorhub::fault {

void R9Bounded::OnFrame(const Process& from, const Process& to, const std::string& header) {
  if (scene_.plan.strangers == 0 || !IsStrangers(header)) return;
  const std::string what = NameOfPeerMessage(header);
  const bool its_own =
      what == "Open" || what == "OpenRanges" || what == "Request" || what == "Want";
  if (its_own || what == "Refuse") return;
  scene_.Fail("R9", absl::StrCat(from.name(), " says ", what, " to ", to.name(),
                                 ", which nobody has sent there"));
}

void R9Bounded::CheckSettled() {
  const hub::Hub& hub = scene_.hub->core();
  for (const hub::ModelView& model : hub.Models()) {
    for (const hub::ReferenceView& reference : hub.References(model.model, std::nullopt)) {
      if (reference.readers == 0 && reference.state != hub::ReferenceState::kDraining) continue;
      scene_.Fail("R9", absl::StrCat(ToString(reference.worker.key), " has ", reference.readers,
                                     " readers, and nobody reads"));
    }
  }
  if (hub.Status().transfers == 0) return;
  scene_.Fail("R9", absl::StrCat(hub.Status().transfers, " transfers are left, and nobody reads"));
}

void R9Bounded::CheckEmpty() {
  const hub::StatusView status = scene_.hub->core().Status();
  if (status.workers == 0 && status.connected == 0 && status.references == 0 &&
      status.transfers == 0) {
    return;
  }
  scene_.Fail("R9", absl::StrCat("all have left, and the hub counts ", status.workers, " workers, ",
                                 status.connected, " sessions, ", status.references,
                                 " references, ", status.transfers, " transfers"));
}

}  // namespace tensorhub::fault
