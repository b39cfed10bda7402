// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/guard.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/thread.h"

namespace tensorhub::rpc {
namespace {

constexpr std::chrono::seconds kLookEvery{1};
// A certificate that ends soon, or has ended: so often does the log say it.
constexpr int64_t kWarnEverySeconds = 6 * 3600;

std::string ToString(ClientAuth client_auth) {
  if (client_auth == ClientAuth::kRequired) return "client certificates required";
  return client_auth == ClientAuth::kOptional ? "client certificates optional"
                                              : "no client certificates";
}

void KeptOld(const absl::Status& why) {
  spdlog::error("not reloaded: {}; what was there before stays in force",
                std::string(why.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Guard>> Guard::Make(const Options& options) {
  std::unique_ptr<Guard> guard(new Guard(options));
  if (!options.tls.cert.empty()) {
    absl::StatusOr<std::unique_ptr<TlsKeeper>> tls =
        TlsKeeper::Make(options.tls, options.client_auth);
    if (!tls.ok()) return tls.status();
    guard->tls_ = *std::move(tls);
  }
  {
    MutexLock lock(guard->look_mutex_);
    guard->access_look_.Due(/*ordered=*/true);
    const absl::Status status = guard->ReadAccess();
    if (!status.ok()) return status;
  }
  const bool watches = guard->tls_ != nullptr || !options.access.empty();
  if (!watches) return guard;
  absl::StatusOr<std::thread> thread =
      StartThread("files that change", [self = guard.get()] { self->Run(); });
  if (!thread.ok()) return thread.status();
  guard->thread_ = *std::move(thread);
  return guard;
}

Guard::~Guard() { Stop(); }

void Guard::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<grpc::ServerCredentials> Guard::credentials() const {
  return tls_ == nullptr ? grpc::InsecureServerCredentials() : tls_->credentials();
}

void Guard::Run() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    mutex_.Unlock();
    Look(/*ordered=*/false);
    mutex_.Lock();
    const auto next = std::chrono::steady_clock::now() + kLookEvery;
    while (!stopping_ && wake_.WaitUntil(mutex_, next)) continue;
  }
}

void Guard::Reload() {
  spdlog::info("looking at the certificates and rights again");
  Look(/*ordered=*/true);
}

void Guard::Look(bool ordered) {
  const int64_t now = tls::SecondsNow();
  bool others = false;
  {
    MutexLock lock(look_mutex_);
    others = LookAtAccess(ordered);
    LookAtTls(now, ordered);
    WarnOfTheEnd(now);
  }
  access_.Recheck(now, others);
}

absl::Status Guard::ReadAccess() {
  if (options_.access.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> text = tls::ReadSmallFile(options_.access);
  if (!text.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--access ", options_.access, " ", std::string(text.status().message())));
  }
  absl::StatusOr<AccessRules> rules = AccessRules::Parse(*text);
  if (!rules.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--access ", options_.access, ", ", std::string(rules.status().message())));
  }
  access_.Use(*std::move(rules));
  return absl::OkStatus();
}

bool Guard::LookAtAccess(bool ordered) {
  if (options_.access.empty() || !access_look_.Due(ordered)) return false;
  const absl::Status status = ReadAccess();
  const bool news = access_look_.Note(status) || ordered;
  if (status.ok()) {
    spdlog::info("rights: those of {} are in force", options_.access);
  } else if (news) {
    ++reloads_failed_;
    KeptOld(status);
  }
  return status.ok();
}

void Guard::LookAtTls(int64_t now, bool ordered) {
  if (tls_ == nullptr) return;
  const absl::StatusOr<bool> changed = tls_->Look(now, ordered);
  if (!changed.ok()) return KeptOld(changed.status());
  if (!*changed) return;
  warned_at_ = 0;
  const tls::CertificateFacts certificate = tls_->facts().certificate;
  spdlog::info("TLS: the certificate of {} is in force, until {}", certificate.Name(),
               tls::ShownTime(certificate.not_after));
}

void Guard::WarnOfTheEnd(int64_t now) {
  if (tls_ == nullptr) return;
  const tls::CertificateFacts certificate = tls_->facts().certificate;
  if (now < tls::WarnFrom(certificate)) return;
  if (warned_at_ != 0 && now < warned_at_ + kWarnEverySeconds) return;
  warned_at_ = now;
  spdlog::warn("TLS: the certificate of {} {} at {}; renew {}", certificate.Name(),
               now > certificate.not_after ? "ended" : "ends",
               tls::ShownTime(certificate.not_after), options_.tls.cert);
}

Guard::Facts Guard::facts() {
  Facts facts;
  facts.security =
      tls_ == nullptr ? "plain" : absl::StrCat("TLS, ", ToString(options_.client_auth));
  absl::StrAppend(&facts.security, options_.access.empty() ? "; whoever connects may do everything"
                                                           : "; rights by " + options_.access);
  MutexLock lock(look_mutex_);
  facts.reloads_failed = reloads_failed_;
  if (tls_ == nullptr) return facts;
  const TlsKeeper::Facts tls = tls_->facts();
  facts.certificate_ends = tls.certificate.not_after;
  facts.certificate = tls.certificate.Name();
  facts.reloads_failed += tls.reloads_failed;
  return facts;
}

}  // namespace tensorhub::rpc
