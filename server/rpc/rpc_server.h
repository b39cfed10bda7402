// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The whole server in one object: hub, loop, services and gRPC's own server, with health and
// reflection. tensorhub-server is this plus flags; tests start it in their own process.
//
// Thread contract: Start and Shutdown on one thread; Shutdown blocks for about a second at most.

#ifndef TENSORHUB_SERVER_RPC_RPC_SERVER_H_
#define TENSORHUB_SERVER_RPC_RPC_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/rpc/admin_service.h"
#include "server/rpc/guard.h"
#include "server/rpc/hub_loop.h"
#include "server/rpc/hub_service.h"
#include "server/rpc/listen_address.h"
#include "server/rpc/unfinished.h"
#include "server/store/identity.h"

namespace tensorhub::rpc {

class RpcServer {
 public:
  struct Options {
    ListenAddress listen;
    HubLoop::Options loop;
    ServerIdentity identity;
    std::string data_dir;  // for show
    // Where agents reach this server, which was elected; empty: it is the only one.
    std::string leads_at = {};
    // Lets grpcurl and its like ask what there is to call.
    bool reflection = true;
    size_t watch_queue_max = 256;
    // R9: what gRPC may hold, mostly of requests that have not come whole; beyond it, it hangs up
    // on connections and calls that it chooses. A session takes about 10 KiB.
    size_t receive_bytes_max = size_t{2} << 30;
    // How long a call's first message may take to come. Shorter: who stopped in the middle is rid
    // of sooner; longer: slower networks.
    std::chrono::milliseconds request_patience{60'000};
    Guard::Options guard;
  };

  // Serving once it returns. UNAVAILABLE, in one line with the remedy, if the address cannot be
  // had; INVALID_ARGUMENT: a file of the guard's.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(const Options& options);
  ~RpcServer();  // Shutdown
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  // With the port that was found, if 0 was asked for.
  const ListenAddress& address() const { return address_; }
  // HubLoop::Query, for who waits elsewhere; false, or never called, while the server ends.
  bool Look(const HubLoop::Reader& reader) { return loop_.Query(reader); }
  // What is known without the hub. Any thread.
  struct About {
    std::chrono::steady_clock::duration uptime{};
    uint64_t epoch = 0;
    std::map<std::string, uint64_t> refused;         // by code
    std::map<std::string, Latencies::OfCall> calls;  // by name
    std::map<std::string, uint64_t> bounds_met;      // by the flag
    Guard::Facts security;
    bool leads = true;     // as far as it knows; a server that is the only one does
    std::string leads_at;  // empty: it is the only one
  };
  About about();
  // HubLoop::GiveSign.
  void GiveSign(std::function<void()> sign) { loop_.GiveSign(std::move(sign)); }
  // Looks at the certificates and rights now. Any thread.
  void Reload() { guard_->Reload(); }
  // Whether another server may lead by now: the services are not healthy while it is so, and go on.
  // Any thread, before Shutdown.
  void SetDoubted(bool doubted);
  // Ends every call and stream with UNAVAILABLE. Again: nothing.
  void Shutdown();

 private:
  RpcServer(const Options& options, std::unique_ptr<Guard> guard);
  absl::Status Listen(const Options& options);

  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  const uint64_t epoch_;
  const std::string leads_at_;
  std::atomic<bool> doubted_ = false;
  ListenAddress address_;
  const std::unique_ptr<Guard> guard_;
  HubLoop loop_;
  Unfinished unfinished_;
  HubService hub_service_;
  AdminService admin_service_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_RPC_SERVER_H_
