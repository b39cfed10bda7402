// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/admin_service.h"

#include "absl/strings/str_cat.h"
#include "protocol/codec/field_checks.h"
#include "protocol/codec/fields.h"
#include "server/rpc/translate_views.h"
#include "server/rpc/unary_reactor.h"
#include "server/rpc/watch_reactor.h"

namespace tensorhub::rpc {
namespace {

absl::Status CheckName(const std::string& model) {
  protocol::FieldChecks check;
  check.Name(model, "model");
  return check.status();
}

absl::Status CheckId(const std::string& bytes) {
  protocol::FieldChecks check;
  check.Id(bytes, "fingerprint");
  return check.status();
}

absl::Status CheckModel(const hub::Hub& hub, const std::string& model) {
  if (hub.HasModel(model)) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(
      "model \"", model, "\": nobody has joined it; check its name, or start a worker of it"));
}

absl::Status NoDocument(const char* what, const std::string& fingerprint) {
  return absl::NotFoundError(
      absl::StrCat("no ", what, " with fingerprint ", ToHex(*FromBytes(fingerprint))));
}

}  // namespace

AdminService::AdminService(HubLoop& loop, Unfinished& unfinished, Guard& guard, About about)
    : Operations(loop, unfinished, guard.access()),
      guard_(guard),
      about_(std::move(about)),
      listen_(about_.listen) {
  Offer<v1::RetainRequest, v1::RetainResponse>("Retain");
  Offer<v1::PinRequest, v1::PinResponse>("Pin");
  Offer<v1::UnpinRequest, v1::UnpinResponse>("Unpin");
  Offer<v1::SupersedeRequest, v1::SupersedeResponse>("Supersede");
  Offer<v1::DrainRequest, v1::DrainResponse>("Drain");
  Offer<v1::AdoptRequest, v1::AdoptResponse>("Adopt");
  Offer<v1::RewindRequest, v1::RewindResponse>("Rewind");
}

