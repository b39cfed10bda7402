// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One call with one request and one response: to the hub as an event, back as a response. Finishes
// exactly once, because the loop runs each call's handler exactly once (hub_loop.h).

#ifndef TENSORHUB_SERVER_RPC_UNARY_REACTOR_H_
#define TENSORHUB_SERVER_RPC_UNARY_REACTOR_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/strip.h"
#include "common/grpc_status.h"
#include "server/rpc/access.h"
#include "server/rpc/hub_loop.h"
#include "server/rpc/translate.h"
#include "server/rpc/unfinished.h"

namespace tensorhub::rpc {

// An operation of the hub. Deletes itself. To gRPC it is a stream of one message each way, which
// looks the same to the caller: a unary one would be heard of only when the whole request is there,
// and one that never comes could not be ended.
template <typename Request, typename Response>
class CallReactor final : public grpc::ServerBidiReactor<Request, Response> {
 public:
  static CallReactor* Start(HubLoop& loop, Unfinished& unfinished, Access& access,
                            grpc::CallbackServerContext* context) {
    auto* reactor = new CallReactor(loop, unfinished, access, context);
    reactor->ticket_ = unfinished.Add([context] { context->TryCancel(); });
    reactor->StartRead(&reactor->request_);
    return reactor;
  }

  void OnReadDone(bool ok) override {
    unfinished_.Remove(ticket_);
    if (!ok) {
      return End(cancelled_ ? absl::CancelledError("the caller hung up")
                            : absl::InvalidArgumentError("a request that is too long, not well "
                                                         "formed, or not there"));
    }
    began_ = Latencies::Clock::now();
    absl::StatusOr<hub::Event> event = Understand();
    if (!event.ok()) return End(event.status());
    loop_.StartCall(call_, *std::move(event), [this](const hub::Reply& reply) { Answer(reply); });
    if (cancelled_) loop_.CancelCall(call_);  // before there was a call to cancel
  }
  // The caller hung up or its deadline passed; nothing happens if the answer was first.
  void OnCancel() override {
    cancelled_ = true;
    loop_.CancelCall(call_);
  }
  void OnDone() override { delete this; }

 private:
  // The call's reactions only hand over: none needs a thread that gRPC would wake for it.
  bool InternalInlineable() override { return true; }

  CallReactor(HubLoop& loop, Unfinished& unfinished, Access& access,
              grpc::CallbackServerContext* context)
      : loop_(loop),
        unfinished_(unfinished),
        access_(access),
        context_(context),
        call_(loop.NewCall()) {}

  // "JoinFetch", of JoinFetchRequest.
  static const std::string& NameOfCall() {
    static const std::string name(absl::StripSuffix(Request::descriptor()->name(), "Request"));
    return name;
  }
  absl::StatusOr<hub::Event> Understand() const {
    constexpr bool kDocument = std::is_same_v<Request, v1::PutLayoutRequest> ||
                               std::is_same_v<Request, v1::PutAttachmentRequest>;
    absl::Status status = kDocument ? absl::OkStatus() : CheckPlain(request_);
    if (status.ok()) status = access_.Check(*context_, request_);
    return status.ok() ? ToCore(request_, call_) : status;
  }
  void Answer(const hub::Reply& reply) {
    End(IsAnswer(reply) ? FillResponse(reply, response_) : reply.status);
  }
  void End(const absl::Status& status) {
    if (began_ != Latencies::Clock::time_point{}) {
      loop_.latencies().Note(NameOfCall(), Latencies::Clock::now() - began_);
    }
    access_.Audit(*context_, request_, status);
    const grpc::Status ended = ToGrpc(loop_.refusals().Count(status));
    if (!ended.ok()) return this->Finish(ended);
    this->StartWriteAndFinish(&response_, grpc::WriteOptions(), ended);
  }

  HubLoop& loop_;
  Unfinished& unfinished_;
  Access& access_;
  grpc::CallbackServerContext* const context_;
  const hub::CallId call_;
  Unfinished::Ticket ticket_ = 0;
  Latencies::Clock::time_point began_;  // when the request was there
  std::atomic<bool> cancelled_ = false;
  Request request_;
  Response response_;
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
