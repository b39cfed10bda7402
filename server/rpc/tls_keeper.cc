// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/tls_keeper.h"

#include <fcntl.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace tensorhub::rpc {
namespace {

// How often gRPC looks whether the paths have other content, in seconds.
constexpr unsigned kRefreshSeconds = 1;

absl::Status NoMemoryFile() {
  return absl::ResourceExhaustedError(
      absl::StrCat("no file in memory can be made for the certificates (", std::strerror(errno),
                   "); raise the limit of open files (ulimit -n), or mount /proc"));
}

grpc_ssl_client_certificate_request_type RequestOf(ClientAuth client_auth) {
  switch (client_auth) {
    case ClientAuth::kRequired:
      return GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
    case ClientAuth::kOptional:
      return GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY;
    case ClientAuth::kNone:
      break;
  }
  return GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
}

}  // namespace

MemoryFile::~MemoryFile() {
  if (fd_ >= 0) close(fd_);
}

// The time of change is a count: gRPC finds by it, in whole seconds, that a file has changed while
// it read.
absl::Status MemoryFile::Put(const std::string& content) {
  const int made = memfd_create("tensorhub-tls", MFD_CLOEXEC);
  if (made < 0) return NoMemoryFile();
  const timespec time{++puts_, 0};
  const std::array<timespec, 2> times{time, time};
  const bool written =
      write(made, content.data(), content.size()) == static_cast<ssize_t>(content.size()) &&
      futimens(made, times.data()) == 0;
  if (written && fd_ < 0) {
    fd_ = made;
    return access(Path().c_str(), R_OK) == 0 ? absl::OkStatus() : NoMemoryFile();
  }
  const bool put = written && dup3(made, fd_, O_CLOEXEC) == fd_;
  const absl::Status status = put ? absl::OkStatus() : NoMemoryFile();
  close(made);
  return status;
}

std::string MemoryFile::Path() const { return absl::StrCat("/proc/self/fd/", fd_); }

absl::StatusOr<std::unique_ptr<TlsKeeper>> TlsKeeper::Make(const tls::Files& files,
                                                           ClientAuth client_auth) {
  std::unique_ptr<TlsKeeper> keeper(new TlsKeeper(files));
  const absl::StatusOr<bool> looked = keeper->Look(tls::SecondsNow(), /*ordered=*/true);
  if (!looked.ok()) return looked.status();
  const std::string own = keeper->own_.Path();
  const std::string ca = files.ca.empty() ? "" : keeper->ca_.Path();
  auto provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      own, own, ca, kRefreshSeconds);
  grpc::experimental::TlsServerCredentialsOptions options(provider);
  options.watch_identity_key_cert_pairs();
  if (!ca.empty()) options.watch_root_certs();
  options.set_cert_request_type(RequestOf(client_auth));
  keeper->credentials_ = grpc::experimental::TlsServerCredentials(options);
  return keeper;
}

absl::StatusOr<bool> TlsKeeper::Look(int64_t now, bool ordered) {
  if (!look_.Due(ordered)) return false;
  const absl::StatusOr<tls::Set> set = tls::Load(files_, tls::Side::kServer, now);
  const absl::Status status = set.ok() ? Use(*set) : set.status();
  const bool news = look_.Note(status) || ordered;
  if (status.ok()) return true;
  if (!news) return false;
  MutexLock lock(mutex_);
  ++facts_.reloads_failed;
  return status;
}

absl::Status TlsKeeper::Use(const tls::Set& set) {
  absl::Status status = own_.Put(absl::StrCat(set.cert, "\n", set.key));
  if (status.ok() && !set.ca.empty()) status = ca_.Put(set.ca);
  if (!status.ok()) return status;
  MutexLock lock(mutex_);
  facts_.certificate = *set.own;
  return absl::OkStatus();
}

}  // namespace tensorhub::rpc