grpc::ServerUnaryReactor* AdminService::GetStatus(grpc::CallbackServerContext* context,
                                                  const v1::GetStatusRequest* request,
                                                  v1::GetStatusResponse* response) {
  if (absl::Status status = access_.Check(*context, *request); !status.ok()) return Refuse(status);
  const auto uptime = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - started_);
  response->set_server_version(TENSORHUB_VERSION);
  response->set_store_id(protocol::IdBytes(about_.identity.store_id));
  response->set_epoch(about_.identity.epoch);
  response->set_uptime_ms(static_cast<uint64_t>(uptime.count()));
  response->set_listen(listen());
  response->set_data_dir(about_.data_dir);
  if (!about_.leads_at.empty()) response->set_role("leader");
  response->set_leader(about_.leads_at);
  response->set_doubted(doubted_);
  const Guard::Facts guard = guard_.facts();
  response->set_security(guard.security);
  response->set_certificate(guard.certificate);
  response->set_certificate_ends(guard.certificate_ends);
  response->set_reloads_failed(guard.reloads_failed);
  for (const auto& [code, count] : loop_.refusals().ByCode()) {
    (*response->mutable_refused())[code] = count;
  }
  return QueryReactor::Start(loop_, [response](const hub::Hub& hub, TimeMs) {
    Fill(hub.Status(), *response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdminService::ListModels(grpc::CallbackServerContext* context,
                                                   const v1::ListModelsRequest* request,
                                                   v1::ListModelsResponse* response) {
  const absl::StatusOr<Access::MayRead> may_read = access_.Ask(*context, *request);
  if (!may_read.ok()) return Refuse(may_read.status());
  return QueryReactor::Start(loop_, [response, may_read = *may_read](const hub::Hub& hub, TimeMs) {
    for (const hub::ModelView& view : hub.Models()) {
      if (may_read(view.model)) Fill(view, *response->add_models());
    }
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdminService::ListVersions(grpc::CallbackServerContext* context,
                                                     const v1::ListVersionsRequest* request,
                                                     v1::ListVersionsResponse* response) {
  absl::Status status = CheckName(request->model());
  if (status.ok()) status = access_.Check(*context, *request);
  if (!status.ok()) return Refuse(status);
  return QueryReactor::Start(loop_, [request, response](const hub::Hub& hub, TimeMs) {
    for (const hub::VersionView& view : hub.Versions(request->model())) {
      Fill(view, *response->add_versions());
    }
    return CheckModel(hub, request->model());
  });
}

grpc::ServerUnaryReactor* AdminService::ListReplicas(grpc::CallbackServerContext* context,
                                                     const v1::ListReplicasRequest* request,
                                                     v1::ListReplicasResponse* response) {
  absl::Status status = CheckName(request->model());
  if (status.ok()) status = access_.Check(*context, *request);
  if (!status.ok()) return Refuse(status);
  return QueryReactor::Start(loop_, [request, response](const hub::Hub& hub, TimeMs) {
    const std::optional<VersionNumber> version =
        request->has_version() ? std::optional<VersionNumber>(request->version()) : std::nullopt;
    for (const hub::ReferenceView& view : hub.References(request->model(), version)) {
      Fill(view, *response->add_references());
    }
    return CheckModel(hub, request->model());
  });
}

grpc::ServerUnaryReactor* AdminService::ListWorkers(grpc::CallbackServerContext* context,
                                                    const v1::ListWorkersRequest* request,
                                                    v1::ListWorkersResponse* response) {
  const absl::StatusOr<Access::MayRead> may_read = access_.Ask(*context, *request);
  if (!may_read.ok()) return Refuse(may_read.status());
  return QueryReactor::Start(loop_,
                             [response, may_read = *may_read](const hub::Hub& hub, TimeMs now) {
                               for (const hub::WorkerView& view : hub.Workers(now)) {
                                 if (may_read(view.worker.key.model))
                                   Fill(view, *response->add_workers());
                               }
                               return absl::OkStatus();
                             });
}

grpc::ServerUnaryReactor* AdminService::ListTransfers(grpc::CallbackServerContext* context,
                                                      const v1::ListTransfersRequest* request,
                                                      v1::ListTransfersResponse* response) {
  const absl::StatusOr<Access::MayRead> may_read = access_.Ask(*context, *request);
  if (!may_read.ok()) return Refuse(may_read.status());
  return QueryReactor::Start(loop_,
                             [response, may_read = *may_read](const hub::Hub& hub, TimeMs now) {
                               for (const hub::TransferView& view : hub.Transfers(now)) {
                                 if (may_read(view.reader.key.model))
                                   Fill(view, *response->add_transfers());
                               }
                               return absl::OkStatus();
                             });
}

grpc::ServerUnaryReactor* AdminService::ExplainFetches(grpc::CallbackServerContext* context,
                                                       const v1::ExplainFetchesRequest* request,
                                                       v1::ExplainFetchesResponse* response) {
  absl::Status status = CheckName(request->model());
  if (status.ok()) status = access_.Check(*context, *request);
  if (!status.ok()) return Refuse(status);
  return QueryReactor::Start(loop_, [request, response](const hub::Hub& hub, TimeMs now) {
    const std::optional<VersionNumber> version =
        request->has_version() ? std::optional<VersionNumber>(request->version()) : std::nullopt;
    for (const hub::FetchView& view : hub.Fetches(request->model(), version, request->group())) {
      Fill(view, now, *response->add_fetches());
    }
    return CheckModel(hub, request->model());
  });
}

grpc::ServerUnaryReactor* AdminService::GetLayout(grpc::CallbackServerContext* context,
                                                  const v1::GetLayoutRequest* request,
                                                  v1::GetLayoutResponse* response) {
  absl::Status status = CheckId(request->fingerprint());
  if (status.ok()) status = access_.Check(*context, *request);
  if (!status.ok()) return Refuse(status);
  return QueryReactor::Start(loop_, [request, response](const hub::Hub& hub, TimeMs) {
    const auto layout = hub.FindLayout(*FromBytes(request->fingerprint()));
    if (layout == nullptr) return NoDocument("layout", request->fingerprint());
    response->set_encoded(layout->Encode());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdminService::GetAttachment(grpc::CallbackServerContext* context,
                                                      const v1::GetAttachmentRequest* request,
                                                      v1::GetAttachmentResponse* response) {
  absl::Status status = CheckId(request->fingerprint());
  if (status.ok()) status = access_.Check(*context, *request);
  if (!status.ok()) return Refuse(status);
  return QueryReactor::Start(loop_, [request, response](const hub::Hub& hub, TimeMs) {
    const auto content = hub.FindAttachment(*FromBytes(request->fingerprint()));
    if (content == nullptr) return NoDocument("attachment", request->fingerprint());
    response->set_content(*content);
    return absl::OkStatus();
  });
}

grpc::ServerWriteReactor<v1::WatchEvent>* AdminService::Watch(grpc::CallbackServerContext* context,
                                                              const v1::WatchRequest* request) {
  return WatchReactor::Start(loop_, access_, *request, about_.watch_queue_max, *context);
}

grpc::ServerUnaryReactor* AdminService::Refuse(const absl::Status& status) {
  const bool denied = absl::IsPermissionDenied(status) || absl::IsUnauthenticated(status) ||
                      absl::IsResourceExhausted(status);
  return QueryReactor::Refuse(denied ? loop_.refusals().Count(status) : status);
}

}  // namespace tensorhub::rpc
