// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/watch_reactor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/grpc_status.h"
#include "server/rpc/translate_views.h"

namespace tensorhub::rpc {

WatchReactor* WatchReactor::Start(HubLoop& loop, Access& access, const v1::WatchRequest& request,
                                  size_t queue_max, const grpc::ServerContextBase& context) {
  auto* reactor = new WatchReactor(loop, access, request.model(), queue_max);
  reactor->self_.reset(reactor);
  const absl::Status status = reactor->Admit(request, context);
  if (status.ok()) {
    loop.AddWatcher(request.model(), reactor->self_);
  } else {
    reactor->End(loop.refusals().Count(status));
  }
  return reactor;
}

absl::Status WatchReactor::Admit(const v1::WatchRequest& request,
                                 const grpc::ServerContextBase& context) {
  if (const std::optional<std::string> problem = NameProblem(model_)) {
    return absl::InvalidArgumentError(absl::StrCat("model: ", *problem));
  }
  const std::weak_ptr<WatchReactor> self = weak_from_this();
  const absl::StatusOr<Access::Admitted> admitted =
      access_.Enter(context, request, [self](const absl::Status& why) {
        if (const std::shared_ptr<WatchReactor> watcher = self.lock()) watcher->EndFor(why);
      });
  if (!admitted.ok()) return admitted.status();
  admitted_ = admitted->ticket;
  seat_ = admitted->seat;
  return absl::OkStatus();
}

void WatchReactor::EndFor(const absl::Status& why) {
  End(loop_.refusals().Count(why));
  loop_.RemoveWatcher(model_, this);
}

// --- gRPC's side -----------------------------------------------------------------------------

void WatchReactor::OnWriteDone(bool ok) {
  bool relist = false;
  {
    MutexLock lock(mutex_);
    writing_ = false;
    if (!ok) writes_.clear();  // the stream is broken; OnCancel follows
    if (!writes_.empty()) writes_.pop_front();
    WriteNextLocked();
    FinishIfIdleLocked();
    relist = overflowed_ && !writing_ && !ending_;
  }
  if (relist) loop_.RelistWatcher(shared_from_this());
}

void WatchReactor::OnCancel() {
  End(absl::CancelledError("the watcher hung up"));
  loop_.RemoveWatcher(model_, this);
}

void WatchReactor::OnDone() {
  access_.Leave(admitted_);
  seat_.reset();
  const auto last = std::move(self_);  // may be the end of this object
}

// --- the loop's side -------------------------------------------------------------------------

void WatchReactor::ListOnLoop(const hub::Hub& hub) {
  v1::WatchEvent event;
  event.set_revision(hub.Revision(model_));
  v1::Listing& listing = *event.mutable_listing();
  for (const hub::ModelView& model : hub.Models()) {
    if (model.model == model_) Fill(model, *listing.mutable_model());
  }
  for (const hub::VersionView& version : hub.Versions(model_)) {
    Fill(version, *listing.add_versions());
  }
  MutexLock lock(mutex_);
  overflowed_ = false;
  writes_.push_back(std::move(event));
  WriteNextLocked();
}

void WatchReactor::ChangeOnLoop(const hub::ModelChange& change) {
  MutexLock lock(mutex_);
  if (overflowed_ || ending_) return;
  if (writes_.size() >= queue_max_) {
    overflowed_ = true;
    while (writes_.size() > 1) writes_.pop_back();  // a full queue has its first one outstanding
    return;
  }
  v1::WatchEvent& event = writes_.emplace_back();
  event.set_revision(change.revision);
  Fill(change, *event.mutable_change());
  WriteNextLocked();
}

void WatchReactor::Close(const absl::Status& status) { End(status); }

// --- both ------------------------------------------------------------------------------------

void WatchReactor::End(const absl::Status& status) {
  MutexLock lock(mutex_);
  if (ending_) return;
  ending_ = status;
  FinishIfIdleLocked();
}

void WatchReactor::WriteNextLocked() {
  if (writing_ || writes_.empty() || ending_) return;
  writing_ = true;
  StartWrite(&writes_.front());
}

void WatchReactor::FinishIfIdleLocked() {
  if (!ending_ || writing_ || finished_) return;
  finished_ = true;
  Finish(ToGrpc(*ending_));
}

}  // namespace tensorhub::rpc
