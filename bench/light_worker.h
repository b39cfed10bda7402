// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A worker as the hub sees it: a session with heartbeats, and the calls of a fetch, in the order in
// which an agent makes them. Without memory, UCX and a progress thread, so
// that one process can stand for thousands. No bytes move: a fetch is finished as soon as it has
// begun.
//
// Thread contract: Beat and EndSession from any thread; the rest on one thread at a time.

#ifndef TENSORHUB_BENCH_LIGHT_WORKER_H_
#define TENSORHUB_BENCH_LIGHT_WORKER_H_

#include <grpcpp/channel.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/layout.h"
#include "tensorhub/v1/hub.grpc.pb.h"

namespace tensorhub::bench {

class LightWorker {
 public:
  // Told of each call of a fetch: its name, and what it took.
  using OnCall = std::function<void(const char* name, double us)>;

  // `channel` has a connection of its own, as an agent's has, or workers share one. The group is
  // the worker's alone; `number` says where it lies among hosts and racks.
  LightWorker(std::shared_ptr<grpc::Channel> channel, const std::string& group, uint32_t number);
  ~LightWorker();  // ends the session and waits for that
  LightWorker(const LightWorker&) = delete;
  LightWorker& operator=(const LightWorker&) = delete;

  // For other calls over the same connection.
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  // Returns once the hub has welcomed the worker.
  absl::Status OpenSession();
  // Until the session has ended, whatever ends it; gives up after a while.
  void AwaitEnd();
  // OpenSession after that: reports what the worker holds.
  absl::Status OpenNextSession();
  // Nothing before that.
  void Beat();
  // How often the hub wants to hear Beat; after OpenSession.
  std::chrono::milliseconds heartbeat() const { return heartbeat_; }

  absl::Status PutLayout(const Layout& layout);
  absl::Status Publish(const Layout& layout);
  // Gives up what it holds and fetches the latest version anew: Unpublish, JoinFetch, BeginRead and
  // FinishRead.
  absl::Status Fetch(const Layout& layout, const OnCall& on_call);
  // Asks the session to end; the destructor waits for it.
  void EndSession();

 private:
  // What gRPC's threads tell.
  class Heard;

  absl::Status Open(v1::OpenSession open);
  absl::Status GiveUp(const OnCall& on_call);
  absl::Status Join(const Layout& layout, const OnCall& on_call, v1::JoinFetchResponse& decision);
  absl::Status Read(const Layout& layout, const v1::JoinFetchResponse& decision,
                    const OnCall& on_call);
  template <class Request, class Response>
  absl::Status Call(const char* name, const OnCall& on_call, Request request, Response& response,
                    grpc::Status (v1::Hub::Stub::*method)(grpc::ClientContext*, const Request&,
                                                          Response*));

  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::Hub::Stub> stub_;
  const std::shared_ptr<Heard> heard_;
  v1::WorkerId id_;
  const std::string location_;
  std::chrono::milliseconds heartbeat_{0};
  uint64_t op_ = 0;
  uint64_t generation_ = 0;
  uint64_t sessions_ = 0;
  std::optional<v1::Holding> holding_;
};

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_LIGHT_WORKER_H_
