// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/hub_loop.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/thread.h"

namespace tensorhub::rpc {
namespace {

using Clock = std::chrono::steady_clock;

TimeMs Now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch())
      .count();
}

// An operator hears of a commit that takes longer: meanwhile nobody is answered.
constexpr TimeMs kSlowCommitMs = 1000;
// R9
constexpr size_t kWatchersMax = 10'000;

absl::Status TooMany() {
  return absl::ResourceExhaustedError(
      absl::StrCat("this server has its ", kWatchersMax, " watchers already"));
}

// How far the wall clock is ahead.
TimeMs WallAtZero() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(wall).count() - Now();
}

hub::HubOptions WithClock(hub::HubOptions options) {
  options.wall_at_zero = WallAtZero();
  return options;
}

Clock::time_point TimePoint(TimeMs time) {
  return Clock::time_point(std::chrono::milliseconds(time));
}

}  // namespace

absl::Status ShuttingDown() {
  return absl::UnavailableError("the server is shutting down: retry, it may come back");
}

HubLoop::HubLoop(const Options& options)
    : queue_max_(options.queue_max),
      waiting_max_(options.waiting_max),
      store_(options.store),
      recorder_(options.recorder),
      on_failure_(options.on_failure),
      on_end_(options.on_end),
      hub_options_(WithClock(options.hub)),
      hub_start_(Now()),
      hub_(hub_options_, hub_start_),
      order_(options.store != nullptr),
      planner_([this](const hub::PlanMade& made) {
        Post([this, made] { ApplyOnLoop(made); }, Urgency::kAlways);
      }) {
  if (store_ != nullptr && store_->blocks()) {
    commits_.emplace(*store_, [this](const absl::Status& status) {
      MutexLock lock(mutex_);
      committed_ = status;
      wake_.NotifyAll();
    });
  }
  thread_ = StartThreadOrEnd("the hub", [this] { RunOnLoop(); });
}

HubLoop::~HubLoop() {
  Stop();
  thread_.join();
}

// --- posting ---------------------------------------------------------------------------------

bool HubLoop::Post(Task task, Urgency urgency) {
  MutexLock lock(mutex_);
  const bool full = queue_.size() >= queue_max_ && urgency == Urgency::kRefusable;
  if (stopping_ || full) return false;
  queue_.push_back(std::move(task));
  if (queue_.size() == 1) wake_.NotifyAll();
  return true;
}

void HubLoop::StartCall(hub::CallId call, hub::Event event, const ReplyHandler& handler) {
  const auto task = [this, call, event = std::move(event), handler] {
    calls_.emplace(call, handler);
    ApplyOnLoop(event);
  };
  if (Post(task, Urgency::kRefusable)) return;
  handler({call, absl::UnavailableError("the server is overloaded or shutting down: retry"), {}});
}

void HubLoop::CancelCall(hub::CallId call) {
  const auto task = [this, call] {
    if (!calls_.contains(call)) return;  // answered meanwhile
    ApplyOnLoop(hub::CallCancelled{call});
    AnswerOnLoop({call, absl::CancelledError("the caller hung up"), {}});
  };
  Post(task, Urgency::kAlways);
}

void HubLoop::OpenSession(hub::SessionOpened opened, const std::shared_ptr<SessionSink>& sink) {
  const auto task = [this, opened = std::move(opened), sink] {
    sessions_.emplace(opened.session, sink);
    ApplyOnLoop(opened);
    if (sessions_.contains(opened.session)) sink->ReadNext();
  };
  if (!Post(task, Urgency::kAlways)) sink->Close(ShuttingDown());
}

void HubLoop::FromSession(hub::SessionId session, hub::Event event) {
  const auto task = [this, session, event = std::move(event)] {
    if (!sessions_.contains(session)) return;
    ApplyOnLoop(event);
    const auto found = sessions_.find(session);
    if (found != sessions_.end()) found->second->ReadNext();
  };
  Post(task, Urgency::kAlways);
}

void HubLoop::CloseSession(hub::SessionId session) {
  const auto task = [this, session] {
    // Absent: the hub itself has closed it meanwhile.
    if (sessions_.erase(session) != 0) ApplyOnLoop(hub::SessionClosed{session});
  };
  Post(task, Urgency::kAlways);
}

bool HubLoop::Query(Reader reader, std::function<void()> refused) {
  const auto task = [this, reader = std::move(reader), refused = std::move(refused)] {
    LookWhenKeptOnLoop({[this, reader] { reader(hub_, Now()); }, refused});
  };
  return Post(task, Urgency::kRefusable);
}

