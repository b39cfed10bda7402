// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A worker's connection to the hub: its session and its calls, with the rules of worker_agent's
// hub/client.cc and hub/unary.cc, over a network that delays, loses, breaks and cuts off. Within a
// stream nothing changes places; calls do, with each other and with the stream.

#ifndef TENSORHUB_TESTS_SIM_HUB_LINK_H_
#define TENSORHUB_TESTS_SIM_HUB_LINK_H_

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "tests/sim/hub_node.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"

namespace tensorhub::fault {

struct WaitRequest {
  VersionNumber newer_than = 0;
  std::optional<TermNumber> held_in;
  bool any = false;
  uint64_t max_lag = 0;
  TimeMs timeout_ms = 0;
};

class HubLink {
 public:
  HubLink(Scene& scene, Process& process) : scene_(scene), process_(process) {}

  // The worker's side.
  void Connect();
  void Send(const agent::SessionSend& send);
  void Start(const agent::Call& call);
  void Cancel(OpId op);
  void PutDocuments();
  // The session begins anew, soon.
  void MoveLater();
  // One at a time; `done` hears how it ended.
  void Wait(const WaitRequest& request, std::function<void(const absl::Status&)> done);

  // The hub's side: sends.
  void SendDown(Stream& stream, const hub::Directive& directive, const ServerIdentity& identity);
  void SendEnd(Stream& stream, const absl::Status& status);
  void SendAnswer(const hub::Reply& reply);

  // Faults.
  void Break();
  void OnHubGone();
  void Block(bool up, bool down);
  void Unblock();
  // After the node has died.
  void OnKilled(bool told);

  bool up() const { return state_ == State::kUp; }
  // Will never be up again: refused.
  bool ended() const { return state_ == State::kEnded; }
  bool connected() const { return connected_; }
  // False: whatever the hub answers, nobody hears it.
  bool Awaits(OpId op) const { return running_.contains(op); }
  hub::SessionId session() const { return stream_ == nullptr ? 0 : stream_->session; }

 private:
  enum class State { kIdle, kOpening, kUp, kEnded };

  Nanos Latency();
  void Open();
  void OnOpeningTimeout(const Stream* stream);
  void Up(Nanos arrival, Action action);
  void HandUp(uint32_t life, Action action);
  void Down(Nanos arrival, Action action);
  void OnDown(Stream& stream, const hub::Directive& directive, const ServerIdentity& identity);
  void OnWelcome(const hub::Directive& directive, const ServerIdentity& identity);
  void OnEnd(const absl::Status& status);
  void Refuse(const absl::Status& status);
  void RetryLater();
  void CutNow(Nanos client_notice, Nanos hub_notice);
  void Move();
  void FailCalls();

  hub::CallId Dispatch(CallRecord record, hub::Event event, TimeMs deadline_ms);
  void Dispatch(const agent::Call& call);
  void Travel(hub::CallId id, Nanos arrival, const hub::Event& event);
  void FailAfter(Nanos delay, hub::CallId id);
  void CancelAt(Nanos arrival, hub::CallId id);
  void GiveUp(hub::CallId id);
  bool Forget(hub::CallId id);
  void Judge(hub::CallId id, const hub::Reply& reply);
  void OnPut(const absl::Status& status);
  void AskWait();
  void OnWaited(const absl::Status& status);

  Scene& scene_;
  Process& process_;
  State state_ = State::kIdle;
  Stream* stream_ = nullptr;
  SessionNumber number_ = 0;
  bool connected_ = false;
  bool leaving_ = false;
  int failures_ = 0;
  ServerIdentity known_;
  // The connection is gone, and this side has not noticed.
  bool dead_line_ = false;
  bool up_blocked_ = false;
  bool down_blocked_ = false;
  struct Parked {
    uint32_t life = 0;  // of the hub that it is for
    Action action;
  };
  std::vector<Parked> parked_up_;
  std::vector<Action> parked_down_;

  std::map<OpId, hub::CallId> running_;
  bool documents_wanted_ = false;
  hub::CallId put_ = 0;
  std::vector<agent::Call> waiting_;
  std::optional<WaitRequest> wait_;
  std::function<void(const absl::Status&)> wait_done_;
  TimeMs wait_until_ = 0;
  hub::CallId wait_call_ = 0;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_HUB_LINK_H_
