// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/access.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "common/tls/certificates.h"
#include "server/rpc/caller.h"

namespace tensorhub::rpc {
namespace {

// Longer than a session takes to come back, and shorter than anybody waits for a place.
constexpr int64_t kPlaceKeptS = 60;

std::string PlaceOf(const v1::WorkerId& worker) {
  return absl::StrCat(worker.model(), " ", worker.group(), " ", worker.rank());
}

std::string NameOf(const v1::WorkerId& worker) {
  return absl::StrCat(PlaceOf(worker), " ", worker.incarnation());
}

absl::Status Denied(const Grant& grant, const Need& need) {
  return absl::PermissionDeniedError(absl::StrCat(
      grant.principal, " may not ", ToString(need.right),
      need.model.empty() ? std::string(" anything") : absl::StrCat(" model ", Shown(need.model)),
      " on this server; ask its operator for a line in --access"));
}

absl::Status Ended(const std::string& principal, int64_t ends) {
  return absl::UnauthenticatedError(absl::StrCat("the certificate or token of ", principal,
                                                 " ended at ", tls::ShownTime(ends),
                                                 "; renew it and connect again"));
}

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

constexpr char kNoName[] = "anonymous";

// All who show nothing are one, and have their addresses.
bool HasName(const std::string& principal) { return principal != kNoName; }

}  // namespace

Caller Access::CallerOf(const grpc::ServerContextBase& context) { return rpc::CallerOf(context); }

void Access::Use(AccessRules rules) {
  MutexLock lock(mutex_);
  rules_ = std::move(rules);
  has_rules_ = true;
}

absl::Status Access::CountUnjudged(const grpc::ServerContextBase& context, uint64_t bytes) {
  std::vector<std::string> callers = {Bounds::AddressOf(context.peer())};
  const std::shared_ptr<const grpc::AuthContext> auth = context.auth_context();
  if (auth != nullptr && auth->IsPeerAuthenticated()) {
    std::vector<std::string> names = CallerOf(context).names;
    if (!names.empty()) callers.push_back(std::move(names.front()));
  }
  return bounds_->Count(callers, bytes, NowMs());
}

absl::StatusOr<Grant> Access::JudgeAndCount(const grpc::ServerContextBase& context,
                                            const Need& need, uint64_t bytes) {
  const int64_t now_ms = NowMs();
  absl::Status status = bounds_->Count({Bounds::AddressOf(context.peer())}, bytes, now_ms);
  if (!status.ok()) return status;
  absl::StatusOr<Grant> grant = Judge(CallerOf(context), need);
  if (!grant.ok()) return grant.status();
  if (HasName(grant->principal)) status = bounds_->Count({grant->principal}, bytes, now_ms);
  return status.ok() ? grant : status;
}

absl::StatusOr<Grant> Access::Judge(const Caller& caller, const Need& need) {
  MutexLock lock(mutex_);
  return JudgeLocked(caller, need, tls::SecondsNow());
}

absl::StatusOr<Grant> Access::JudgeLocked(const Caller& caller, const Need& need, int64_t now) {
  if (!rules_) {
    Grant everything;
    everything.principal = caller.names.empty() ? kNoName : caller.names.front();
    everything.ends = caller.certificate_ends;
    return everything;
  }
  absl::StatusOr<Grant> grant = rules_->Judge(caller, now);
  if (!grant.ok()) return grant.status();
  if (!grant->Allows(need.right, need.model)) return Denied(*grant, need);
  if (need.worker == nullptr) return grant;
  const absl::Status status = CheckPlaceLocked(*grant, *need.worker, now);
  return status.ok() ? grant : status;
}

// The process by its session, and its place for a while after that.
absl::Status Access::CheckPlaceLocked(const Grant& grant, const v1::WorkerId& worker, int64_t now) {
  const auto owner = workers_.find(NameOf(worker));
  if (owner != workers_.end()) {
    if (streams_.at(owner->second).principal == grant.principal) return absl::OkStatus();
    return absl::PermissionDeniedError(
        absl::StrCat("worker: is not one of ", grant.principal, ", whose session is another's"));
  }
  const auto place = places_.find(PlaceOf(worker));
  if (place == places_.end() || place->second.principal == grant.principal) return absl::OkStatus();
  if (place->second.kept_until != 0 && now >= place->second.kept_until) return absl::OkStatus();
  if (grant.Allows(Right::kPublish, worker.model())) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "worker: rank ", worker.rank(), " of ", worker.group(), " is not one of ", grant.principal,
      ", and is another's until ", kPlaceKeptS, " s after its session; take another group's name"));
}

