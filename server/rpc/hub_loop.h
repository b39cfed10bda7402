// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The one thread that owns the hub: events go in through a queue, effects are carried out in their
// order. gRPC's threads only post here; nothing that they call waits for the hub. Nor does the hub
// wait for the disk: while a commit is under way (store/commit_thread.h), events are applied, and
// their rows become the next commit, all of them one transaction.
//
// Thread contract: every public method may be called from any thread and returns at once, except
// Stop's end in the destructor, which joins. Handlers, sinks and watchers are called on the loop's
// thread (or by the poster, once the loop has stopped) and must not block. The store is used by one
// thread at a time: this one, or the one that commits.
//
// 1. Each call's handler runs exactly once: with the hub's reply, or CANCELLED after CancelCall,
//    or UNAVAILABLE when the loop stops or its queue is full.
// 2. Each sink and watcher that was accepted is closed exactly once, unless it was taken out by
//    CloseSession or RemoveWatcher before.
// 3. The queue is bounded: calls are refused beyond `queue_max`; a session has at most one message
//    in it, because the next one is read only after the one before was applied.
// 4. R6, R8: nobody hears of anything that rests on rows which are not kept yet: effects wait as
//    hub::CommitOrder says, and who looks at the hub (Query, watchers) looks when nothing waits. If
//    a commit fails, what waits for it is never carried out.

#ifndef TENSORHUB_SERVER_RPC_HUB_LOOP_H_
#define TENSORHUB_SERVER_RPC_HUB_LOOP_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "common/mutex.h"
#include "server/core/commit_order.h"
#include "server/core/hub.h"
#include "server/rpc/latencies.h"
#include "server/rpc/planner.h"
#include "server/rpc/recorder.h"
#include "server/rpc/refusals.h"
#include "server/store/commit_thread.h"

namespace tensorhub::rpc {

// A worker's stream, as the loop sees it.
class SessionSink {
 public:
  virtual ~SessionSink() = default;
  virtual void Deliver(const hub::Directive& directive) = 0;
  // The last message was applied; the next one may come.
  virtual void ReadNext() = 0;
  // End the stream; the loop has forgotten it.
  virtual void Close(const absl::Status& status) = 0;
};

// Somebody who follows one model.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // Once after AddWatcher, and after each RelistWatcher.
  virtual void ListOnLoop(const hub::Hub& hub) = 0;
  virtual void ChangeOnLoop(const hub::ModelChange& change) = 0;
  virtual void Close(const absl::Status& status) = 0;
};

class HubLoop {
 public:
  struct Options {
    hub::HubOptions hub;
    // Calls are refused while so many events wait. Larger: bursts pass; smaller: an overloaded hub
    // says so sooner instead of answering late.
    size_t queue_max = 100'000;
    // No event is applied while so many effects wait for a commit. Larger: a disk that is slow for
    // a moment is not noticed; smaller: less memory while it is.
    size_t waiting_max = 100'000;
    // Keeps the hub's rows; outlives the loop. Null: nothing is kept.
    store::Store* store = nullptr;
    // Notes what goes into the hub; outlives the loop. Null: nobody does.
    Recorder* recorder = nullptr;
    // Told once, on the loop's thread, why the store has failed. The loop has stopped then.
    std::function<void(const absl::Status&)> on_failure = {};
    // Once, on the loop's thread, when nothing more will be kept, and before anybody hears that the
    // server ends.
    std::function<void()> on_end = {};
  };
  using ReplyHandler = std::function<void(const hub::Reply&)>;
  using Reader = std::function<void(const hub::Hub&, TimeMs now)>;

  explicit HubLoop(const Options& options);
  ~HubLoop();  // Stop, then joins
  HubLoop(const HubLoop&) = delete;
  HubLoop& operator=(const HubLoop&) = delete;

  hub::CallId NewCall() { return ++last_call_; }
  hub::SessionId NewSession() { return ++last_session_; }

  void StartCall(hub::CallId call, hub::Event event, const ReplyHandler& handler);
  void CancelCall(hub::CallId call);

