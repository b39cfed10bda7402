// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The server's certificates, and their renewal while it runs. gRPC 1.51 reads renewed files from a
// path, and with a bad one it refuses everybody; so it is given paths of ours, behind which is what
// was validated as a whole (common/tls/certificates.h). They are files in memory: no key is written
// to a disk.
//
// Thread contract: Look on one thread at a time; the rest from any.

#ifndef TENSORHUB_SERVER_RPC_TLS_KEEPER_H_
#define TENSORHUB_SERVER_RPC_TLS_KEEPER_H_

#include <grpcpp/security/server_credentials.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "common/tls/certificates.h"
#include "server/rpc/file_look.h"

namespace tensorhub::rpc {

// Whether a client shows a certificate of the authorities that the server was given.
enum class ClientAuth { kNone, kOptional, kRequired };

// A path behind which the content is exchanged at once, for whoever opens it next.
class MemoryFile {
 public:
  MemoryFile() = default;
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  absl::Status Put(const std::string& content);
  std::string Path() const;

 private:
  int fd_ = -1;
  int64_t puts_ = 0;
};

class TlsKeeper {
 public:
  struct Facts {
    tls::CertificateFacts certificate;
    uint64_t reloads_failed = 0;
  };

  // INVALID_ARGUMENT as tls::Load.
  static absl::StatusOr<std::unique_ptr<TlsKeeper>> Make(const tls::Files& files,
                                                         ClientAuth client_auth);

  std::shared_ptr<grpc::ServerCredentials> credentials() const { return credentials_; }
  // Puts the files in force if they are due, or fails as Make does: what was in force stays. True:
  // they have been put in force.
  absl::StatusOr<bool> Look(int64_t now, bool ordered) ABSL_LOCKS_EXCLUDED(mutex_);
  Facts facts() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    return facts_;
  }

 private:
  explicit TlsKeeper(const tls::Files& files) : files_(files), look_(files.Paths()) {}
  absl::Status Use(const tls::Set& set) ABSL_LOCKS_EXCLUDED(mutex_);

  const tls::Files files_;
  FileLook look_;
  MemoryFile own_;  // certificate and key: one file, so that they change together
  MemoryFile ca_;
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  Mutex mutex_;
  Facts facts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_TLS_KEEPER_H_
