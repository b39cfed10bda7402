// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// When an operation begins and when it ends (calls.h): what it waits for before, and what goes with
// it.

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
  if (calls_.Repeat(*worker, op, kind, *out_)) return nullptr;
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
  if (after_fetch) graph_.EndAborted(*worker);
  calls_.Begin(*worker, op, kind);
  return worker;
}

// A newer operation: the older one's caller is not interested any more.
void Hub::State::YieldToNewer(Worker& worker) {
  if (worker.op.state != OpRecord::State::kPending) return;
  if (worker.op.kind == OpKind::kJoinFetch) LeaveForming(worker);
  ReplyRetryable(worker, absl::CancelledError("a newer operation of this worker took its place"));
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
  ClearDeadline(worker);
  calls_.Finish(worker, std::move(status), std::move(payload), *out_);
}

void Hub::State::ReplyRetryable(Worker& worker, absl::Status status) {
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
