// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One operation per worker, idempotent through (incarnation, op): the newest number and its reply
// are kept in the worker's row (OpRecord); a retry of it hears the same, whatever happened in
// between. When an operation may begin, and what else ends with it, is for operations.cc.
//
// Calls alone write Worker::op but for what an operation waits for: its deferred publish and the
// epoch of that, whether it leaves, and what is read after it.
//
// Invariants: a call is here exactly while its worker's operation is pending and the caller waits.
// An operation that has a deadline is pending, and has its timer.

#ifndef TENSORHUB_SERVER_CORE_CALLS_H_
#define TENSORHUB_SERVER_CORE_CALLS_H_

#include <cstddef>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "server/core/effects.h"
#include "server/core/events.h"
#include "server/core/tables.h"
#include "server/core/turn.h"

namespace tensorhub::hub {

class Calls {
 public:
  explicit Calls(Turn& turn) : turn_(turn) {}  // which lives longer
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  // True if the call needs nothing more, and was answered as far as it can be: it is malformed,
  // late, or a retry. A retry of what is pending takes the older call's place.
  bool Repeat(Worker& worker, const Operation& op, OpKind kind);
  // The worker's operation from now on. Requires: none of it is pending, and not Repeat().
  void Begin(Worker& worker, const Operation& op, OpKind kind);
  // When Timer::kOperation fires, if the operation is pending then. In place of an earlier time.
  void SetDeadline(Worker& worker, TimeMs timeout_ms);
  void ClearDeadline(Worker& worker);
  // The reply is kept, and goes to the caller if one waits.
  void Finish(Worker& worker, absl::Status status, decltype(Reply::payload) payload = {});
  // Like Finish, but a repetition of the call is carried out again.
  void ReplyRetryable(Worker& worker, absl::Status status);
  // The answer that something was published rests on the reference, which is going. A worker that
  // has not heard it must not hear it any more: its retry is carried out again, if it still may be.
  static void TakePublishBack(Worker& worker);
  // The operation goes on without a caller; a retry takes it over or hears the reply. Null: no
  // operation has that caller.
  Worker* HangUp(CallId call);

  size_t size() const { return calls_.size(); }
  bool IsCallOf(CallId call, const Worker& worker) const;

 private:
  Turn& turn_;
  absl::btree_map<CallId, Worker*> calls_;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_CALLS_H_
