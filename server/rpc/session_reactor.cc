// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/session_reactor.h"

#include <utility>

#include "common/grpc_status.h"
#include "server/rpc/translate.h"
#include "spdlog/spdlog.h"

namespace tensorhub::rpc {

SessionReactor::SessionReactor(HubLoop& loop, Unfinished& unfinished, Access& access,
                               const ServerIdentity& identity, grpc::CallbackServerContext* context)
    : loop_(loop),
      unfinished_(unfinished),
      access_(access),
      identity_(identity),
      context_(context),
      session_(loop.NewSession()) {}

SessionReactor* SessionReactor::Start(HubLoop& loop, Unfinished& unfinished, Access& access,
                                      const ServerIdentity& identity,
                                      grpc::CallbackServerContext* context) {
  auto* reactor = new SessionReactor(loop, unfinished, access, identity, context);
  reactor->self_.reset(reactor);
  reactor->opening_ = unfinished.Add([context] { context->TryCancel(); });
  reactor->StartRead(&reactor->incoming_);
  return reactor;
}

// --- gRPC's side -----------------------------------------------------------------------------

void SessionReactor::OnReadDone(bool ok) {
  if (opening_ != 0) unfinished_.Remove(std::exchange(opening_, 0));
  if (!ok) return End(absl::OkStatus());  // the worker closed its half, or is gone
  const absl::Status status = Handle();
  if (!status.ok()) End(status);
}

absl::Status SessionReactor::Handle() {
  bool open = false;
  {
    MutexLock lock(mutex_);
    if (ending_) return absl::OkStatus();
    open = known_to_hub_;
  }
  if (absl::Status status = CheckPlain(incoming_); !status.ok()) return status;
  if (!open) {
    if (!incoming_.has_open()) {
      return absl::InvalidArgumentError("open: must be the first message of a session");
    }
    return Open(incoming_.open());
  }
  absl::StatusOr<hub::Event> event = ToCore(incoming_, session_);
  if (!event.ok()) return event.status();
  loop_.FromSession(session_, *std::move(event));
  return absl::OkStatus();
}

// What ends it later holds no share in it: gRPC may be done with it by then.
absl::Status SessionReactor::Admit(const v1::OpenSession& open, hub::SessionOpened& opened) {
  const std::weak_ptr<SessionReactor> self = weak_from_this();
  const absl::StatusOr<Access::Admitted> admitted =
      access_.Enter(*context_, open, [self](const absl::Status& why) {
        if (const std::shared_ptr<SessionReactor> session = self.lock()) session->End(why);
      });
  if (!admitted.ok()) return admitted.status();
  admitted_ = admitted->ticket;
  seat_ = admitted->seat;
  opened.may_publish = admitted->may_publish;
  return absl::OkStatus();
}

absl::Status SessionReactor::Open(const v1::OpenSession& open) {
  // First: what a newer agent says may mean something else.
  absl::Status status = CheckLevel(open);
  if (!status.ok()) {
    spdlog::info("refused a session: {}", std::string(status.message()));
    return status;
  }
  absl::StatusOr<hub::SessionOpened> opened = ToCore(open, session_);
  if (!opened.ok()) return opened.status();
  status = Admit(open, *opened);
  if (status.ok()) status = CheckIdentity(open, identity_);
  if (!status.ok()) {
    spdlog::info("refused a session of {}: {}", ToString(opened->worker.key),
                 std::string(status.message()));
    return status;
  }
  {
    MutexLock lock(mutex_);
    if (ending_) return absl::OkStatus();  // cancelled meanwhile; the hub need not hear of it
    known_to_hub_ = true;
  }
  loop_.OpenSession(*std::move(opened), shared_from_this());
  // A cancellation in between has told the hub of the end before the beginning: tell it again.
  MutexLock lock(mutex_);
  if (ending_) loop_.CloseSession(session_);
  return absl::OkStatus();
}

void SessionReactor::OnWriteDone(bool ok) {
  MutexLock lock(mutex_);
  writing_ = false;
  if (!ok) writes_.clear();  // the stream is broken; OnCancel or a failed read follows
  if (!writes_.empty()) writes_.pop_front();
  WriteNextLocked();
  FinishIfIdleLocked();
}

void SessionReactor::OnCancel() { End(absl::CancelledError("the worker hung up")); }

void SessionReactor::OnDone() {
  access_.Leave(admitted_);
  seat_.reset();
  const auto last = std::move(self_);  // may be the end of this object
}

// --- the loop's side -------------------------------------------------------------------------

void SessionReactor::Deliver(const hub::Directive& directive) {
  MutexLock lock(mutex_);
  if (ending_) return;
  if (writes_.size() >= kWritesMax) return context_->TryCancel();  // OnCancel does the rest
  writes_.push_back(ToProto(directive, identity_));
  WriteNextLocked();
}

void SessionReactor::ReadNext() {
  MutexLock lock(mutex_);
  if (!finished_) StartRead(&incoming_);
}

void SessionReactor::Close(const absl::Status& status) { End(status, /*by_hub=*/true); }

// --- both ------------------------------------------------------------------------------------

void SessionReactor::End(const absl::Status& status, bool by_hub) {
  bool tell_hub = false;
  {
    MutexLock lock(mutex_);
    if (ending_) return;
    ending_ = status;
    tell_hub = known_to_hub_ && !by_hub;
    while (writes_.size() > (writing_ ? 1u : 0u)) writes_.pop_back();
    FinishIfIdleLocked();
  }
  if (tell_hub) loop_.CloseSession(session_);
}

void SessionReactor::WriteNextLocked() {
  if (writing_ || writes_.empty() || finished_) return;
  writing_ = true;
  StartWrite(&writes_.front());
}

void SessionReactor::FinishIfIdleLocked() {
  if (!ending_ || writing_ || finished_) return;
  finished_ = true;
  Finish(ToGrpc(loop_.refusals().Count(*ending_)));
}

}  // namespace tensorhub::rpc
