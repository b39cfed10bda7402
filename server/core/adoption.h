// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whose workers are let in, and what an operator's order to adopt another hub's does to the tables
// (adoption.cc).

#ifndef TENSORHUB_SERVER_CORE_ADOPTION_H_
#define TENSORHUB_SERVER_CORE_ADOPTION_H_

#include "server/core/state.h"

namespace tensorhub::hub {

struct Hub::State::Adoption {
  State& state;

  absl::Status Adopt(const Id128& store) const;
  // FAILED_PRECONDITION, kAwaitAdoption: it belongs to a hub that was not adopted.
  absl::Status Check(const SessionOpened& event) const;
  // The store of another hub that it comes from; none: it does not.
  Id128 ComesFrom(const SessionOpened& event) const;
  // The other hub's count for nothing here.
  void ForgetEpochs(SessionOpened& event) const;
  // At the end of a grace.
  void Settle() const;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_ADOPTION_H_
