// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a server is while another one leads: it answers every call with UNAVAILABLE and the leader's
// address (Remedy::kAskLeader), tells its state (Admin.GetStatus), and is healthy as "standby".
//
// Thread contract: Start, Shutdown and the destructor on one thread, the rest on any.

#ifndef TENSORHUB_SERVER_RPC_STANDBY_SERVER_H_
#define TENSORHUB_SERVER_RPC_STANDBY_SERVER_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "server/rpc/guard.h"
#include "server/rpc/listen_address.h"
#include "server/store/identity.h"

namespace tensorhub::rpc {

// A health check's service, besides "" and the services' own: who asks for it wants to know whether
// the server stands by.
inline constexpr char kStandbyHealth[] = "standby";

class StandbyServer {
 public:
  // As RpcServer::Start.
  static absl::StatusOr<std::unique_ptr<StandbyServer>> Start(const ListenAddress& listen,
                                                              const Guard::Options& guard);
  ~StandbyServer();  // Shutdown
  StandbyServer(const StandbyServer&) = delete;
  StandbyServer& operator=(const StandbyServer&) = delete;

  const ListenAddress& address() const { return address_; }
  // Sets who leads, with which identity. An empty address: it is not known.
  void SetLeader(const std::string& address, const ServerIdentity& identity) {
    service_.SetLeader(address, identity);
  }
  void Reload() { guard_->Reload(); }
  // The address is free once it returns.
  void Shutdown();

 private:
  class Service final : public grpc::CallbackGenericService {
   public:
    void SetLeader(const std::string& address, const ServerIdentity& identity)
        ABSL_LOCKS_EXCLUDED(mutex_);
    void SetListen(const std::string& address) ABSL_LOCKS_EXCLUDED(mutex_);
    grpc::ServerGenericBidiReactor* CreateReactor(
        grpc::GenericCallbackServerContext* context) override;

   private:
    absl::Status Refusal() ABSL_LOCKS_EXCLUDED(mutex_);
    std::string StatusBytes() ABSL_LOCKS_EXCLUDED(mutex_);

    Mutex mutex_;
    std::string leader_ ABSL_GUARDED_BY(mutex_);
    ServerIdentity identity_ ABSL_GUARDED_BY(mutex_);
    std::string listen_ ABSL_GUARDED_BY(mutex_);
  };

  StandbyServer(ListenAddress listen, std::unique_ptr<Guard> guard)
      : address_(std::move(listen)), guard_(std::move(guard)) {}
  absl::Status Listen();

  ListenAddress address_;
  const std::unique_ptr<Guard> guard_;
  Service service_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_STANDBY_SERVER_H_