  void OpenSession(hub::SessionOpened opened, const std::shared_ptr<SessionSink>& sink);
  void FromSession(hub::SessionId session, hub::Event event);
  // The worker is gone; the sink is not called any more.
  void CloseSession(hub::SessionId session);

  // False, and nothing will be called: the loop has stopped, or its queue is full. `refused` is
  // called in the reader's place if the store fails meanwhile.
  bool Query(Reader reader, std::function<void()> refused = {});

  void AddWatcher(const std::string& model, const std::shared_ptr<Watcher>& watcher);
  void RelistWatcher(std::shared_ptr<Watcher> watcher);
  void RemoveWatcher(const std::string& model, const Watcher* watcher);

  // `sign` runs on the loop's thread as soon as it turns to anything, also while the disk holds all
  // else up: the thread is alive. Once the loop has stopped it may not run.
  void GiveSign(std::function<void()> sign);

  // What is queued is still applied and kept; then everything open ends with UNAVAILABLE. Does not
  // wait.
  void Stop();

  Refusals& refusals() { return refusals_; }
  Latencies& latencies() { return latencies_; }

 private:
  using Task = std::function<void()>;
  enum class Urgency { kRefusable, kAlways };
  // At the hub, once nothing waits; or never, if the store fails.
  struct Look {
    Task look;
    Task refused;
  };

  bool Post(Task task, Urgency urgency);
  void RunOnLoop();
  // False once stopped and empty.
  bool TakeBatch(std::vector<Task>& batch);
  void ApplyOnLoop(const hub::Event& event);
  std::optional<TimeMs> NextDeadlineOnLoop() const;
  void TickIfDueOnLoop();
  void EndEverythingOnLoop();

  void LookWhenKeptOnLoop(Look look);
  bool PausedOnLoop() const;
  void ProceedOnLoop();
  bool EndCommitOnLoop();
  void BeginCommitOnLoop();
  void WarnIfSlowOnLoop();
  void KeptOnLoop(const absl::Status& status);
  void FailOnLoop(const absl::Status& status);
  void CarryOutReadyOnLoop();

  void CarryOut(const hub::Persist&) {}  // kept by now
  void CarryOut(const hub::Reply& reply);
  void CarryOut(const hub::Directive& directive);
  void CarryOut(const hub::CloseSession& close);
  void CarryOut(const hub::ModelChange& change);
  void CarryOut(const hub::LogLine& line);
  void CarryOut(const hub::PlanWanted& wanted);

  void AnswerOnLoop(const hub::Reply& reply);

  const size_t queue_max_;
  const size_t waiting_max_;
  store::Store* const store_;
  Recorder* const recorder_;
  const std::function<void(const absl::Status&)> on_failure_;
  const std::function<void()> on_end_;
  std::atomic<hub::CallId> last_call_{0};
  std::atomic<hub::SessionId> last_session_{0};
  Refusals refusals_;
  Latencies latencies_;

  const hub::HubOptions hub_options_;
  const TimeMs hub_start_;

  // State of the loop's thread alone:
  hub::Hub hub_;
  hub::CommitOrder order_;
  hub::Effects effects_;  // between the hub, the order and their being carried out: empty
  std::vector<Look> looks_;
  std::optional<TimeMs> slow_at_;  // when the commit under way takes long
  bool failed_ = false;
  std::unordered_map<hub::CallId, ReplyHandler> calls_;
  std::unordered_map<hub::SessionId, std::shared_ptr<SessionSink>> sessions_;
  std::multimap<std::string, std::shared_ptr<Watcher>> watchers_;

  Mutex mutex_;
  CondVar wake_;
  std::vector<Task> queue_ ABSL_GUARDED_BY(mutex_);
  std::vector<Task> signs_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> committed_ ABSL_GUARDED_BY(mutex_);

  std::optional<store::CommitThread> commits_;  // of a store that blocks
  Planner planner_;
  std::thread thread_;  // last: starts when all else is there
};

// The status that everything open gets when the server ends.
absl::Status ShuttingDown();

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_HUB_LOOP_H_
