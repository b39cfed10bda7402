// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One worker's relation with the hub: keeps a session open, reconnecting with a jittered back-off
// for as long as the worker lives, and carries its calls. Knows which hub it is (R8).
//
// Thread contract: every method but BeatWhileStalled, and every callback, on the progress thread.

#ifndef TENSORHUB_WORKER_AGENT_HUB_CLIENT_H_
#define TENSORHUB_WORKER_AGENT_HUB_CLIENT_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/random.h"
#include "common/server_choice.h"
#include "protocol/messages/directives.h"
#include "tensorhub/v1/hub.grpc.pb.h"
#include "worker_agent/hub/channel.h"
#include "worker_agent/hub/messages.h"
#include "worker_agent/hub/pulse.h"
#include "worker_agent/hub/session.h"
#include "worker_agent/hub/unary.h"
#include "worker_agent/hub/witness.h"
#include "worker_agent/runtime/inbox.h"

namespace tensorhub::agent {

class HubClient {
 public:
  struct Options {
    std::string server;  // for messages
    WorkerFacts facts;
    // How long the first session is tried for.
    TimeMs connect_timeout_ms = 5000;
    uint64_t seed = 1;  // of the jitter
  };
  struct Owner {
    std::function<void(const Event&)> on_event;
    // Asked for each time a session is opened.
    std::function<StateReport()> report;
    // The outcome of the first session, once. After an error nothing is tried any more.
    std::function<void(const absl::Status&)> on_connected;
  };

  // Close the inbox before this object goes.
  HubClient(Options options, std::shared_ptr<HubChannel> channel, std::shared_ptr<Inbox> inbox,
            Owner owner);
  ~HubClient();

  void Connect(TimeMs now);
  void Tick(TimeMs now);
  std::optional<TimeMs> NextDeadline() const;

  // Dropped while no session is up: the next one begins with a full report.
  void Send(const SessionSend& send);
  HubUnary& calls() { return calls_; }
  // Peers reach this worker at another endpoint: the session begins anew, and says so.
  void MoveTo(const std::string& endpoint);
  // The worker leaves: the hub may end the session for good.
  void ExpectEnd() { leaving_ = true; }
  // From any thread, again and again while the progress thread stands still, and for how long it
  // has: the worker lives, and the hub is to know both.
  void BeatWhileStalled(TimeMs stalled_ms) { pulse_.Beat(stalled_ms); }

 private:
  enum class State { kIdle, kOpening, kUp, kEnded };
  // What one of several servers has to welcome a worker, or to say who leads; twice as long each
  // time that it does not.
  static constexpr TimeMs kOpenPatienceMs = 1000;
  static constexpr TimeMs kLongestOpenPatienceMs = 32'000;
  // The hub's welcome may be longer on its way than a lease, which runs from when it is sent.
  static constexpr TimeMs kOpeningBeatMs = 1000;

  void UseChannel(const std::shared_ptr<grpc::Channel>& channel);
  void UseWay();
  void Open();
  void OpenAnew();
  void BeatWhileOpening();
  TimeMs OpeningBeatMs() const;
  void LoseSession();
  void RenewChannel();
  void OnMessage(SessionNumber number, const v1::HubMessage& message);
  void OnDirective(const protocol::Welcome& welcome);
  template <typename Directive>
  void OnDirective(const Directive& directive) {
    owner_.on_event(directive);
  }
  // What is wrong with this hub's identity.
  absl::Status CheckIdentity(const protocol::Welcome& welcome);
  bool LeadsNot(const absl::Status& status) const;
  void AwaitAdoption(const absl::Status& status);
  void OnEnd(SessionNumber number, const grpc::Status& ended);
  absl::Status WhyEnded(const grpc::Status& ended) const;
  void OnFirstFailure(const absl::Status& status);
  void Refuse(const absl::Status& status);
  void FailConnect(const absl::Status& status);
  absl::Status TimedOut() const;
  // Since the server was asked for the session.
  TimeMs AskedForMs() const;
  TimeMs RoundTripMs() const;
  void MoveToPatientChannel();
  void RetryLater();
  void PutMissingDocuments();
  void AskOthers();
  void OnTestimony(const HubWitness::Testimony& said);

  const Options options_;
  std::string endpoint_;  // instead of the facts', once moved
  const std::shared_ptr<Inbox> inbox_;
  const Owner owner_;
  const std::shared_ptr<HubChannel> channel_;
  std::shared_ptr<grpc::Channel> in_use_;
  std::shared_ptr<v1::Hub::StubInterface> stub_;
  HubUnary calls_;
  HubWitness witness_;
  Random random_;

  State state_ = State::kIdle;
  std::shared_ptr<HubSession> session_;
  Pulse pulse_;
  SessionNumber number_ = 0;
  bool leaving_ = false;
  bool connected_ = false;  // the first session has come up
  absl::Status last_failure_;
  TimeMs now_ = 0;
  TimeMs connect_until_ = 0;
  std::string at_;                               // the server that is asked
  std::chrono::steady_clock::time_point asked_;  // when; a tick would say it too early
  bool asked_at_once_ = false;                   // there was a connection
  std::optional<TimeMs> move_at_;                // to a channel that is more patient
  TimeMs open_patience_ms_ = kOpenPatienceMs;
  std::optional<TimeMs> open_at_;
  // A server of several that does not answer by then is not waited for.
  std::optional<TimeMs> opened_by_;
  std::optional<TimeMs> beat_at_;   // until the welcome
  std::optional<TimeMs> renew_at_;  // the channel, while no session is up again
  TimeMs renew_after_ms_ = 0;
  TimeMs heartbeat_ms_ = 0;
  bool awaits_adoption_ = false;
  std::optional<TimeMs> ask_others_at_;  // who leads, while a session is up
  std::optional<TimeMs> put_at_;         // documents that the hub wants, again
  int failures_ = 0;                     // in a row
  KnownHub hub_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_HUB_CLIENT_H_
