// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// When an operation begins and when it ends (calls.h): what it waits for before, and what goes with
// it.

#include <algorithm>

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
  if (calls_.Repeat(*worker, op, kind)) return nullptr;
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
  calls_.ReplyRetryable(worker,
                        absl::CancelledError("a newer operation of this worker took its place"));
}

}  // namespace tensorhub::hub
