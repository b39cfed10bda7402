// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A hub in the test's process, which does with each session what the test has planned.
//
// Thread contract: any thread. gRPC's threads run the sessions.

#ifndef TENSORHUB_TESTS_UNIT_WORKER_AGENT_SCRIPTED_HUB_H_
#define TENSORHUB_TESTS_UNIT_WORKER_AGENT_SCRIPTED_HUB_H_

#include <grpcpp/server.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/mutex.h"
#include "tensorhub/v1/hub.grpc.pb.h"

namespace tensorhub::agent {

class ScriptedHub : private v1::Hub::Service {
 public:
  struct Plan {
    std::optional<v1::Welcome> welcome = {};
    std::vector<v1::HubMessage> then = {};
    // The stream ends with it at once, or after the worker's next message.
    grpc::Status end = {};
    bool await_message = false;
  };

  ScriptedHub();
  ~ScriptedHub() override;

  // HOST:PORT
  const std::string& address() const { return address_; }

  // For the next session that nothing is planned for. Further ones are like the last planned.
  void Add(Plan plan) ABSL_LOCKS_EXCLUDED(mutex_);
  // What the sessions so far were opened with.
  std::vector<v1::OpenSession> opened() ABSL_LOCKS_EXCLUDED(mutex_);
  // And where from.
  std::vector<std::string> peers() ABSL_LOCKS_EXCLUDED(mutex_);
  // As many puts of a layout are answered UNAVAILABLE; and how many there were in all.
  void FailPuts(int count) { puts_to_fail_ = count; }
  int puts() const { return puts_; }
  // Sessions that the worker hung up on.
  int hung_up() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Stream = grpc::ServerReaderWriter<v1::HubMessage, v1::WorkerMessage>;

  grpc::Status Session(grpc::ServerContext* context, Stream* stream) override;
  // Never gets any further.
  grpc::Status Publish(grpc::ServerContext* context, const v1::PublishRequest* request,
                       v1::PublishResponse* response) override;
  grpc::Status PutLayout(grpc::ServerContext* context, const v1::PutLayoutRequest* request,
                         v1::PutLayoutResponse* response) override;
  Plan Take(const v1::OpenSession& open, const std::string& peer) ABSL_LOCKS_EXCLUDED(mutex_);

  Mutex mutex_;
  std::deque<Plan> plans_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::OpenSession> opened_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> peers_ ABSL_GUARDED_BY(mutex_);
  int hung_up_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<int> puts_to_fail_ = 0;
  std::atomic<int> puts_ = 0;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

// A welcome by that store (16 equal bytes) and epoch.
v1::Welcome WelcomeOf(char store, uint64_t epoch);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_TESTS_UNIT_WORKER_AGENT_SCRIPTED_HUB_H_
