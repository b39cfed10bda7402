// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One unary call: to the hub as an event, back as a response. Finishes exactly once, because the
// loop runs each call's handler exactly once (hub_loop.h).

#ifndef TENSORHUB_SERVER_RPC_UNARY_REACTOR_H_
#define TENSORHUB_SERVER_RPC_UNARY_REACTOR_H_

#include <grpcpp/grpcpp.h>

#include <type_traits>
#include <utility>

#include "common/grpc_status.h"
#include "server/rpc/hub_loop.h"
#include "server/rpc/translate.h"

namespace tensorhub::rpc {

// An operation of the hub. Deletes itself.
template <typename Response>
class CallReactor final : public grpc::ServerUnaryReactor {
 public:
  template <typename Request>
  static CallReactor* Start(HubLoop& loop, const Request& request, Response* response) {
    auto* reactor = new CallReactor(loop, response);
    absl::StatusOr<hub::Event> event = Understand(request, reactor->call_);
    if (event.ok()) {
      loop.StartCall(reactor->call_, *std::move(event),
                     [reactor](const hub::Reply& reply) { reactor->Answer(reply); });
    } else {
      reactor->End(event.status());
    }
    return reactor;
  }

  // The caller hung up or its deadline passed; nothing happens if the answer was first.
  void OnCancel() override { loop_.CancelCall(call_); }
  void OnDone() override { delete this; }

 private:
  CallReactor(HubLoop& loop, Response* response)
      : loop_(loop), call_(loop.NewCall()), response_(response) {}

  template <typename Request>
  static absl::StatusOr<hub::Event> Understand(const Request& request, hub::CallId call) {
    constexpr bool kDocument = std::is_same_v<Request, v1::PutLayoutRequest> ||
                               std::is_same_v<Request, v1::PutAttachmentRequest>;
    const absl::Status status = kDocument ? absl::OkStatus() : CheckPlain(request);
    return status.ok() ? ToCore(request, call) : status;
  }
  void Answer(const hub::Reply& reply) {
    End(IsAnswer(reply) ? FillResponse(reply, *response_) : reply.status);
  }
  void End(const absl::Status& status) { Finish(ToGrpc(loop_.refusals().Count(status))); }

  HubLoop& loop_;
  const hub::CallId call_;
  Response* const response_;
};

// A question that the hub's thread answers from what it holds. Deletes itself.
class QueryReactor final : public grpc::ServerUnaryReactor {
 public:
  using Question = std::function<absl::Status(const hub::Hub&, TimeMs now)>;

  static QueryReactor* Start(HubLoop& loop, const Question& question) {
    auto* reactor = new QueryReactor;
    const bool asked =
        loop.Query([reactor, question](const hub::Hub& hub,
                                       TimeMs now) { reactor->Finish(ToGrpc(question(hub, now))); },
                   [reactor] { reactor->Finish(ToGrpc(ShuttingDown())); });
    if (!asked) reactor->Finish(ToGrpc(ShuttingDown()));
    return reactor;
  }
  // Refuses a request that is wrong.
  static QueryReactor* Refuse(const absl::Status& status) {
    auto* reactor = new QueryReactor;
    reactor->Finish(ToGrpc(status));
    return reactor;
  }
  void OnDone() override { delete this; }
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_UNARY_REACTOR_H_
