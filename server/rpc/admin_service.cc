// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/admin_service.h"

#include "absl/strings/str_cat.h"
#include "server/rpc/field_checks.h"
#include "server/rpc/translate_views.h"
#include "server/rpc/unary_reactor.h"
#include "server/rpc/watch_reactor.h"

namespace tensorhub::rpc {
namespace {

absl::Status CheckName(const std::string& model) {
  FieldChecks check;
  check.Name(model, "model");
  return check.status();
}

absl::Status CheckId(const std::string& bytes) {
  FieldChecks check;
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

AdminService::AdminService(HubLoop& loop, Unfinished& unfinished, About about)
    : Operations(loop, unfinished), about_(std::move(about)), listen_(about_.listen) {
  Offer<v1::RetainRequest, v1::RetainResponse>("Retain");
  Offer<v1::PinRequest, v1::PinResponse>("Pin");
  Offer<v1::UnpinRequest, v1::UnpinResponse>("Unpin");
  Offer<v1::SupersedeRequest, v1::SupersedeResponse>("Supersede");
  Offer<v1::RewindRequest, v1::RewindResponse>("Rewind");
}

grpc::ServerUnaryReactor* AdminService::GetStatus(grpc::CallbackServerContext*,
                                                  const v1::GetStatusRequest*,
                                                  v1::GetStatusResponse* response) {
  const auto uptime = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - started_);
  response->set_server_version(TENSORHUB_VERSION);
  response->set_store_id(IdBytes(about_.identity.store_id));
  response->set_epoch(about_.identity.epoch);
  response->set_uptime_ms(static_cast<uint64_t>(uptime.count()));
  response->set_listen(listen());
  response->set_data_dir(about_.data_dir);
  for (const auto& [code, count] : loop_.refusals().ByCode()) {
    (*response->mutable_refused())[code] = count;
  }
  return QueryReactor::Start(loop_, [response](const hub::Hub& hub, TimeMs) {
    Fill(hub.Status(), *response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdminService::ListModels(grpc::CallbackServerContext*,
                                                   const v1::ListModelsRequest*,
                                                   v1::ListModelsResponse* response) {
  return QueryReactor::Start(loop_, [response](const hub::Hub& hub, TimeMs) {
    for (const hub::ModelView& view : hub.Models()) Fill(view, *response->add_models());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdminService::ListVersions(grpc::CallbackServerContext*,
                                                     const v1::ListVersionsRequest* request,
                                                     v1::ListVersionsResponse* response) {
  if (absl::Status status = CheckName(request->model()); !status.ok()) {
    return QueryReactor::Refuse(status);
  }
  return QueryReactor::Start(loop_, [request, response](const hub::Hub& hub, TimeMs) {
    for (const hub::VersionView& view : hub.Versions(request->model())) {
      Fill(view, *response->add_versions());
    }
    return CheckModel(hub, request->model());
  });
}

grpc::ServerUnaryReactor* AdminService::ListReplicas(grpc::CallbackServerContext*,
                                                     const v1::ListReplicasRequest* request,
                                                     v1::ListReplicasResponse* response) {
  if (absl::Status status = CheckName(request->model()); !status.ok()) {
    return QueryReactor::Refuse(status);
  }
  return QueryReactor::Start(loop_, [request, response](const hub::Hub& hub, TimeMs) {
    const std::optional<Version> version =
        request->has_version() ? std::optional<Version>(request->version()) : std::nullopt;
    for (const hub::ReferenceView& view : hub.References(request->model(), version)) {
      Fill(view, *response->add_references());
    }
    return CheckModel(hub, request->model());
  });
}

grpc::ServerUnaryReactor* AdminService::ListWorkers(grpc::CallbackServerContext*,
                                                    const v1::ListWorkersRequest*,
                                                    v1::ListWorkersResponse* response) {
  return QueryReactor::Start(loop_, [response](const hub::Hub& hub, TimeMs now) {
    for (const hub::WorkerView& view : hub.Workers(now)) Fill(view, *response->add_workers());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdminService::ListTransfers(grpc::CallbackServerContext*,
                                                      const v1::ListTransfersRequest*,
                                                      v1::ListTransfersResponse* response) {
  return QueryReactor::Start(loop_, [response](const hub::Hub& hub, TimeMs now) {
    for (const hub::TransferView& view : hub.Transfers(now)) Fill(view, *response->add_transfers());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdminService::GetLayout(grpc::CallbackServerContext*,
                                                  const v1::GetLayoutRequest* request,
                                                  v1::GetLayoutResponse* response) {
  if (absl::Status status = CheckId(request->fingerprint()); !status.ok()) {
    return QueryReactor::Refuse(status);
  }
  return QueryReactor::Start(loop_, [request, response](const hub::Hub& hub, TimeMs) {
    const auto layout = hub.FindLayout(*FromBytes(request->fingerprint()));
    if (layout == nullptr) return NoDocument("layout", request->fingerprint());
    response->set_encoded(layout->Encode());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdminService::GetAttachment(grpc::CallbackServerContext*,
                                                      const v1::GetAttachmentRequest* request,
                                                      v1::GetAttachmentResponse* response) {
  if (absl::Status status = CheckId(request->fingerprint()); !status.ok()) {
    return QueryReactor::Refuse(status);
  }
  return QueryReactor::Start(loop_, [request, response](const hub::Hub& hub, TimeMs) {
    const auto content = hub.FindAttachment(*FromBytes(request->fingerprint()));
    if (content == nullptr) return NoDocument("attachment", request->fingerprint());
    response->set_content(*content);
    return absl::OkStatus();
  });
}

grpc::ServerWriteReactor<v1::WatchEvent>* AdminService::Watch(grpc::CallbackServerContext*,
                                                              const v1::WatchRequest* request) {
  return WatchReactor::Start(loop_, request->model(), about_.watch_queue_max);
}

}  // namespace tensorhub::rpc
