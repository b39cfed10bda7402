// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/calls.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tensorhub::hub {

bool Calls::Repeat(Worker& worker, const Operation& op, OpKind kind) {
  OpRecord& last = worker.op;
  if (op.op == 0) {
    turn_.Answer(op.call, absl::InvalidArgumentError("op is 0; operations count from 1"));
    return true;
  }
  if (op.op < last.id) {
    turn_.Answer(op.call,
                 absl::AbortedError(absl::StrCat("operation ", op.op, " is older than ", last.id,
                                                 ", which this worker sent before")));
    return true;
  }
  if (op.op > last.id) return false;
  if (kind != last.kind) {
    turn_.Answer(op.call, absl::InvalidArgumentError(absl::StrCat(
                              "op ", op.op, " was another kind of call; a number is used once")));
    return true;
  }
  if (last.state == OpRecord::State::kOpen) return false;
  if (last.state == OpRecord::State::kDone) {
    turn_.Answer(op.call, last.reply.status, last.reply.payload);
    return true;
  }
  if (last.call != 0) {
    calls_.erase(last.call);
    turn_.Answer(last.call, absl::CancelledError("a retry of this call took over"));
  }
  last.call = op.call;
  calls_[op.call] = &worker;
  return true;
}

void Calls::Begin(Worker& worker, const Operation& op, OpKind kind) {
  worker.op = OpRecord{op.op, OpRecord::State::kPending, kind, op.call};
  calls_[op.call] = &worker;
}

void Calls::SetDeadline(Worker& worker, TimeMs timeout_ms) {
  ClearDeadline(worker);
  worker.op.deadline = turn_.now() + std::clamp<TimeMs>(timeout_ms, 0, kTimeoutMsMax);
  turn_.SetTimer(Timer{worker.op.deadline, Timer::Kind::kOperation, worker.serial, 0});
}

void Calls::ClearDeadline(Worker& worker) {
  if (worker.op.deadline == 0) return;
  turn_.ClearTimer(Timer{worker.op.deadline, Timer::Kind::kOperation, worker.serial, 0});
  worker.op.deadline = 0;
}

void Calls::Finish(Worker& worker, absl::Status status, decltype(Reply::payload) payload) {
  ClearDeadline(worker);
  OpRecord& op = worker.op;
  op.deferred.reset();
  op.state = OpRecord::State::kDone;
  op.reply = Reply{0, status, payload};
  if (op.call == 0) return;
  calls_.erase(op.call);
  turn_.Answer(std::exchange(op.call, 0), std::move(status), std::move(payload));
}

void Calls::ReplyRetryable(Worker& worker, absl::Status status) {
  Finish(worker, std::move(status));
  worker.op.state = OpRecord::State::kOpen;
}

void Calls::TakePublishBack(Worker& worker) {
  OpRecord& op = worker.op;
  const bool published = op.kind == OpKind::kPublish && op.state == OpRecord::State::kDone;
  if (published && op.reply.status.ok()) op.state = OpRecord::State::kOpen;
}

Worker* Calls::HangUp(CallId call) {
  const auto it = calls_.find(call);
  if (it == calls_.end()) return nullptr;
  Worker* worker = it->second;
  calls_.erase(it);
  worker->op.call = 0;
  return worker;
}

bool Calls::IsCallOf(CallId call, const Worker& worker) const {
  const auto it = calls_.find(call);
  return it != calls_.end() && it->second == &worker;
}

}  // namespace tensorhub::hub
