// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The hub's Admin service, called synchronously: an unreachable server is retried for the connect
// timeout, and every error is one line that names the server or the thing asked for.
//
// Threads: calls may come from any thread.

#ifndef TENSORHUB_TOOLS_CTL_ADMIN_CLIENT_H_
#define TENSORHUB_TOOLS_CTL_ADMIN_CLIENT_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "common/server_choice.h"
#include "common/tls/client_security.h"
#include "tensorhub/v1/admin.grpc.pb.h"

namespace tensorhub::ctl {

class AdminClient {
 public:
  using Clock = std::chrono::system_clock;  // what gRPC's deadlines are made of

  // `server`: HOST:PORT, or several with commas, of which the one that leads is found. What
  // `security` leaves empty is as the environment says (UseInThisProcess).
  AdminClient(std::string server, std::chrono::milliseconds connect_timeout,
              const tls::ClientSecurity& security = {});

  const std::string& server() const { return server_; }

  // No call waits any longer than until then, for whatever.
  void GiveUpBy(Clock::time_point deadline) { give_up_by_ = deadline; }

  // UNAVAILABLE: nobody answered until `deadline`.
  absl::Status WaitUntilConnected(Clock::time_point deadline);

  // How a call ended: the same code and text, one line. UNIMPLEMENTED names the address, since a
  // stranger's server says no more than that.
  absl::Status Explain(const grpc::Status& status);

  absl::StatusOr<v1::GetStatusResponse> GetStatus();
  absl::StatusOr<v1::ListModelsResponse> ListModels();
  absl::StatusOr<v1::ListVersionsResponse> ListVersions(const std::string& model);
  absl::StatusOr<v1::ListReplicasResponse> ListReplicas(const v1::ListReplicasRequest& request);
  absl::StatusOr<v1::ListWorkersResponse> ListWorkers();
  absl::StatusOr<v1::ListTransfersResponse> ListTransfers();
  absl::StatusOr<v1::ExplainFetchesResponse> ExplainFetches(
      const v1::ExplainFetchesRequest& request);
  absl::StatusOr<std::string> GetLayout(const std::string& fingerprint);
  absl::StatusOr<std::string> GetAttachment(const std::string& fingerprint);
  absl::Status Retain(const v1::RetainRequest& request);
  absl::Status Pin(const v1::PinRequest& request);
  // OK as well if an attempt that was cut may have taken the pin away.
  absl::Status Unpin(const v1::UnpinRequest& request);
  absl::Status Supersede(const v1::SupersedeRequest& request);
  absl::StatusOr<v1::DrainResponse> Drain(const v1::DrainRequest& request);
  absl::Status Adopt(const v1::AdoptRequest& request);
  // Not retried; the caller owns the context.
  std::unique_ptr<grpc::ClientReader<v1::WatchEvent>> Watch(grpc::ClientContext& context,
                                                            const std::string& model);

 private:
  template <typename Request, typename Response>
  using Method = grpc::Status (v1::Admin::Stub::*)(grpc::ClientContext*, const Request&, Response*);

  // `repeated`, if any, becomes true with the second attempt.
  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(Method<Request, Response> method, const Request& request,
                                bool* repeated = nullptr);
  // Another one once the files of the credentials have changed.
  std::shared_ptr<grpc::Channel> channel() ABSL_LOCKS_EXCLUDED(mutex_);
  // One of the dials has a connection by then, and is used.
  bool ConnectedBy(Clock::time_point until) ABSL_LOCKS_EXCLUDED(mutex_);
  bool AnyConnected() ABSL_LOCKS_EXCLUDED(mutex_);
  // Another dial, of the server that is asked now, beside those that go on.
  void DialOn() ABSL_LOCKS_EXCLUDED(mutex_);
  // The server that is asked was not reached, or does not lead and says who does.
  void NotThere(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  bool several() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status NoAnswer() const;
  absl::Status Cut() const;

  // A channel that connects. Where the server is far, or a packet was lost, it takes its time.
  struct Dial {
    std::string server;
    std::shared_ptr<grpc::Channel> channel;
    Clock::time_point begun;
  };
  std::shared_ptr<grpc::Channel> DialLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string server_;
  const std::chrono::milliseconds connect_timeout_;
  tls::ClientCredentials credentials_;
  Mutex mutex_;
  ServerChoice choice_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mutex_);
  std::vector<Dial> dials_ ABSL_GUARDED_BY(mutex_);  // until one of them is connected
  Clock::duration connecting_took_{};
  const Clock::time_point made_ = Clock::now();
  Clock::time_point give_up_by_ = Clock::time_point::max();
};

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_ADMIN_CLIENT_H_
