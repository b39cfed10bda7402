// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One watcher's stream: a listing, then changes. A watcher that does not keep up loses the changes
// that wait for it and gets a new listing instead; it never misses one unknowingly, and it never
// holds more than `queue_max` messages of our memory.
//
// Reactions come from gRPC's threads, ListOnLoop and ChangeOnLoop from the loop's. One write is
// outstanding at most; Finish is called exactly once, and only while none is.

#ifndef TENSORHUB_SERVER_RPC_WATCH_REACTOR_H_
#define TENSORHUB_SERVER_RPC_WATCH_REACTOR_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "common/mutex.h"
#include "server/rpc/access.h"
#include "server/rpc/hub_loop.h"
#include "tensorhub/v1/admin.pb.h"

namespace tensorhub::rpc {

class WatchReactor final : public grpc::ServerWriteReactor<v1::WatchEvent>,
                           public Watcher,
                           public std::enable_shared_from_this<WatchReactor> {
 public:
  // Registers with the loop, or ends with INVALID_ARGUMENT for a bad name.
  static WatchReactor* Start(HubLoop& loop, Access& access, const v1::WatchRequest& request,
                             size_t queue_max, const grpc::ServerContextBase& context);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  void ListOnLoop(const hub::Hub& hub) override;
  void ChangeOnLoop(const hub::ModelChange& change) override;
  void Close(const absl::Status& status) override;

 private:
  WatchReactor(HubLoop& loop, Access& access, const std::string& model, size_t queue_max)
      : loop_(loop), access_(access), model_(model), queue_max_(queue_max) {}

  absl::Status Admit(const v1::WatchRequest& request, const grpc::ServerContextBase& context);
  void End(const absl::Status& status);
  void EndFor(const absl::Status& why);
  void WriteNextLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishIfIdleLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  HubLoop& loop_;
  Access& access_;
  const std::string model_;
  const size_t queue_max_;
  std::shared_ptr<WatchReactor> self_;  // gRPC's share
  std::atomic<Access::Ticket> admitted_ = 0;
  std::shared_ptr<Bounds::Seat> seat_;  // of Start and the reactions

  Mutex mutex_;
  std::deque<v1::WatchEvent> writes_ ABSL_GUARDED_BY(mutex_);  // the first one may be outstanding
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool overflowed_ ABSL_GUARDED_BY(mutex_) = false;  // until the next listing
  std::optional<absl::Status> ending_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_WATCH_REACTOR_H_