void HubLoop::AddWatcher(const std::string& model, const std::shared_ptr<Watcher>& watcher) {
  const auto task = [this, model, watcher] {
    LookWhenKeptOnLoop({[this, model, watcher] {
                          if (watchers_.size() >= kWatchersMax) return watcher->Close(TooMany());
                          watchers_.emplace(model, watcher);
                          watcher->ListOnLoop(hub_);
                        },
                        [watcher] { watcher->Close(ShuttingDown()); }});
  };
  if (!Post(task, Urgency::kAlways)) watcher->Close(ShuttingDown());
}

void HubLoop::RelistWatcher(std::shared_ptr<Watcher> watcher) {
  const auto task = [this, watcher = std::move(watcher)] {
    LookWhenKeptOnLoop({[this, watcher] { watcher->ListOnLoop(hub_); }, {}});
  };
  Post(task, Urgency::kAlways);
}

// A look as well, so that it comes after the one that adds the watcher.
void HubLoop::RemoveWatcher(const std::string& model, const Watcher* watcher) {
  const auto remove = [this, model, watcher] {
    const auto [begin, end] = watchers_.equal_range(model);
    for (auto it = begin; it != end; ++it) {
      if (it->second.get() == watcher) return void(watchers_.erase(it));
    }
  };
  Post([this, remove] { LookWhenKeptOnLoop({remove, {}}); }, Urgency::kAlways);
}

void HubLoop::GiveSign(std::function<void()> sign) {
  MutexLock lock(mutex_);
  signs_.push_back(std::move(sign));
  wake_.NotifyAll();
}

void HubLoop::Stop() {
  MutexLock lock(mutex_);
  stopping_ = true;
  wake_.NotifyAll();
}

// --- the loop --------------------------------------------------------------------------------

void HubLoop::RunOnLoop() {
  if (recorder_ != nullptr) recorder_->Begin(hub_options_, hub_start_);
  std::vector<Task> batch;
  while (TakeBatch(batch)) {
    for (const Task& task : batch) task();
    batch.clear();
    TickIfDueOnLoop();
    ProceedOnLoop();
  }
  if (on_end_) on_end_();
  EndEverythingOnLoop();
}

bool HubLoop::TakeBatch(std::vector<Task>& batch) {
  const bool paused = PausedOnLoop();
  const std::optional<TimeMs> deadline = NextDeadlineOnLoop();
  MutexLock lock(mutex_);
  const auto idle = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (committed_ || !signs_.empty()) return false;
    return paused || (queue_.empty() && (order_.committing() || !stopping_));
  };
  while (idle()) {
    if (!deadline) {
      wake_.Wait(mutex_);
    } else if (!wake_.WaitUntil(mutex_, TimePoint(*deadline))) {
      return true;  // nothing but a tick, or a warning
    }
  }
  if (!paused) batch.swap(queue_);
  std::move(signs_.begin(), signs_.end(), std::back_inserter(batch));
  signs_.clear();
  return !batch.empty() || order_.committing() || !stopping_;
}

std::optional<TimeMs> HubLoop::NextDeadlineOnLoop() const {
  const std::optional<TimeMs> tick = PausedOnLoop() ? std::nullopt : hub_.NextDeadline();
  if (!tick || !slow_at_) return tick ? tick : slow_at_;
  return std::min(*tick, *slow_at_);
}

void HubLoop::TickIfDueOnLoop() {
  const std::optional<TimeMs> deadline = hub_.NextDeadline();
  if (deadline && *deadline <= Now() && !PausedOnLoop()) ApplyOnLoop(hub::Tick{});
}

void HubLoop::ApplyOnLoop(const hub::Event& event) {
  if (failed_) return;
  const TimeMs now = Now();
  hub_.Apply(event, now, effects_);
  if (recorder_ != nullptr) recorder_->Note(event, now, effects_);
  order_.Add(effects_);
  if (order_.MustCommit() && !commits_) BeginCommitOnLoop();  // a store that does not block
  CarryOutReadyOnLoop();
}

// --- what is kept, and what waits for it -----------------------------------------------------

void HubLoop::LookWhenKeptOnLoop(Look look) {
  looks_.push_back(std::move(look));
  ProceedOnLoop();
}

// While somebody waits for a look, nothing new may come that is to be kept first.
bool HubLoop::PausedOnLoop() const {
  return order_.committing() && (!looks_.empty() || order_.waiting() >= waiting_max_);
}

