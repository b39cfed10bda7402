// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What operators and tools ask. Every answer is one consistent look at the hub, taken on its loop.

#ifndef TENSORHUB_SERVER_RPC_ADMIN_SERVICE_H_
#define TENSORHUB_SERVER_RPC_ADMIN_SERVICE_H_

#include <atomic>
#include <chrono>
#include <string>

#include "common/mutex.h"
#include "server/rpc/guard.h"
#include "server/rpc/operations.h"
#include "server/store/identity.h"
#include "tensorhub/v1/admin.grpc.pb.h"

namespace tensorhub::rpc {

class AdminService final : public Operations<v1::Admin> {
 public:
  struct About {
    ServerIdentity identity;
    std::string listen;  // as was asked for; see SetListen
    std::string data_dir;
    std::string leads_at = {};  // empty: it is the only server
    // Changes that wait for one slow watcher before it gets a new listing instead.
    size_t watch_queue_max = 256;
  };

  AdminService(HubLoop& loop, Unfinished& unfinished, Guard& guard, About about);
  // Which port it is, is known only when calls may come already.
  void SetListen(const std::string& listen) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    listen_ = listen;
  }

  // Of a leader: another one may lead by now.
  void SetDoubted(bool doubted) { doubted_ = doubted; }

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext*, const v1::GetStatusRequest*,
                                      v1::GetStatusResponse*) override;
  grpc::ServerUnaryReactor* ListModels(grpc::CallbackServerContext*, const v1::ListModelsRequest*,
                                       v1::ListModelsResponse*) override;
  grpc::ServerUnaryReactor* ListVersions(grpc::CallbackServerContext*,
                                         const v1::ListVersionsRequest*,
                                         v1::ListVersionsResponse*) override;
  grpc::ServerUnaryReactor* ListReplicas(grpc::CallbackServerContext*,
                                         const v1::ListReplicasRequest*,
                                         v1::ListReplicasResponse*) override;
  grpc::ServerUnaryReactor* ListWorkers(grpc::CallbackServerContext*, const v1::ListWorkersRequest*,
                                        v1::ListWorkersResponse*) override;
  grpc::ServerUnaryReactor* ExplainFetches(grpc::CallbackServerContext*,
                                           const v1::ExplainFetchesRequest*,
                                           v1::ExplainFetchesResponse*) override;
  grpc::ServerUnaryReactor* ListTransfers(grpc::CallbackServerContext*,
                                          const v1::ListTransfersRequest*,
                                          v1::ListTransfersResponse*) override;
  grpc::ServerUnaryReactor* GetLayout(grpc::CallbackServerContext*, const v1::GetLayoutRequest*,
                                      v1::GetLayoutResponse*) override;
  grpc::ServerUnaryReactor* GetAttachment(grpc::CallbackServerContext*,
                                          const v1::GetAttachmentRequest*,
                                          v1::GetAttachmentResponse*) override;
  grpc::ServerWriteReactor<v1::WatchEvent>* Watch(grpc::CallbackServerContext*,
                                                  const v1::WatchRequest* request) override;

 private:
  std::string listen() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    return listen_;
  }

  grpc::ServerUnaryReactor* Refuse(const absl::Status& status);

  Guard& guard_;
  const About about_;
  std::atomic<bool> doubted_ = false;
  Mutex mutex_;
  std::string listen_ ABSL_GUARDED_BY(mutex_);
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_ADMIN_SERVICE_H_