void Access::LogAudit(const grpc::ServerContextBase& context, const std::string& request,
                      const Need& need, const absl::Status& status) {
  const Caller caller = CallerOf(context);
  std::string principal = "a stranger";
  {
    MutexLock lock(mutex_);
    const absl::StatusOr<Grant> grant = rules_->Judge(caller, tls::SecondsNow());
    if (grant.ok()) principal = grant->principal;
  }
  spdlog::info("audit: {} of model {} by {} from {}: {}", request, Shown(need.model), principal,
               context.peer(), absl::StatusCodeToString(status.code()));
}

absl::StatusOr<Access::Admitted> Access::EnterAs(const grpc::ServerContextBase& context,
                                                 const Need& need, End end) {
  const std::string address = Bounds::AddressOf(context.peer());
  const absl::Status counted = bounds_->Count({address}, 0, NowMs());
  if (!counted.ok()) return counted;
  Stream stream;
  stream.caller = CallerOf(context);
  stream.caller.certificate_ends = CertificateEnds(context);
  MutexLock lock(mutex_);
  Admitted admitted;
  if (!rules_ && stream.caller.certificate_ends == 0) {
    const auto seat = bounds_->Sit({address}, NowMs());
    if (!seat.ok()) return seat.status();
    admitted.seat = *seat;
    return admitted;
  }
  const int64_t now = tls::SecondsNow();
  const absl::StatusOr<Grant> grant = JudgeLocked(stream.caller, need, now);
  if (!grant.ok()) return grant.status();
  if (grant->ends != 0 && now >= grant->ends) return Ended(grant->principal, grant->ends);
  std::vector<std::string> callers = {address};
  if (HasName(grant->principal)) callers.push_back(grant->principal);
  const auto seat = bounds_->Sit(callers, NowMs());
  if (!seat.ok()) return seat.status();
  admitted.seat = *seat;
  stream.right = need.right;
  stream.model = need.model;
  stream.principal = grant->principal;
  stream.ends = grant->ends;
  stream.end = std::move(end);
  if (need.worker != nullptr) {
    stream.worker = NameOf(*need.worker);
    stream.place = PlaceOf(*need.worker);
    workers_[stream.worker] = last_ + 1;
    places_[stream.place] = {grant->principal, 0};
  }
  streams_.emplace(++last_, std::move(stream));
  admitted.ticket = last_;
  admitted.may_publish = !rules_ || grant->Allows(Right::kPublish, need.model);
  return admitted;
}

void Access::Leave(Ticket ticket) {
  MutexLock lock(mutex_);
  const auto found = streams_.find(ticket);
  if (found == streams_.end()) return;
  const auto worker = workers_.find(found->second.worker);
  if (worker != workers_.end() && worker->second == ticket) {
    workers_.erase(worker);
    const auto place = places_.find(found->second.place);
    const bool its = place != places_.end() && place->second.principal == found->second.principal;
    if (its) place->second.kept_until = tls::SecondsNow() + kPlaceKeptS;
  }
  streams_.erase(found);
}

absl::Status Access::WhyNotLocked(Stream& stream, int64_t now, bool by_rules) {
  if (by_rules) {
    const absl::StatusOr<Grant> grant =
        JudgeLocked(stream.caller, {stream.right, stream.model}, now);
    if (!grant.ok()) return grant.status();
    stream.ends = grant->ends;
  }
  if (stream.ends == 0 || now < stream.ends) return absl::OkStatus();
  return Ended(stream.principal, stream.ends);
}

// A caller that is told to end leaves by itself.
void Access::Recheck(int64_t now, bool by_rules) {
  std::vector<std::pair<End, absl::Status>> ending;
  {
    MutexLock lock(mutex_);
    std::erase_if(places_, [now](const auto& place) {
      return place.second.kept_until != 0 && now >= place.second.kept_until;
    });
    for (auto& [ticket, stream] : streams_) {
      if (stream.end == nullptr) continue;
      absl::Status why = WhyNotLocked(stream, now, by_rules);
      if (!why.ok()) ending.emplace_back(std::exchange(stream.end, nullptr), std::move(why));
    }
  }
  for (const auto& [end, why] : ending) end(why);
}

}  // namespace tensorhub::rpc