void HubLoop::ProceedOnLoop() {
  if (order_.committing() && !EndCommitOnLoop()) return WarnIfSlowOnLoop();
  if (order_.MustCommit()) BeginCommitOnLoop();
  if (order_.committing()) return;
  CarryOutReadyOnLoop();
  for (const Look& look : std::exchange(looks_, {})) {
    if (!failed_) {
      look.look();
    } else if (look.refused) {
      look.refused();
    }
  }
}

// False: it goes on.
bool HubLoop::EndCommitOnLoop() {
  std::optional<absl::Status> status;
  {
    MutexLock lock(mutex_);
    status = std::exchange(committed_, std::nullopt);
  }
  if (!status) return false;
  KeptOnLoop(*status);
  return true;
}

void HubLoop::BeginCommitOnLoop() {
  hub::Persist rows = order_.BeginCommit();
  if (!commits_) return KeptOnLoop(store_->Commit(rows));
  commits_->Begin(std::move(rows));
  slow_at_ = Now() + kSlowCommitMs;
}

// Once a commit. Not an effect: those wait.
void HubLoop::WarnIfSlowOnLoop() {
  if (!slow_at_ || Now() < *slow_at_) return;
  slow_at_.reset();
  spdlog::warn(
      "the store has not kept a commit for {} ms, and nobody is answered before it does: look at "
      "what else writes to the disk of the data directory, or of etcd, or move it to a quicker one",
      kSlowCommitMs);
}

void HubLoop::KeptOnLoop(const absl::Status& status) {
  slow_at_.reset();
  if (!status.ok()) return FailOnLoop(status);
  order_.EndCommit();
  CarryOutReadyOnLoop();
}

// What was decided since the last commit is not proven, and this hub knows of it: it ends. Another
// one starts from what was kept; workers repeat what was not answered.
void HubLoop::FailOnLoop(const absl::Status& status) {
  failed_ = true;
  order_.Drop();
  Stop();
  if (on_failure_) on_failure_(status);
}

void HubLoop::CarryOutReadyOnLoop() {
  order_.TakeReady(effects_);
  for (const hub::Effect& effect : effects_) {
    std::visit([this](const auto& one) { CarryOut(one); }, effect);
  }
  effects_.clear();
}

// Whatever is posted from now on is refused, so nothing can be added behind our back.
void HubLoop::EndEverythingOnLoop() {
  for (const auto& [id, sink] : std::exchange(sessions_, {})) sink->Close(ShuttingDown());
  for (const auto& [model, watcher] : std::exchange(watchers_, {})) watcher->Close(ShuttingDown());
  for (const auto& [call, handler] : std::exchange(calls_, {})) handler({call, ShuttingDown(), {}});
}

// --- effects ---------------------------------------------------------------------------------

void HubLoop::CarryOut(const hub::Reply& reply) { AnswerOnLoop(reply); }

void HubLoop::AnswerOnLoop(const hub::Reply& reply) {
  // Taking the handler out makes a second answer impossible.
  if (auto node = calls_.extract(reply.call)) node.mapped()(reply);
}

void HubLoop::CarryOut(const hub::Directive& directive) {
  const auto found = sessions_.find(directive.session);
  if (found != sessions_.end()) found->second->Deliver(directive);
}

void HubLoop::CarryOut(const hub::CloseSession& close) {
  if (auto node = sessions_.extract(close.session)) node.mapped()->Close(close.status);
}

void HubLoop::CarryOut(const hub::ModelChange& change) {
  const auto [begin, end] = watchers_.equal_range(change.model);
  for (auto it = begin; it != end; ++it) it->second->ChangeOnLoop(change);
}

void HubLoop::CarryOut(const hub::LogLine& line) {
  switch (line.level) {
    case hub::LogLine::Level::kDebug:
      return spdlog::debug("{}", line.text);
    case hub::LogLine::Level::kInfo:
      return spdlog::info("{}", line.text);
    case hub::LogLine::Level::kWarning:
      return spdlog::warn("{}", line.text);
  }
}

void HubLoop::CarryOut(const hub::PlanWanted& wanted) {
  const auto layouts = [this](const std::vector<Fingerprint>& by_rank) {
    hub::LayoutsByRank found;
    for (const Fingerprint& layout : by_rank) found.push_back(hub_.FindLayout(layout));
    return found;
  };
  planner_.Plan(wanted.plan, layouts(wanted.from), layouts(wanted.to));
}

}  // namespace tensorhub::rpc
