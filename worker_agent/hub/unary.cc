// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/hub/unary.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/remedy.h"
#include "protocol/codec/calls.h"
#include "protocol/codec/fields.h"
#include "worker_agent/hub/messages.h"
#include "worker_agent/hub/status.h"

namespace tensorhub::agent {
namespace {

using Async = v1::Hub::StubInterface::async_interface;

// The hub ends a call that has a time-out of its own; this much later we no longer believe it.
constexpr TimeMs kCallGraceMs = 5000;
// For calls that the hub answers at once.
constexpr TimeMs kPromptMs = 10000;
// FinishRead waits for the other ranks; it is repeated for as long as that takes.
constexpr TimeMs kFinishMs = 60000;
constexpr TimeMs kDocumentMs = 60000;
// Keeps sums with "for ever" time-outs inside of what clocks can say.
constexpr TimeMs kLongestMs = TimeMs{30} * 24 * 3600 * 1000;

std::chrono::milliseconds Lasting(TimeMs ms) {
  return std::chrono::milliseconds(std::clamp<TimeMs>(ms, 1, kLongestMs));
}

}  // namespace

HubUnary::HubUnary(std::shared_ptr<v1::Hub::StubInterface> stub, std::shared_ptr<Inbox> inbox,
                   WorkerIdentity self, OnReply on_reply)
    : stub_(std::move(stub)),
      inbox_(std::move(inbox)),
      self_(std::move(self)),
      on_reply_(std::move(on_reply)) {}

HubUnary::~HubUnary() {
  for (const auto& [op, running] : running_) running.context->TryCancel();
  for (const auto& context : puts_) context->TryCancel();
}

template <class Request, class Response, class Done>
std::shared_ptr<grpc::ClientContext> HubUnary::Exchange(
    Request request, TimeMs deadline_ms,
    void (Async::*method)(grpc::ClientContext*, const Request*, Response*,
                          std::function<void(grpc::Status)>),
    Done done) {
  struct State {
    grpc::ClientContext context;
    Request request;
    Response response;
  };
  auto state = std::make_shared<State>();
  state->request = std::move(request);
  const auto deadline = std::chrono::steady_clock::now() + Lasting(deadline_ms);
  state->context.set_deadline(std::chrono::system_clock::now() + Lasting(deadline_ms));
  auto answered = [inbox = inbox_, state, deadline,
                   done = std::move(done)](const grpc::Status& status) {
    inbox->Post(
        [state, done, judged = HubStatus(status, deadline)] { done(judged, state->response); });
  };
  (stub_->async()->*method)(&state->context, &state->request, &state->response,
                            std::move(answered));
  return std::shared_ptr<grpc::ClientContext>(state, &state->context);
}

template <class Request, class Response>
void HubUnary::SendOp(OpId op, Request request, TimeMs deadline_ms,
                      void (Async::*method)(grpc::ClientContext*, const Request*, Response*,
                                            std::function<void(grpc::Status)>)) {
  *request.mutable_worker() = protocol::Encode(self_);
  request.set_op(op);
  const uint64_t attempt = ++last_attempt_;
  auto context = Exchange(std::move(request), deadline_ms, method,
                          [this, op, attempt](const absl::Status& status, const Response& answer) {
                            OnAnswer(op, attempt, status, answer);
                          });
  Running& running = running_[op];
  const std::shared_ptr<grpc::ClientContext> replaced = std::move(running.context);
  running = {attempt, std::move(context)};
  if (replaced) replaced->TryCancel();
}

template <class Response>
void HubUnary::OnAnswer(OpId op, uint64_t attempt, const absl::Status& status,
                        const Response& response) {
  const auto found = running_.find(op);
  if (found == running_.end() || found->second.attempt != attempt) return;
  running_.erase(found);
  CallReply reply{op, status, {}};
  if (status.ok()) reply.status = FromProto(response, reply);
  on_reply_(reply);
}

void HubUnary::Send(OpId op, const protocol::Publish& call) {
  SendOp<v1::PublishRequest, v1::PublishResponse>(op, protocol::Encode(call),
                                                  call.timeout_ms + kCallGraceMs, &Async::Publish);
}
void HubUnary::Send(OpId op, const protocol::Unpublish& call) {
  SendOp<v1::UnpublishRequest, v1::UnpublishResponse>(
      op, protocol::Encode(call), call.drain_ms + kCallGraceMs, &Async::Unpublish);
}
void HubUnary::Send(OpId op, const protocol::JoinFetch& call) {
  SendOp<v1::JoinFetchRequest, v1::JoinFetchResponse>(
      op, protocol::Encode(call), call.timeout_ms + kCallGraceMs, &Async::JoinFetch);
}
void HubUnary::Send(OpId op, const protocol::BeginRead& call) {
  SendOp<v1::BeginReadRequest, v1::BeginReadResponse>(op, protocol::Encode(call), kPromptMs,
                                                      &Async::BeginRead);
}
void HubUnary::Send(OpId op, const protocol::FinishRead& call) {
  SendOp<v1::FinishReadRequest, v1::FinishReadResponse>(op, protocol::Encode(call), kFinishMs,
                                                        &Async::FinishRead);
}
void HubUnary::Send(OpId op, const protocol::Leave& call) {
  SendOp<v1::LeaveRequest, v1::LeaveResponse>(op, protocol::Encode(call), kPromptMs, &Async::Leave);
}

void HubUnary::Dispatch(const Call& call) {
  std::visit([this, &call](const auto& request) { Send(call.op, request); }, call.request);
}

// Documents may take longer than an owner waits for its buffers (R3, R7), so what names none of
// them goes at once.
void HubUnary::Start(const Call& call) {
  const bool names_them = std::holds_alternative<protocol::Publish>(call.request) ||
                          std::holds_alternative<protocol::JoinFetch>(call.request);
  if (!documents_wanted_ || !names_them) return Dispatch(call);
  waiting_.push_back(call);
  if (puts_running_ == 0) PutDocuments();
}

void HubUnary::Cancel(OpId op) {
  std::erase_if(waiting_, [op](const Call& call) { return call.op == op; });
  const auto found = running_.find(op);
  if (found == running_.end()) return;
  found->second.context->TryCancel();
  running_.erase(found);
}

void HubUnary::SetDocuments(std::string encoded_layout, std::string attachment) {
  encoded_layout_ = std::move(encoded_layout);
  attachment_ = std::move(attachment);
}

void HubUnary::PutDocuments() {
  documents_wanted_ = true;
  if (puts_running_ > 0) return;
  put_status_ = absl::OkStatus();
  puts_.clear();
  const auto done = [this](const absl::Status& status, const auto&) { OnDocumentPut(status); };
  // An encoding is never empty, not even that of no tensors at all; empty means not registered.
  puts_running_ = (encoded_layout_.empty() ? 0 : 1) + (attachment_.empty() ? 0 : 1);
  if (!encoded_layout_.empty()) {
    v1::PutLayoutRequest request;
    request.set_encoded(encoded_layout_);
    puts_.push_back(Exchange<v1::PutLayoutRequest, v1::PutLayoutResponse>(
        std::move(request), kDocumentMs, &Async::PutLayout, done));
  }
  if (!attachment_.empty()) {
    v1::PutAttachmentRequest request;
    request.set_content(attachment_);
    puts_.push_back(Exchange<v1::PutAttachmentRequest, v1::PutAttachmentResponse>(
        std::move(request), kDocumentMs, &Async::PutAttachment, done));
  }
  if (puts_running_ == 0) documents_wanted_ = false;
}

void HubUnary::OnDocumentPut(const absl::Status& status) {
  put_status_.Update(status);
  if (--puts_running_ > 0) return;
  puts_.clear();
  // A hub that was not reached gets them before the next call; a refusal is that call's answer.
  documents_wanted_ =
      absl::IsUnavailable(put_status_) || RemedyOf(put_status_) == Remedy::kCallAgain;
  const std::vector<Call> calls = std::exchange(waiting_, {});
  for (const Call& call : calls) {
    if (put_status_.ok()) {
      Dispatch(call);
    } else {
      on_reply_({call.op, put_status_, {}});
    }
  }
}

}  // namespace tensorhub::agent
