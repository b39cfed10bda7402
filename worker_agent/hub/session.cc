// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/hub/session.h"

#include <utility>

namespace tensorhub::agent {

std::shared_ptr<HubSession> HubSession::Open(v1::Hub::StubInterface& stub,
                                             v1::WorkerMessage opening, Listener listener) {
  std::shared_ptr<HubSession> session(new HubSession(std::move(listener)));
  session->self_ = session;
  stub.async()->Session(&session->context_, session.get());
  session->AddHold();  // writes are started outside of reactions
  session->Send(std::move(opening));
  session->StartRead(&session->incoming_);
  session->StartCall();
  return session;
}

void HubSession::Send(v1::WorkerMessage message) {
  MutexLock lock(mutex_);
  if (broken_) return;
  if (unsent_.size() >= kUnsentMax) return context_.TryCancel();
  unsent_.push_back(std::move(message));
  WriteNextLocked();
}

void HubSession::WriteNextLocked() {
  if (writing_ || broken_ || unsent_.empty()) return;
  writing_ = true;
  StartWrite(&unsent_.front());
}

void HubSession::OnWriteDone(bool ok) {
  MutexLock lock(mutex_);
  writing_ = false;
  unsent_.pop_front();
  if (ok) WriteNextLocked();  // else the read fails as well, and ends the session
}

void HubSession::OnReadDone(bool ok) {
  if (ok) {
    listener_.on_message(incoming_);
    StartRead(&incoming_);
    return;
  }
  {
    MutexLock lock(mutex_);
    broken_ = true;
  }
  RemoveHold();
}

void HubSession::OnDone(const grpc::Status& status) {
  listener_.on_end(status);
  const std::shared_ptr<HubSession> last = std::move(self_);  // may be the end of this object
}

}  // namespace tensorhub::agent
