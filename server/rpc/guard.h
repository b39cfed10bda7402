// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Who is let in: the server's certificates (TLS), and who may do what (Access). A thread looks at
// the files of both each second, and puts in force what has changed and is whole. What is not
// leaves the old in force, and the log says so. Without files there is no thread.
//
// Thread contract: any thread. The guard outlives the server that uses its credentials.

#ifndef TENSORHUB_SERVER_RPC_GUARD_H_
#define TENSORHUB_SERVER_RPC_GUARD_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "server/rpc/access.h"
#include "server/rpc/file_look.h"
#include "server/rpc/tls_keeper.h"

namespace tensorhub::rpc {

class Guard {
 public:
  struct Options {
    tls::Files tls;  // no certificate: connections are not TLS
    ClientAuth client_auth = ClientAuth::kNone;
    std::string access;  // the file; empty: whoever may connect may do everything
    CallerLimits limits = {};
  };
  struct Facts {
    std::string security;          // for people: "TLS, client certificates required; rights by …"
    int64_t certificate_ends = 0;  // seconds since 1970; 0: there is none
    std::string certificate;       // its name
    uint64_t reloads_failed = 0;
  };

  // INVALID_ARGUMENT names the file.
  static absl::StatusOr<std::unique_ptr<Guard>> Make(const Options& options);
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // No stream is told to end any more: who is told may use what ends after this. Again: nothing.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  std::shared_ptr<grpc::ServerCredentials> credentials() const;
  Access& access() { return access_; }
  // Looks at the files now.
  void Reload() ABSL_LOCKS_EXCLUDED(mutex_, look_mutex_);
  Facts facts() ABSL_LOCKS_EXCLUDED(look_mutex_);

 private:
  explicit Guard(const Options& options)
      : options_(options), access_(options.limits), access_look_({options.access}) {}
  void Run() ABSL_LOCKS_EXCLUDED(mutex_, look_mutex_);
  void Look(bool ordered) ABSL_LOCKS_EXCLUDED(look_mutex_);
  absl::Status ReadAccess() ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  bool LookAtAccess(bool ordered) ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  void LookAtTls(int64_t now, bool ordered) ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  void WarnOfTheEnd(int64_t now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);

  const Options options_;
  std::unique_ptr<TlsKeeper> tls_;
  Access access_;

  Mutex look_mutex_;
  FileLook access_look_ ABSL_GUARDED_BY(look_mutex_);
  uint64_t reloads_failed_ ABSL_GUARDED_BY(look_mutex_) = 0;  // of the rights
  int64_t warned_at_ ABSL_GUARDED_BY(look_mutex_) = 0;

  Mutex mutex_;
  CondVar wake_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_GUARD_H_
