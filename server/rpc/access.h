// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R9: whether a caller may do what it asks for. The one place that says so: each call asks Check
// before the hub hears of it, and each stream is asked about again whenever the rules change, and
// when its caller's certificate or token ends.
//
// Without rules, whoever may connect may do everything.
//
// What a caller takes is counted here as well, against its bounds (bounds.h): by its address before
// the rules are asked, and by its name once that is known.
//
// Thread contract: any thread.

#ifndef TENSORHUB_SERVER_RPC_ACCESS_H_
#define TENSORHUB_SERVER_RPC_ACCESS_H_

#include <grpcpp/server_context.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "server/rpc/access_rules.h"
#include "server/rpc/bounds.h"
#include "server/rpc/needs.h"

namespace tensorhub::rpc {

class Access {
 public:
  using Ticket = uint64_t;
  using End = std::function<void(const absl::Status&)>;

  explicit Access(const CallerLimits& limits) : bounds_(Bounds::Make(limits)) {}

  // A server that has no rules yet lets callers do everything.
  void Use(AccessRules rules) ABSL_LOCKS_EXCLUDED(mutex_);
  // Looks at the open streams again: whose time is over, and by the rules if these are others now.
  void Recheck(int64_t now, bool by_rules) ABSL_LOCKS_EXCLUDED(mutex_);

  template <typename Request>
  absl::Status Check(const grpc::ServerContextBase& context, const Request& request) {
    const uint64_t bytes = DocumentBytesOf(request);
    if (open_to_all()) return CountUnjudged(context, bytes);
    return JudgeAndCount(context, NeedOf(request), bytes).status();
  }
  // For a question whose answer is about several models: which of them the caller may hear of.
  using MayRead = std::function<bool(const std::string& model)>;
  template <typename Request>
  absl::StatusOr<MayRead> Ask(const grpc::ServerContextBase& context, const Request& request) {
    if (open_to_all()) {
      const absl::Status status = CountUnjudged(context, 0);
      if (!status.ok()) return status;
      return MayRead([](const std::string&) { return true; });
    }
    absl::StatusOr<Grant> grant = JudgeAndCount(context, NeedOf(request), 0);
    if (!grant.ok()) return grant.status();
    return MayRead([grant = *std::move(grant)](const std::string& model) {
      return grant.Allows(Right::kRead, model);
    });
  }

  // What was published or ordered, by whom, and what became of it: a line in the log, where there
  // are rules.
  template <typename Request>
  void Audit(const grpc::ServerContextBase& context, const Request& request,
             const absl::Status& status) {
    if (open_to_all()) return;
    const Need need = NeedOf(request);
    if (need.right == Right::kRead) return;
    LogAudit(context, Request::descriptor()->name(), need, status);
  }

  struct Admitted {
    Ticket ticket = 0;
    bool may_publish = true;                  // the model that it is about
    std::shared_ptr<Bounds::Seat> seat = {};  // to be held as long as the stream is there
  };
  // A stream begins; `end` is called once, from Recheck, if it may not go on. A worker is the
  // caller's whose session this is, until kPlaceKeptS after Leave: nobody else who may not publish
  // its model takes its place, or does anything in its name.
  template <typename Request>
  absl::StatusOr<Admitted> Enter(const grpc::ServerContextBase& context, const Request& request,
                                 const End& end) {
    return EnterAs(context, NeedOf(request), end);
  }
  // Nothing is called any more, unless it is being called. 0: nothing.
  void Leave(Ticket ticket) ABSL_LOCKS_EXCLUDED(mutex_);
  std::map<std::string, uint64_t> BoundsMet() { return bounds_->Met(); }

 private:
  struct Stream {
    Caller caller;
    Right right = Right::kRead;
    std::string model;
    std::string worker;  // empty: a watcher
    std::string place;
    std::string principal;
    int64_t ends = 0;
    End end;
  };

  // A rank of a group, whichever process has it.
  struct Place {
    std::string principal;
    int64_t kept_until = 0;  // 0: a session is open
  };

  static Caller CallerOf(const grpc::ServerContextBase& context);
  template <typename Request>
  static uint64_t DocumentBytesOf(const Request& request) {
    constexpr bool kDocument = std::is_same_v<Request, v1::PutLayoutRequest> ||
                               std::is_same_v<Request, v1::PutAttachmentRequest>;
    return kDocument ? request.ByteSizeLong() : 0;
  }
  absl::Status CountUnjudged(const grpc::ServerContextBase& context, uint64_t bytes);
  absl::StatusOr<Grant> JudgeAndCount(const grpc::ServerContextBase& context, const Need& need,
                                      uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Each call asks it, most servers have no rules, and none takes them back: so without the mutex.
  bool open_to_all() const { return !has_rules_; }
  absl::StatusOr<Grant> Judge(const Caller& caller, const Need& need) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<Grant> JudgeLocked(const Caller& caller, const Need& need, int64_t now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Admitted> EnterAs(const grpc::ServerContextBase& context, const Need& need,
                                   End end) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status CheckPlaceLocked(const Grant& grant, const v1::WorkerId& worker, int64_t now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LogAudit(const grpc::ServerContextBase& context, const std::string& request,
                const Need& need, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status WhyNotLocked(Stream& stream, int64_t now, bool by_rules)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<Bounds> bounds_;
  std::atomic<bool> has_rules_ = false;
  Mutex mutex_;
  std::optional<AccessRules> rules_ ABSL_GUARDED_BY(mutex_);
  Ticket last_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<Ticket, Stream> streams_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Ticket> workers_ ABSL_GUARDED_BY(mutex_);  // whose session it is
  std::map<std::string, Place> places_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_ACCESS_H_
