// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/translate.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/grpc_status.h"
#include "common/limits.h"
#include "common/protocol_level.h"
#include "common/remedy.h"
#include "common/text.h"
#include "server/rpc/field_checks.h"

namespace tensorhub::rpc {
namespace {

// The hub counts on from what is reported.
constexpr AssignmentNumber kAssignmentMax = AssignmentNumber{1} << 40;

GroupEpoch EpochOf(const pb::GroupEpoch& epoch) { return {epoch.life(), epoch.count()}; }

hub::Holding HoldingOf(FieldChecks& check, const pb::Holding& holding) {
  check.SetPrefix("holding.");
  hub::Holding out;
  out.publication = check.Id(holding.publication(), "publication");
  out.version = holding.version();
  out.world_size = check.WorldSize(holding.world_size());
  out.chunk_bytes = check.ChunkBytes(holding.chunk_bytes());
  out.layout = check.Id(holding.layout(), "layout");
  out.attachment = check.IdOrNone(holding.attachment(), "attachment");
  out.generation = check.GenerationOf(holding.generation());
  out.valid_chunks = check.ChunkCount(holding.valid_chunks());
  out.complete = holding.complete();
  out.published = holding.published();
  out.visible = holding.visible();
  out.medium = ReadableText(holding.medium(), kMediumBytesMax);
  out.epoch = EpochOf(holding.group_epoch());
  out.digest = check.IdOrNone(holding.digest(), "digest");
  out.hashing = holding.hashing();
  if (holding.has_term()) out.term = {holding.term().number(), holding.term().since()};
  out.sharding = {check.IdOrNone(holding.sharding(), "sharding"), holding.full()};
  check.Require(!out.published || !out.sharding, "sharding",
                "is there, and the worker has published it; its own is meant by none");
  check.SetPrefix("");
  return out;
}

AssignmentNumber AssignmentOf(FieldChecks& check, uint64_t value) {
  const AssignmentNumber assignment = check.Positive(value, "assignment");
  check.Require(assignment <= kAssignmentMax, "assignment",
                absl::StrCat("is above ", kAssignmentMax));
  return assignment;
}

// Streams by part, and each by an assignment of its own.
std::vector<hub::OpenStream> StreamsOf(FieldChecks& check, const pb::OpenFetch& fetch) {
  std::vector<hub::OpenStream> out;
  std::set<AssignmentNumber> assignments;
  const auto count = static_cast<size_t>(fetch.streams_size());
  check.Require(count <= kReadStreamsMax, "streams",
                absl::StrCat("are ", count, ", more than ", kReadStreamsMax));
  if (count > kReadStreamsMax) return out;
  check.SetPrefix("open_fetch.streams.");
  for (const pb::OpenStream& stream : fetch.streams()) {
    check.Require(
        stream.part() < kReadStreamsMax && (out.empty() || out.back().part < stream.part()), "part",
        absl::StrCat("is ", stream.part(), "; they ascend, below ", kReadStreamsMax));
    out.push_back({stream.part(), check.Worker(stream.has_source(), stream.source(), "source"),
                   check.GenerationOf(stream.source_generation(), "source_generation"),
                   AssignmentOf(check, stream.assignment())});
    check.Require(assignments.insert(stream.assignment()).second, "assignment",
                  absl::StrCat("is ", stream.assignment(), " twice"));
  }
  return out;
}

hub::OpenFetch OpenFetchOf(FieldChecks& check, const pb::OpenFetch& fetch) {
  check.SetPrefix("open_fetch.");
  hub::OpenFetch out;
  out.transaction = check.Id(fetch.transaction(), "transaction");
  out.publication = check.Id(fetch.publication(), "publication");
  out.version = fetch.version();
  out.finished = fetch.finished();
  if (fetch.has_source()) {
    out.source = check.Worker(true, fetch.source(), "source");
    out.source_generation = check.GenerationOf(fetch.source_generation(), "source_generation");
    out.assignment = AssignmentOf(check, fetch.assignment());
  }
  out.plan = fetch.plan();
  out.sharding = {check.IdOrNone(fetch.sharding(), "sharding"), fetch.full()};
  out.streams = StreamsOf(check, fetch);
  check.SetPrefix("");
  return out;
}

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
  FieldChecks check;
  hub::SessionOpened out;
  out.session = session;
  out.worker = check.Worker(open.has_worker(), open.worker());
  out.number = check.Positive(open.session_number(), "session_number");
  out.world_size = check.WorldSize(open.world_size());
  check.Require(open.worker().rank() < open.world_size(), "worker.rank",
                absl::StrCat("is ", open.worker().rank(), ", not below world_size, which is ",
                             open.world_size()));
  out.location = check.LocationOf(open.location(), "location");
  out.stable = !open.spot();
  check.Require(
      open.endpoint().size() <= kEndpointBytesMax, "endpoint",
      absl::StrCat("is ", open.endpoint().size(), " bytes, more than ", kEndpointBytesMax));
  out.endpoint = open.endpoint();
  out.offers_copies = open.offers_copies();
  if (!open.copy_of().empty()) check.Name(open.copy_of(), "copy_of");
  out.copy_of = open.copy_of();
  out.resumed = open.resumed();
  out.epoch = EpochOf(open.group_epoch());
  out.came_in = EpochOf(open.came_in());
  out.gave_up_join = open.gave_up_join();
  if (open.has_repeats()) out.repeats = open.repeats();
  out.knows_streams = (open.features() & pb::FEATURE_STREAMS) != 0;
  out.knows_resharding = out.knows_streams && (open.features() & pb::FEATURE_RESHARDING) != 0;
  out.known_store = check.IdOrNone(open.known_store_id(), "known_store_id");
  const std::optional<CapabilityKey> key = CapabilityKeyFromBytes(open.read_key());
  check.Require(key.has_value(), "read_key",
                absl::StrCat("is ", open.read_key().size(), " bytes, not ", kCapabilityKeyBytes));
  out.read_key = key.value_or(CapabilityKey{});
  if (open.has_holding()) out.holding = HoldingOf(check, open.holding());
  if (open.has_open_fetch()) out.open_fetch = OpenFetchOf(check, open.open_fetch());
  return check.Take(std::move(out));
}

namespace {

hub::Event ProgressOf(FieldChecks& check, const pb::Progress& progress, hub::SessionId session) {
  check.SetPrefix("progress.");
  return hub::Progress{.session = session,
                       .publication = check.Id(progress.publication(), "publication"),
                       .generation = check.GenerationOf(progress.generation()),
                       .valid_chunks = check.ChunkCount(progress.valid_chunks()),
                       .way = ReadableText(progress.way(), kWayBytesMax)};
}

hub::Event ReleasedOf(FieldChecks& check, const pb::SourceReleased& released,
                      hub::SessionId session) {
  check.SetPrefix("source_released.");
  return hub::SourceReleased{.session = session,
                             .transaction = check.Id(released.transaction(), "transaction"),
                             .assignment = check.Positive(released.assignment(), "assignment")};
}

hub::Event FailedOf(FieldChecks& check, const pb::SourceFailed& failed, hub::SessionId session) {
  check.SetPrefix("source_failed.");
  check.Require(failed.code() != 0, "code", "is OK; a failure has another code");
  return hub::SourceFailed{
      .session = session,
      .transaction = check.Id(failed.transaction(), "transaction"),
      .assignment = check.Positive(failed.assignment(), "assignment"),
      .reason = AsOutage(check.Result(failed.code(), failed.reason()), failed.outage())};
}

hub::Event SilentOf(FieldChecks& check, const pb::SourceSilent& silent, hub::SessionId session) {
  check.SetPrefix("source_silent.");
  return hub::SourceSilent{.session = session,
                           .transaction = check.Id(silent.transaction(), "transaction"),
                           .assignment = check.Positive(silent.assignment(), "assignment")};
}

hub::Event ProbeAnswerOf(FieldChecks& check, const pb::ProbeAnswer& answer,
                         hub::SessionId session) {
  check.SetPrefix("probe_answer.");
  return hub::ProbeAnswer{.session = session,
                          .generation = check.GenerationOf(answer.generation()),
                          .holds = answer.holds(),
                          .verified = answer.verified()};
}

hub::Event HashedOf(FieldChecks& check, const pb::ContentHashed& hashed, hub::SessionId session) {
  check.SetPrefix("content_hashed.");
  return hub::ContentHashed{.session = session,
                            .publication = check.Id(hashed.publication(), "publication"),
                            .generation = check.GenerationOf(hashed.generation()),
                            .digest = check.Id(hashed.digest(), "digest")};
}

hub::Event CopyFailedOf(FieldChecks& check, const pb::CopyFailed& failed, hub::SessionId session) {
  check.SetPrefix("copy_failed.");
  check.Require(failed.code() != 0, "code", "is OK; a failure has another code");
  return hub::CopyFailed{.session = session,
                         .version = failed.version(),
                         .reason = check.Result(failed.code(), failed.reason())};
}

}  // namespace

absl::StatusOr<hub::Event> ToCore(const pb::WorkerMessage& message, hub::SessionId session) {
  FieldChecks check;
  switch (message.body_case()) {
    case pb::WorkerMessage::kHeartbeat:
      return hub::Event(hub::Heartbeat{session, message.heartbeat().gave_up_join(),
                                       check.Time(message.heartbeat().stalled_ms())});
    case pb::WorkerMessage::kProgress:
      return EventOf(check, ProgressOf(check, message.progress(), session));
    case pb::WorkerMessage::kSourceReleased:
      return EventOf(check, ReleasedOf(check, message.source_released(), session));
    case pb::WorkerMessage::kSourceFailed:
      return EventOf(check, FailedOf(check, message.source_failed(), session));
    case pb::WorkerMessage::kSourceSilent:
      return EventOf(check, SilentOf(check, message.source_silent(), session));
    case pb::WorkerMessage::kProbeAnswer:
      return EventOf(check, ProbeAnswerOf(check, message.probe_answer(), session));
    case pb::WorkerMessage::kCopyFailed:
      return EventOf(check, CopyFailedOf(check, message.copy_failed(), session));
    case pb::WorkerMessage::kContentHashed:
      return EventOf(check, HashedOf(check, message.content_hashed(), session));
    case pb::WorkerMessage::kOpen:
      return absl::InvalidArgumentError("open: this session is open already");
    case pb::WorkerMessage::BODY_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("body: the message is empty or of an unknown kind");
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
