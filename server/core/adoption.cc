// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R8: which workers are this hub's. One of another hub waits outside: its marks and numbers may be
// another run's. When an operator says that the other hub's data is lost, its workers are taken
// over with what they hold, and a grace begins, since nobody here knows who they are. The id stays
// the other hub's own, so that nothing goes wrong where it lives after all: each worker is in one
// session, and belongs to the hub of that.

#include "server/core/adoption.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/remedy.h"

namespace tensorhub::hub {
namespace {

constexpr size_t kAdoptedMax = 64;    // R9
constexpr size_t kStrangersMax = 64;  // that are told of

}  // namespace

void Hub::State::On(const AdoptOp& op) { Answer(op.call, Adoption{*this}.Adopt(op.store)); }

// Again: those who have not come yet get another grace.
absl::Status Hub::State::Adoption::Adopt(const Id128& store) const {
  auto& rows = state.adoptions_.rows;
  if (!store) return absl::InvalidArgumentError("store_id: name the other hub's, not none");
  if (store == state.options_.store) {
    return absl::InvalidArgumentError("store_id: it is this hub's own; its workers are welcome");
  }
  if (!rows.contains(store) && rows.size() >= kAdoptedMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this server has adopted ", kAdoptedMax, " hubs already"));
  }
  const TimeMs lease_ms = state.options_.lease_ms;
  state.Say(LogLine::Level::kInfo,
            absl::StrCat("an operator has the workers of hub ", ToHex(store),
                         " adopted; they have ", lease_ms, " ms to report what they hold"));
  rows[store] = {};
  state.adoptions_.changed.insert(store);
  state.BeginRecovery(state.now_ + lease_ms);
  return absl::OkStatus();
}

Id128 Hub::State::Adoption::ComesFrom(const SessionOpened& event) const {
  const Id128& mine = state.options_.store;
  return mine && event.known_store != mine ? event.known_store : Id128{};
}

void Hub::State::Adoption::ForgetEpochs(SessionOpened& event) const {
  if (!ComesFrom(event)) return;
  event.epoch = event.joined_epoch = {};
  if (event.holding) event.holding->epoch = {};
}

// Of those that are turned away, each try would be a line of the log.
absl::Status Hub::State::Adoption::Check(const SessionOpened& event) const {
  const Id128 from = ComesFrom(event);
  if (!from || state.adoptions_.rows.contains(from)) return absl::OkStatus();
  const std::string known = ToHex(from);
  auto& strangers = state.adoptions_.strangers;
  if (strangers.size() < kStrangersMax && strangers.insert(from).second) {
    state.Say(LogLine::Level::kWarning,
              absl::StrCat(ToString(event.worker.key), " and perhaps others belong to hub ", known,
                           ", and wait; if its data is lost: tensorhubctl adopt ", known));
  }
  const std::string text = absl::StrCat(
      "known_store_id: this worker belongs to another hub (", known, ", this is ",
      ToHex(state.options_.store), "): correct the server's address, restart the worker, or, if ",
      "that hub's data is lost, run tensorhubctl adopt ", known);
  return WithRemedy(absl::FailedPreconditionError(text), Remedy::kAwaitAdoption);
}

void Hub::State::Adoption::Settle() const {
  for (auto& [store, row] : state.adoptions_.rows) {
    if (!std::exchange(row.settled, true)) state.adoptions_.changed.insert(store);
  }
}

}  // namespace tensorhub::hub
