// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R3: how a holder gets its buffers back. R7: it goes when Retention lets it, and who waits for a
// copy hears that there will be none.

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/state.h"

namespace tensorhub::hub {

void Hub::State::On(const UnpublishOp& op) {
  Worker* worker = Start(op, OpKind::kUnpublish);
  if (worker == nullptr) return;
  worker->op.then_read = op.then_read;
  const std::optional<Reference>& reference = worker->reference;
  if (!reference || reference->generation != op.generation) {
    // An earlier call left them, whose answer was not awaited.
    const LastDrain& behind = worker->left_behind;
    return AnswerUnpublish(*worker, behind.generation == op.generation ? behind.readers : 0);
  }
  if (reference->state == ReferenceState::kFilling) {
    return calls_.Finish(*worker, absl::FailedPreconditionError(absl::StrCat(
                                      "a fetch of version ", reference->version,
                                      " into these buffers is running; finish it first")));
  }
  worker->op.leaving = op.leaving;
  Retention::ForgetSuccession(*worker);
  if (op.leaving) NoCopiesBy(worker->id.key, "it leaves");
  const bool kept = reference->state != ReferenceState::kComplete || op.force;
  if (!kept && !retention_.MayGo(*worker)) {
    return Depart(retention_.AwaitKeeper(*worker, op.drain_ms));
  }
  BeginDrain(*worker, op.drain_ms);
}

// R7: what was to be kept is, or its time is up. None: the worker waits.
void Hub::State::Depart(const std::optional<Retention::Departure>& departure) {
  if (!departure) return;
  Worker& worker = *departure->leaver;
  departure->drain_ms ? BeginDrain(worker, *departure->drain_ms) : AnswerUnpublish(worker, 0);
}

// One by one: whoever goes does not keep anything for the next.
void Hub::State::LetGo() {
  while (const auto departure = retention_.NextDeparture()) Depart(departure);
}

void Hub::State::On(const CopyFailed& event) {
  const Worker* worker = FindSession(event.session);
  if (worker == nullptr) return;
  NoCopyBy(worker->id.key, event.version, std::string(event.reason.message()));
}

// Whatever it was asked for.
void Hub::State::NoCopiesBy(const WorkerKey& rank, const std::string& why) {
  for (const VersionNumber version : retention_.CopiesAskedOf({rank.model, rank.group})) {
    NoCopyBy(rank, version, why);
  }
}

// R6: the ranks that have joined wait for one that will not.
void Hub::State::NoCopyBy(const WorkerKey& rank, VersionNumber version, const std::string& why) {
  const Retention::VoidCopy copy = retention_.NoCopyBy(rank, version, why);
  for (const GroupKey& key : copy.groups) RefuseForming(key, groups_.at(key), copy.why);
}

// R3 (a), (b): in this one event admission closes and the readers get other sources.
void Hub::State::BeginDrain(Worker& worker, TimeMs drain_ms) {
  Reference& reference = *worker.reference;
  const Member* member = FindOpenMember(worker.id);
  if (member != nullptr && member->already_held) {
    AbortOf(worker, absl::AbortedError("it unpublished the version that it held"));
  }
  SetState(worker, ReferenceState::kDraining);
  graph_.ReattachReaders(worker);
  timers_.erase(Timer{reference.drain_end, Timer::Kind::kDrain, worker.serial, 0});
  reference.drain_end = now_ + std::clamp<TimeMs>(drain_ms, 0, kTimeoutMsMax);
  timers_.insert(Timer{reference.drain_end, Timer::Kind::kDrain, worker.serial, 0});
  graph_.RedirectReaders(worker);
  if (reference.readers.empty()) drained_.insert(&worker);
  if (drain_ms <= 0) drained_.insert(&worker);
}

// No reader is left, or the time is up: the buffers are the owner's, who raises the generation
// before it writes (R4), so that a reader that is left cannot be deceived.
void Hub::State::EndDrain(Worker& worker) {
  if (!worker.reference || worker.reference->state != ReferenceState::kDraining) return;
  const auto left = static_cast<uint32_t>(worker.reference->readers.size());
  if (left > 0) {
    Say(LogLine::Level::kWarning, absl::StrCat(ToString(worker.id.key), ": ", left,
                                               " readers left at the end of the drain time"));
  }
  worker.left_behind = {worker.reference->generation, left};
  // A report that was under way must not list it again.
  worker.generation = std::max(worker.generation, worker.reference->generation + 1);
  RemoveReference(worker);
  if (IsPending(worker, OpKind::kUnpublish)) AnswerUnpublish(worker, left);
}

// The buffers are free. A read that was to follow begins here, not sooner: two workers that fetch
// from each other's old versions must not wait for each other. Nor for a caller that has gone: a
// worker that cannot be reached is nobody's source.
void Hub::State::AnswerUnpublish(Worker& worker, uint32_t left) {
  const std::optional<ReadStart> next = worker.op.then_read;
  const bool begun = next && worker.op.call != 0 && BeginRead(worker, *next).ok();
  calls_.Finish(worker, absl::OkStatus(), UnpublishReply{left == 0, left, begun});
}

}  // namespace tensorhub::hub
