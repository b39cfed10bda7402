// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/standby_server.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "common/grpc_status.h"
#include "server/rpc/server_builder.h"
#include "tensorhub/v1/admin.pb.h"

namespace tensorhub::rpc {
namespace {

constexpr char kGetStatus[] = "/tensorhub.v1.Admin/GetStatus";
// What refuses holds little.
constexpr size_t kBytesMax = size_t{64} << 20;

// Ends as it was made to. Deletes itself.
class OneAnswer final : public grpc::ServerGenericBidiReactor {
 public:
  explicit OneAnswer(const absl::Status& status) { Finish(ToGrpc(status)); }
  explicit OneAnswer(const std::string& message) {
    const grpc::Slice slice(message);
    answer_ = grpc::ByteBuffer(&slice, 1);
    StartWriteAndFinish(&answer_, grpc::WriteOptions(), grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer answer_;
};

}  // namespace

void StandbyServer::Service::SetLeader(const std::string& address, const ServerIdentity& identity) {
  MutexLock lock(mutex_);
  leader_ = address;
  identity_ = identity;
}

void StandbyServer::Service::SetListen(const std::string& address) {
  MutexLock lock(mutex_);
  listen_ = address;
}

absl::Status StandbyServer::Service::Refusal() {
  MutexLock lock(mutex_);
  const std::string text = leader_.empty()
                               ? "this server stands by, and who leads is not known yet: retry"
                               : absl::StrCat("this server stands by: ask the one at ", leader_,
                                              ", which leads, or name all servers of the hub");
  return WithLeader(absl::UnavailableError(text), leader_);
}

std::string StandbyServer::Service::StatusBytes() {
  MutexLock lock(mutex_);
  v1::GetStatusResponse response;
  response.set_server_version(TENSORHUB_VERSION);
  response.set_listen(listen_);
  response.set_role("standby");
  if (identity_.store_id) response.set_store_id(ToBytes(identity_.store_id));
  response.set_epoch(identity_.epoch);
  response.set_leader(leader_);
  return response.SerializeAsString();
}

grpc::ServerGenericBidiReactor* StandbyServer::Service::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  if (context->method() == kGetStatus) return new OneAnswer(StatusBytes());
  return new OneAnswer(Refusal());
}

absl::StatusOr<std::unique_ptr<StandbyServer>> StandbyServer::Start(const ListenAddress& listen,
                                                                    const Guard::Options& guard) {
  if (absl::Status status = TryToListen(listen); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<Guard>> made = Guard::Make(guard);
  if (!made.ok()) return made.status();
  std::unique_ptr<StandbyServer> server(new StandbyServer(listen, *std::move(made)));
  if (absl::Status status = server->Listen(); !status.ok()) return status;
  return server;
}

absl::Status StandbyServer::Listen() {
  grpc::ServerBuilder builder;
  PrepareBuilder(builder, kBytesMax, /*reflection=*/false, /*shares_port=*/true);
  int port = 0;
  builder.AddListeningPort(address_.ToString(), guard_->credentials(), &port);
  builder.RegisterCallbackGenericService(&service_);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port == 0) return CannotListenAt(address_);
  address_.port = static_cast<uint16_t>(port);
  service_.SetListen(address_.ToString());
  grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService();
  health->SetServingStatus("", true);
  health->SetServingStatus(kStandbyHealth, true);
  for (const char* name : {"tensorhub.v1.Hub", "tensorhub.v1.Admin"}) {
    health->SetServingStatus(name, false);
  }
  return absl::OkStatus();
}

StandbyServer::~StandbyServer() { Shutdown(); }

// Nothing is under way for longer than it takes to say no.
void StandbyServer::Shutdown() {
  if (server_ == nullptr) return;
  guard_->Stop();
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

}  // namespace tensorhub::rpc
