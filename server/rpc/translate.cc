// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/translate.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/grpc_status.h"
#include "common/limits.h"
#include "common/protocol_level.h"
#include "common/remedy.h"
#include "common/text.h"
#include "protocol/codec/field_checks.h"
#include "protocol/codec/reports.h"

namespace tensorhub::rpc {
namespace {

using protocol::FieldChecks;

// What all operations begin with.
template <typename Op, typename Request>
Op OperationOf(FieldChecks& check, const Request& request, hub::CallId call) {
  Op op;
  op.call = call;
  op.worker = check.Worker(request.has_worker(), request.worker());
  op.op = check.Positive(request.op(), "op");
  return op;
}

// Reads a ReadStart, or a request that has its fields.
template <typename Message>
hub::ReadStart ReadStartOf(FieldChecks& check, const Message& message) {
  hub::ReadStart start;
  start.transaction = check.Id(message.transaction(), "transaction");
  start.generation = check.GenerationOf(message.generation());
  start.medium = ReadableText(message.medium(), kMediumBytesMax);
  return start;
}

absl::StatusOr<hub::Event> EventOf(const FieldChecks& check, hub::Event event) {
  return check.Take(std::move(event));
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
  FieldChecks check;
  auto op = OperationOf<hub::PublishOp>(check, request, call);
  op.version = request.version();
  op.layout = check.Id(request.layout(), "layout");
  op.attachment = check.IdOrNone(request.attachment(), "attachment");
  op.chunk_bytes = check.ChunkBytes(request.chunk_bytes());
  op.generation = check.GenerationOf(request.generation());
  op.wait_for_group = request.wait_for_group();
  op.timeout_ms = check.Time(request.timeout_ms());
  op.supersede = request.supersede();
  if (request.has_knows_term()) op.knows_term = request.knows_term();
  op.medium = ReadableText(request.medium(), kMediumBytesMax);
  op.hashes = request.hashes();
  op.digest = check.IdOrNone(request.digest(), "digest");
  op.compared = check.IdOrNone(request.compared(), "compared");
  return EventOf(check, op);
}

absl::StatusOr<hub::Event> ToCore(const pb::UnpublishRequest& request, hub::CallId call) {
  FieldChecks check;
  auto op = OperationOf<hub::UnpublishOp>(check, request, call);
  op.generation = check.GenerationOf(request.generation());
  op.drain_ms = check.Time(request.drain_ms());
  op.leaving = request.leaving();
  op.force = request.force();
  if (request.has_then_read()) {
    check.SetPrefix("then_read.");
    op.then_read = ReadStartOf(check, request.then_read());
    check.SetPrefix("");
  }
  return EventOf(check, op);
}

absl::StatusOr<hub::Event> ToCore(const pb::JoinFetchRequest& request, hub::CallId call) {
  FieldChecks check;
  auto op = OperationOf<hub::JoinFetchOp>(check, request, call);
  op.selector = check.SelectorOf(request.has_selector(), request.selector());
  op.layout = check.Id(request.layout(), "layout");
  op.timeout_ms = check.Time(request.timeout_ms());
  if (request.has_held_in()) op.held_in = request.held_in();
  return EventOf(check, op);
}

absl::StatusOr<hub::Event> ToCore(const pb::BeginReadRequest& request, hub::CallId call) {
  FieldChecks check;
  auto op = OperationOf<hub::BeginReadOp>(check, request, call);
  static_cast<hub::ReadStart&>(op) = ReadStartOf(check, request);
  return EventOf(check, op);
}

absl::StatusOr<hub::Event> ToCore(const pb::FinishReadRequest& request, hub::CallId call) {
  FieldChecks check;
  auto op = OperationOf<hub::FinishReadOp>(check, request, call);
  op.transaction = check.Id(request.transaction(), "transaction");
  op.result = AsOutage(check.Result(request.code(), request.reason()), request.outage());
  op.digest = check.IdOrNone(request.digest(), "digest");
  return EventOf(check, op);
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
  FieldChecks check;
  return EventOf(check, OperationOf<hub::LeaveOp>(check, request, call));
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
