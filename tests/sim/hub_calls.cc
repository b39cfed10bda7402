// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A worker's unary calls (hub_link.h): each on its own, so that one may arrive after those that
// were made later, or twice, or without its answer.

#include <algorithm>
#include <utility>

#include "tests/sim/details.h"
#include "tests/sim/hub_link.h"
#include "tests/sim/process.h"
#include "tools/sim/core_events.h"

namespace tensorhub::fault {
namespace {

// As unary.cc and queries.cc of worker_agent/hub.
constexpr TimeMs kGraceMs = 5000;
constexpr TimeMs kPromptMs = 10000;
constexpr TimeMs kFinishMs = 60000;
constexpr TimeMs kDocumentMs = 15000;  // small ones
constexpr Nanos kPutAgain = 2 * kSecond;
constexpr TimeMs kWaitGraceMs = 500;
constexpr TimeMs kWaitPauseMs = 200;

absl::Status Unreached() { return absl::UnavailableError("the server was not reached"); }

TimeMs DeadlineOf(const agent::Call& call) {
  if (const auto* publish = std::get_if<protocol::Publish>(&call.request)) {
    return publish->timeout_ms + kGraceMs;
  }
  if (const auto* unpublish = std::get_if<protocol::Unpublish>(&call.request)) {
    return unpublish->drain_ms + kGraceMs;
  }
  if (const auto* join = std::get_if<protocol::JoinFetch>(&call.request)) {
    return join->timeout_ms + kGraceMs;
  }
  return std::holds_alternative<protocol::FinishRead>(call.request) ? kFinishMs : kPromptMs;
}

void SetCall(hub::Event& event, hub::CallId id) {
  std::visit(
      [id](auto& body) {
        if constexpr (requires { body.call; }) body.call = id;
      },
      event);
}

}  // namespace

// --- one attempt ---------------------------------------------------------------------------------

hub::CallId HubLink::Dispatch(CallRecord record, hub::Event event, TimeMs deadline_ms) {
  record.process = &process_;
  const hub::CallId id = scene_.hub->NewCall(record);
  SetCall(event, id);
  FailAfter(deadline_ms * kMillisecond, id);
  const Nanos now = scene_.agenda.now();
  if (dead_line_) return id;  // fails with the others, when that is noticed
  if (!scene_.hub->up()) {
    FailAfter(Latency(), id);
  } else if (scene_.Happens(scene_.plan.call_lost)) {
    FailAfter(scene_.dice.Time(0, 300 * kMillisecond), id);
  } else if (scene_.Happens(scene_.plan.call_late)) {
    const Nanos arrival = now + scene_.dice.Time(100 * kMillisecond, 12 * kSecond);
    Travel(id, arrival, event);
    FailAfter(scene_.dice.Time(5 * kMillisecond, 500 * kMillisecond), id);
    CancelAt(arrival + scene_.dice.Time(0, kSecond), id);
  } else if (scene_.Happens(scene_.plan.answer_lost)) {
    Travel(id, now + Latency(), event);
    scene_.hub->call(id).down_cut = 0;
    const Nanos noticed = scene_.dice.Time(kMillisecond, 2 * kSecond);
    FailAfter(noticed, id);
    CancelAt(now + noticed + scene_.dice.Time(0, 2 * kSecond), id);
  } else {
    Travel(id, now + Latency(), event);
  }
  return id;
}

void HubLink::Travel(hub::CallId id, Nanos arrival, const hub::Event& event) {
  scene_.hub->call(id).arrival = arrival;
  Up(arrival, [this, id, event] {
    if (scene_.agenda.now() < scene_.hub->call(id).up_cut) scene_.hub->StartCall(id, event);
  });
}

void HubLink::CancelAt(Nanos arrival, hub::CallId id) {
  Up(arrival, [this, id] { scene_.hub->CancelCall(id); });
}

void HubLink::FailAfter(Nanos delay, hub::CallId id) {
  scene_.agenda.After(delay, &process_.node(), [this, id] {
    if (!Forget(id)) return;
    scene_.hub->call(id).down_cut = 0;
    Judge(id, hub::Reply{id, Unreached(), {}});
  });
}

void HubLink::GiveUp(hub::CallId id) {
  const CallRecord& record = scene_.hub->call(id);
  CancelAt(std::max(record.arrival + 1, scene_.agenda.now() + Latency()), id);
}

void HubLink::SendAnswer(const hub::Reply& reply) {
  Down(scene_.agenda.now() + Latency(), [this, reply] {
    if (scene_.agenda.now() >= scene_.hub->call(reply.call).down_cut) return;
    if (!Forget(reply.call)) return;
    if (scene_.listener != nullptr) {
      scene_.Said(kServer, process_.name(), NameOf(reply), DetailOf(reply));
    }
    Judge(reply.call, reply);
  });
}

// True: somebody still waits for it.
bool HubLink::Forget(hub::CallId id) {
  const CallRecord& record = scene_.hub->call(id);
  if (record.kind == CallRecord::Kind::kPut)
    return std::exchange(put_, put_ == id ? 0 : put_) == id;
  if (record.kind == CallRecord::Kind::kWait) {
    return std::exchange(wait_call_, wait_call_ == id ? 0 : wait_call_) == id;
  }
  const auto found = running_.find(record.op);
  if (found == running_.end() || found->second != id) return false;
  running_.erase(found);
  return true;
}

void HubLink::Judge(hub::CallId id, const hub::Reply& reply) {
  const CallRecord& record = scene_.hub->call(id);
  if (record.kind == CallRecord::Kind::kPut) return OnPut(reply.status);
  if (record.kind == CallRecord::Kind::kWait) return OnWaited(reply.status);
  agent::CallReply answer = sim::ToAgent(reply, record.op);
  const bool plain = std::holds_alternative<std::monostate>(answer.payload);
  if (plain && absl::IsCancelled(answer.status)) answer.status = Unreached();
  process_.OnAnswer(answer);
}

void HubLink::FailCalls() {
  for (const auto& [op, id] : std::map<OpId, hub::CallId>(running_)) FailAfter(0, id);
  if (put_ != 0) FailAfter(0, put_);
  if (wait_call_ != 0) FailAfter(0, wait_call_);
}

// --- operations ----------------------------------------------------------------------------------

void HubLink::Start(const agent::Call& call) {
  if (std::holds_alternative<protocol::Leave>(call.request)) leaving_ = true;
  if (!documents_wanted_) return Dispatch(call);
  waiting_.push_back(call);
  if (put_ == 0) PutDocuments();
}

void HubLink::Dispatch(const agent::Call& call) {
  CallRecord record;
  record.op = call.op;
  if (const auto* publish = std::get_if<protocol::Publish>(&call.request)) {
    record.version = publish->version;
    record.generation = publish->generation;
    record.supersede = publish->supersede;
    record.content = process_.publishing();
  } else if (const auto* join = std::get_if<protocol::JoinFetch>(&call.request)) {
    record.selector = join->selector;
  } else if (const auto* unpublish = std::get_if<protocol::Unpublish>(&call.request)) {
    record.generation = unpublish->generation;
  } else if (const auto* finish = std::get_if<protocol::FinishRead>(&call.request)) {
    record.transaction = finish->transaction;
  }
  const auto replaced = running_.find(call.op);
  if (replaced != running_.end()) GiveUp(replaced->second);
  // The answer comes later than this call returns.
  running_[call.op] = Dispatch(record, hub::Asked({0, process_.identity(), call.op}, call.request),
                               DeadlineOf(call));
}

void HubLink::Cancel(OpId op) {
  std::erase_if(waiting_, [op](const agent::Call& call) { return call.op == op; });
  const auto found = running_.find(op);
  if (found == running_.end()) return;
  GiveUp(found->second);
  running_.erase(found);
}

void HubLink::PutDocuments() {
  documents_wanted_ = true;
  if (put_ != 0) return;
  CallRecord record;
  record.kind = CallRecord::Kind::kPut;
  put_ = Dispatch(record, hub::PutLayoutOp{0, process_.layout()}, kDocumentMs);
}

void HubLink::OnPut(const absl::Status& status) {
  documents_wanted_ = absl::IsUnavailable(status);
  // Whoever only holds a version makes no call, before which they would be put anyhow.
  if (documents_wanted_) {
    scene_.agenda.After(kPutAgain, &process_.node(), [this] {
      if (documents_wanted_ && up()) PutDocuments();
    });
  }
  for (const agent::Call& call : std::exchange(waiting_, {})) {
    if (status.ok()) {
      Dispatch(call);
    } else {
      process_.OnAnswer(agent::CallReply{call.op, status, {}});
    }
  }
}

// --- waiting for a version -----------------------------------------------------------------------

void HubLink::Wait(const WaitRequest& request, std::function<void(const absl::Status&)> done) {
  wait_ = request;
  wait_done_ = std::move(done);
  wait_until_ = process_.NowMs() + request.timeout_ms;
  AskWait();
}

void HubLink::AskWait() {
  if (!wait_) return;
  const TimeMs left = std::max<TimeMs>(wait_until_ - process_.NowMs(), 1);
  CallRecord record;
  record.kind = CallRecord::Kind::kWait;
  hub::WaitOp op;
  op.model = process_.identity().key.model;
  op.newer_than = wait_->newer_than;
  op.held_in = wait_->held_in;
  op.any = wait_->any;
  op.max_lag = wait_->max_lag;
  op.timeout_ms = left;
  wait_call_ = Dispatch(record, op, left + kWaitGraceMs);
}

void HubLink::OnWaited(const absl::Status& status) {
  if (!wait_) return;
  const bool unreached = absl::IsUnavailable(status) || absl::IsCancelled(status);
  if (unreached && process_.NowMs() + kWaitPauseMs < wait_until_) {
    scene_.agenda.After(kWaitPauseMs * kMillisecond, &process_.node(), [this] { AskWait(); });
    return;
  }
  wait_.reset();
  std::exchange(wait_done_, nullptr)(status);
}

}  // namespace tensorhub::fault
