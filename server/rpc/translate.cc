// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/translate.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/protocol_level.h"
#include "common/remedy.h"
#include "common/text.h"
#include "protocol/codec/calls.h"
#include "protocol/codec/field_checks.h"
#include "protocol/codec/reports.h"

namespace tensorhub::rpc {
namespace {

using protocol::FieldChecks;

absl::StatusOr<hub::Event> EventOf(const FieldChecks& check, hub::Event event) {
  return check.Take(std::move(event));
}

// What all operations begin with, and then what is asked.
template <typename Request>
absl::StatusOr<hub::Event> CallEvent(const Request& request, hub::CallId call) {
  FieldChecks check;
  hub::Operation by;
  by.call = call;
  by.worker = check.Worker(request.has_worker(), request.worker());
  by.op = check.Positive(request.op(), "op");
  if (!check.status().ok()) return check.status();
  auto said = protocol::Decode(request);
  if (!said.ok()) return said.status();
  return hub::Asked(by, *std::move(said));
}

}  // namespace

// --- sessions --------------------------------------------------------------------------------

absl::Status CheckPlain(const google::protobuf::MessageLite& message) {
  const size_t bytes = message.ByteSizeLong();
  if (bytes <= kPlainMessageBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the message has ", bytes, " bytes; ", kPlainMessageBytesMax, " are the most"));
}

absl::StatusOr<hub::SessionOpened> ToCore(const pb::OpenSession& open, hub::SessionId session) {
  absl::StatusOr<protocol::OpenSession> said = protocol::Decode(open);
  if (!said.ok()) return said.status();
  return hub::SessionOpened{*std::move(said), session};
}

absl::StatusOr<hub::Event> ToCore(const pb::WorkerMessage& message, hub::SessionId session) {
  const absl::StatusOr<protocol::WorkerMessage> said = protocol::Decode(message);
  if (!said.ok()) return said.status();
  return hub::Heard(*said, session);
}

absl::Status CheckLevel(const pb::OpenSession& open) {
  if (open.level() <= kProtocolLevel) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "level: this worker (version ", ReadableText(open.agent_version(), kMediumBytesMax),
      ") speaks level ", open.level(), " of the protocol, this server (version ", TENSORHUB_VERSION,
      ") knows ", kProtocolLevel, ": upgrade the server first"));
}

absl::Status CheckIdentity(const pb::OpenSession& open, const ServerIdentity& mine) {
  const Id128 known = FromBytes(open.known_store_id()).value_or(Id128{});
  if (known == mine.store_id && known && open.known_epoch() > mine.epoch) {
    const std::string text = absl::StrCat("known_epoch: this server is stale (epoch ", mine.epoch,
                                          ", the worker has seen ", open.known_epoch(),
                                          "): stop it and connect to the current one");
    return WithLeader(absl::FailedPreconditionError(text), "");
  }
  return absl::OkStatus();
}

// --- operations ------------------------------------------------------------------------------

absl::StatusOr<hub::Event> ToCore(const pb::PublishRequest& request, hub::CallId call) {
  return CallEvent(request, call);
}

absl::StatusOr<hub::Event> ToCore(const pb::UnpublishRequest& request, hub::CallId call) {
  return CallEvent(request, call);
}

absl::StatusOr<hub::Event> ToCore(const pb::JoinFetchRequest& request, hub::CallId call) {
  return CallEvent(request, call);
}

absl::StatusOr<hub::Event> ToCore(const pb::BeginReadRequest& request, hub::CallId call) {
  return CallEvent(request, call);
}

absl::StatusOr<hub::Event> ToCore(const pb::FinishReadRequest& request, hub::CallId call) {
  return CallEvent(request, call);
}

absl::StatusOr<hub::Event> ToCore(const pb::WaitForVersionRequest& request, hub::CallId call) {
  FieldChecks check;
  hub::WaitOp op;
  op.call = call;
  op.model = check.Name(request.model(), "model");
  op.newer_than = request.newer_than();
  op.any = request.any();
  op.max_lag = request.max_lag();
  if (request.has_held_in()) op.held_in = request.held_in();
  op.timeout_ms = check.Time(request.timeout_ms());
  return EventOf(check, op);
}

absl::StatusOr<hub::Event> ToCore(const pb::LeaveRequest& request, hub::CallId call) {
  return CallEvent(request, call);
}

absl::StatusOr<hub::Event> ToCore(const pb::PutLayoutRequest& request, hub::CallId call) {
  absl::StatusOr<Layout> layout = Layout::Decode(request.encoded());
  if (!layout.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("encoded: ", std::string(layout.status().message())));
  }
  return hub::Event(hub::PutLayoutOp{call, std::make_shared<const Layout>(*std::move(layout))});
}

absl::StatusOr<hub::Event> ToCore(const pb::PutAttachmentRequest& request, hub::CallId call) {
  if (request.content().size() > kAttachmentBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("content: is ", request.content().size(),
                                                   " bytes, more than ", kAttachmentBytesMax));
  }
  return hub::Event(hub::PutAttachmentOp{call, FingerprintOf(request.content()),
                                         std::make_shared<const std::string>(request.content())});
}

// --- what operators order --------------------------------------------------------------------

absl::StatusOr<hub::Event> ToCore(const pb::RetainRequest& request, hub::CallId call) {
  FieldChecks check;
  check.Name(request.model(), "model");
  return EventOf(check, hub::RetainOp{call, request.model(), request.keep_latest()});
}

absl::StatusOr<hub::Event> ToCore(const pb::PinRequest& request, hub::CallId call) {
  FieldChecks check;
  check.Name(request.model(), "model");
  check.Name(request.name(), "name");
  return EventOf(check, hub::PinOp{call, request.model(), request.name(), request.version(),
                                   check.Time(request.ttl_ms())});
}

absl::StatusOr<hub::Event> ToCore(const pb::UnpinRequest& request, hub::CallId call) {
  FieldChecks check;
  check.Name(request.model(), "model");
  check.Name(request.name(), "name");
  return EventOf(check, hub::UnpinOp{call, request.model(), request.name()});
}

absl::StatusOr<hub::Event> ToCore(const pb::SupersedeRequest& request, hub::CallId call) {
  FieldChecks check;
  check.Name(request.model(), "model");
  return EventOf(check, hub::SupersedeOp{call, request.model(), request.version()});
}

absl::StatusOr<hub::Event> ToCore(const pb::DrainRequest& request, hub::CallId call) {
  FieldChecks check;
  check.Name(request.model(), "model");
  check.Name(request.group(), "group");
  const WorkerKey worker{request.model(), request.group(), request.rank()};
  return EventOf(check, hub::DrainOp{call, worker, request.undo()});
}

absl::StatusOr<hub::Event> ToCore(const pb::AdoptRequest& request, hub::CallId call) {
  FieldChecks check;
  return EventOf(check, hub::AdoptOp{call, check.Id(request.store_id(), "store_id")});
}

// The name that Supersede had.
absl::StatusOr<hub::Event> ToCore(const pb::RewindRequest& request, hub::CallId call) {
  pb::SupersedeRequest supersede;
  supersede.set_model(request.model());
  supersede.set_version(request.version());
  return ToCore(supersede, call);
}

}  // namespace tensorhub::rpc
