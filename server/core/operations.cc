// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One operation per worker, idempotent through (incarnation, op): the newest number and its reply
// are kept; a retry of it hears the same, whatever happened in between.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/remedy.h"
#include "server/core/state.h"

namespace tensorhub::hub {

Worker* Hub::State::Start(const Operation& op, OpKind kind) {
  Worker* worker = FindWorker(op.worker.key);
  const auto unknown = [&op] {
    const std::string key = ToString(op.worker.key);
    return WithRemedy(
        absl::FailedPreconditionError(absl::StrCat(key, " is not connected; open a session first")),
        Remedy::kOpenSession);
  };
  if (worker == nullptr) {
    Answer(op.call, unknown());
    return nullptr;
  }
  if (worker->id.incarnation != op.worker.incarnation) {
    const auto& fenced = worker->fenced;
    const bool old = std::find(fenced.begin(), fenced.end(), op.worker.incarnation) != fenced.end();
    Answer(op.call, old ? absl::AbortedError(absl::StrCat(ToString(op.worker.key),
                                                          " was replaced by a newer incarnation"))
                        : unknown());
    return nullptr;
  }
  if (Repeat(*worker, op, kind)) return nullptr;
  if (!worker->alive) {
    Answer(op.call, unknown());
    return nullptr;
  }
  YieldToNewer(*worker);
  // R6: what begins only when a fetch is over. (Unpublish may be a part of one.)
  const bool after_fetch =
      kind == OpKind::kPublish || kind == OpKind::kJoinFetch || kind == OpKind::kLeave;
  if (after_fetch) Acknowledge(*worker);
  // R3: nor is anything outstanding of a fetch that it has given up, whose FinishRead was lost.
  if (after_fetch) EndAborted(*worker);
  worker->op = OpRecord{op.op, OpRecord::State::kPending, kind, op.call};
  calls_[op.call] = worker;
  return worker;
}

// True if the call needs nothing more: it is malformed, late, or a retry.
bool Hub::State::Repeat(Worker& worker, const Operation& op, OpKind kind) {
  OpRecord& last = worker.op;
  if (op.op == 0) {
    Answer(op.call, absl::InvalidArgumentError("op is 0; operations count from 1"));
    return true;
  }
  if (op.op < last.id) {
    Answer(op.call, absl::AbortedError(absl::StrCat("operation ", op.op, " is older than ", last.id,
                                                    ", which this worker sent before")));
    return true;
  }
  if (op.op > last.id) return false;
  if (kind != last.kind) {
    Answer(op.call, absl::InvalidArgumentError(absl::StrCat(
                        "op ", op.op, " was another kind of call; a number is used once")));
    return true;
  }
  if (last.state == OpRecord::State::kOpen) return false;
  if (last.state == OpRecord::State::kDone) {
    Answer(op.call, last.reply.status, last.reply.payload);
    return true;
  }
  if (last.call != 0) {
    calls_.erase(last.call);
    Answer(last.call, absl::CancelledError("a retry of this call took over"));
  }
  last.call = op.call;
  calls_[op.call] = &worker;
  return true;
}

// A newer operation: the older one's caller is not interested any more.
void Hub::State::YieldToNewer(Worker& worker) {
  if (worker.op.state != OpRecord::State::kPending) return;
  if (worker.op.kind == OpKind::kJoinFetch) LeaveForming(worker);
  FinishOpen(worker, absl::CancelledError("a newer operation of this worker took its place"));
}

void Hub::State::SetDeadline(Worker& worker, TimeMs timeout_ms) {
  worker.op.deadline = now_ + std::clamp<TimeMs>(timeout_ms, 0, kTimeoutMsMax);
  timers_.insert(Timer{worker.op.deadline, Timer::Kind::kOperation, worker.serial, 0});
}

void Hub::State::ClearDeadline(Worker& worker) {
  if (worker.op.deadline == 0) return;
  timers_.erase(Timer{worker.op.deadline, Timer::Kind::kOperation, worker.serial, 0});
  worker.op.deadline = 0;
}

void Hub::State::Finish(Worker& worker, absl::Status status, decltype(Reply::payload) payload) {
  OpRecord& op = worker.op;
  ClearDeadline(worker);
  op.deferred.reset();
  op.state = OpRecord::State::kDone;
  op.reply = Reply{0, status, payload};
  if (op.call == 0) return;
  calls_.erase(op.call);
  Answer(std::exchange(op.call, 0), std::move(status), std::move(payload));
}

void Hub::State::FinishOpen(Worker& worker, absl::Status status) {
  Finish(worker, std::move(status));
  worker.op.state = OpRecord::State::kOpen;
}

// The answer that something was published rests on the reference, which is going. A worker that has
// not heard it must not hear it any more: its retry is carried out again, if it still may be.
void Hub::State::TakePublishBack(Worker& worker) {
  OpRecord& op = worker.op;
  const bool published = op.kind == OpKind::kPublish && op.state == OpRecord::State::kDone;
  if (published && op.reply.status.ok()) op.state = OpRecord::State::kOpen;
}

void Hub::State::Answer(CallId call, absl::Status status, decltype(Reply::payload) payload) {
  out_->push_back(Reply{call, std::move(status), std::move(payload)});
}

}  // namespace tensorhub::hub
