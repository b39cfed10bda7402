// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The unary calls of one worker to the hub: the core's Call effects and the documents that must
// reach the hub before them.
//
// Thread contract: every method and `on_reply` on the progress thread. gRPC's threads only post.

#ifndef TENSORHUB_WORKER_AGENT_HUB_UNARY_H_
#define TENSORHUB_WORKER_AGENT_HUB_UNARY_H_

#include <grpcpp/client_context.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tensorhub/v1/hub.grpc.pb.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"
#include "worker_agent/runtime/inbox.h"

namespace tensorhub::agent {

class HubUnary {
 public:
  using OnReply = std::function<void(const CallReply&)>;

  // Posts to `inbox` until that is closed; close it before this object goes.
  HubUnary(std::shared_ptr<v1::Hub::StubInterface> stub, std::shared_ptr<Inbox> inbox,
           WorkerIdentity self, OnReply on_reply);
  ~HubUnary();  // hangs up on everything

  // For what is called from now on.
  void Use(std::shared_ptr<v1::Hub::StubInterface> stub) { stub_ = std::move(stub); }
  // What PutDocuments sends; empty ones are left out.
  void SetDocuments(std::string encoded_layout, std::string attachment);
  // Calls wait until the documents are there, and fail if they cannot be put.
  void PutDocuments();
  // The last try did not reach the hub, and nothing is under way.
  bool documents_missing() const { return documents_wanted_ && puts_running_ == 0; }

  // Answered by one `on_reply`, unless cancelled. The same op again replaces the one under way.
  void Start(const Call& call);
  void Cancel(OpId op);

 private:
  struct Running {
    uint64_t attempt = 0;
    std::shared_ptr<grpc::ClientContext> context;
  };

  void Send(OpId op, const protocol::Publish& call);
  void Send(OpId op, const protocol::Unpublish& call);
  void Send(OpId op, const protocol::JoinFetch& call);
  void Send(OpId op, const protocol::BeginRead& call);
  void Send(OpId op, const protocol::FinishRead& call);
  void Send(OpId op, const protocol::Leave& call);
  // `method` is a member of the asynchronous stub.
  template <class Request, class Response>
  void SendOp(OpId op, Request request, TimeMs deadline_ms,
              void (v1::Hub::StubInterface::async_interface::*method)(
                  grpc::ClientContext*, const Request*, Response*,
                  std::function<void(grpc::Status)>));
  template <class Response>
  void OnAnswer(OpId op, uint64_t attempt, const absl::Status& status, const Response& response);
  // Runs `done(status, response)` on the progress thread. Returns what hangs it up.
  template <class Request, class Response, class Done>
  std::shared_ptr<grpc::ClientContext> Exchange(
      Request request, TimeMs deadline_ms,
      void (v1::Hub::StubInterface::async_interface::*method)(grpc::ClientContext*, const Request*,
                                                              Response*,
                                                              std::function<void(grpc::Status)>),
      Done done);
  void Dispatch(const Call& call);
  void OnDocumentPut(const absl::Status& status);

  std::shared_ptr<v1::Hub::StubInterface> stub_;
  const std::shared_ptr<Inbox> inbox_;
  const WorkerIdentity self_;
  const OnReply on_reply_;

  uint64_t last_attempt_ = 0;
  std::map<OpId, Running> running_;

  std::string encoded_layout_;
  std::string attachment_;
  bool documents_wanted_ = false;
  int puts_running_ = 0;
  absl::Status put_status_;
  std::vector<std::shared_ptr<grpc::ClientContext>> puts_;
  std::vector<Call> waiting_;  // for the documents
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_HUB_UNARY_H_
