// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One worker's stream. gRPC's threads call the reactions, the loop's thread calls the sink.
//
// 1. One write is outstanding at most; the rest waits in a bounded queue.
// 2. Finish is called exactly once, and only while no write is outstanding.
// 3. The hub hears SessionClosed exactly once for a session that it was told of, unless it closed
//    the session itself.

#ifndef TENSORHUB_SERVER_RPC_SESSION_REACTOR_H_
#define TENSORHUB_SERVER_RPC_SESSION_REACTOR_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <deque>
#include <memory>
#include <optional>

#include "common/mutex.h"
#include "server/rpc/access.h"
#include "server/rpc/hub_loop.h"
#include "server/rpc/unfinished.h"
#include "server/store/identity.h"
#include "tensorhub/v1/hub.pb.h"

namespace tensorhub::rpc {

class SessionReactor final : public grpc::ServerBidiReactor<v1::WorkerMessage, v1::HubMessage>,
                             public SessionSink,
                             public std::enable_shared_from_this<SessionReactor> {
 public:
  // Directives that a worker has not taken; beyond these it counts as stuck and is cut off.
  static constexpr size_t kWritesMax = 1024;

  // Lives until gRPC and the loop are both done with it.
  static SessionReactor* Start(HubLoop& loop, Unfinished& unfinished, Access& access,
                               const ServerIdentity& identity,
                               grpc::CallbackServerContext* context);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  void Deliver(const hub::Directive& directive) override;
  void ReadNext() override;
  void Close(const absl::Status& status) override;

 private:
  SessionReactor(HubLoop& loop, Unfinished& unfinished, Access& access,
                 const ServerIdentity& identity, grpc::CallbackServerContext* context);

  absl::Status Handle();
  absl::Status Open(const v1::OpenSession& open);
  absl::Status Admit(const v1::OpenSession& open, hub::SessionOpened& opened);
  // Ends the stream; the first reason stands. Tells the hub, unless it knows.
  void End(const absl::Status& status, bool by_hub = false);
  void WriteNextLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishIfIdleLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  HubLoop& loop_;
  Unfinished& unfinished_;
  Access& access_;
  const ServerIdentity identity_;
  grpc::CallbackServerContext* const context_;
  const hub::SessionId session_;
  std::shared_ptr<SessionReactor> self_;  // gRPC's share
  std::atomic<Access::Ticket> admitted_ = 0;
  std::shared_ptr<Bounds::Seat> seat_;  // of the reactions
  // The ticket of the first message; later ones have the lease.
  Unfinished::Ticket opening_ = 0;

  v1::WorkerMessage incoming_;  // gRPC's while a read is outstanding, else the reaction's

  Mutex mutex_;
  std::deque<v1::HubMessage> writes_ ABSL_GUARDED_BY(mutex_);  // the first one may be outstanding
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool known_to_hub_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> ending_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_SESSION_REACTOR_H_
