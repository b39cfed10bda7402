// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One session stream, from its opening message to its end. Not reused: a reconnect is a new one.
//
// Thread contract: Send and Cancel from any thread. The listener is called on gRPC's threads, must
// not block, and hears OnEnd last, exactly once.

#ifndef TENSORHUB_WORKER_AGENT_HUB_SESSION_H_
#define TENSORHUB_WORKER_AGENT_HUB_SESSION_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "common/mutex.h"
#include "tensorhub/v1/hub.grpc.pb.h"

namespace tensorhub::agent {

class HubSession : private grpc::ClientBidiReactor<v1::WorkerMessage, v1::HubMessage> {
 public:
  struct Listener {
    std::function<void(const v1::HubMessage&)> on_message;
    std::function<void(const grpc::Status&)> on_end;
  };

  static std::shared_ptr<HubSession> Open(v1::Hub::StubInterface& stub, v1::WorkerMessage opening,
                                          Listener listener);

  void Send(v1::WorkerMessage message) ABSL_LOCKS_EXCLUDED(mutex_);
  // The end follows, with CANCELLED.
  void Cancel() { context_.TryCancel(); }

 private:
  // A hub that takes nothing for so long has lost us; unsent messages are not kept for ever.
  static constexpr size_t kUnsentMax = 4096;

  explicit HubSession(Listener listener) : listener_(std::move(listener)) {}

  void OnReadDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnWriteDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDone(const grpc::Status& status) override;
  void WriteNextLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Listener listener_;
  grpc::ClientContext context_;
  v1::HubMessage incoming_;
  std::shared_ptr<HubSession> self_;  // until OnDone

  Mutex mutex_;
  std::deque<v1::WorkerMessage> unsent_ ABSL_GUARDED_BY(mutex_);  // the front one is being written
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_HUB_SESSION_H_
