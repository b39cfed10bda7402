// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The frame of every event: renew the lease that it proves, let time do its part, apply it, then
// settle what it caused for others.

#include "server/core/hub.h"

#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/invariants.h"
#include "server/core/looks.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

template <typename E>
concept NamesSession = requires(const E& event) {
  event.session;
};

// What a worker says on its session. That a session has ended is not its word: it may be dead.
template <typename E>
constexpr bool kIsItsWord = NamesSession<E> && !std::is_same_v<E, SessionClosed>;

// What a part of the hub takes is its own; on the rest the hub decides.
template <typename Part, typename E>
concept Takes = requires(Part& part, const E& event) {
  part.On(event);
};

}  // namespace

Hub::State::State(const HubOptions& options, TimeMs now)
    : options_(options),
      started_(now),
      random_(options.seed),
      calls_(*this),
      absentees_(options_, *this, *this, *this),
      silence_(options_, *this, *this),
      choice_(*this, absentees_),
      waits_(options_, *this, *this),
      documents_(options.limits.layouts, options.limits.attachments),
      plans_(documents_),
      graph_(options_, *this, *this, plans_),
      retention_(options_, *this, *this, *this, *this, calls_, choice_),
      durable_(options.durable) {
  now_ = now;
  Restore();
  if (options_.recovering) BeginRecovery(now + options_.lease_ms);
  retention_.SetPinTimer();
}

void Hub::State::Apply(const Event& event, TimeMs now, Effects& effects) {
  now_ = now;
  out_ = &effects;
  const size_t first = effects.size();
  std::visit(
      [this](const auto& body) {
        if constexpr (kIsItsWord<std::decay_t<decltype(body)>>) Renew(body.session);
      },
      event);
  FireTimers();
  TakeFromGraph();
  // R7: who has been heard again is a keeper only if it does not say now that it holds nothing.
  const bool keepers_changed = retention_.TakeChanged();
  DrainInternalEvents();
  std::visit(
      [this](const auto& body) {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (Takes<ReadGraph, Body>) {
          graph_.On(body);
        } else if constexpr (Takes<Retention, Body>) {
          retention_.On(body);
        } else if constexpr (Takes<WaitCalls, Body>) {
          waits_.On(body);
        } else {
          On(body);
        }
      },
      event);
  if (keepers_changed) retention_.KeepersChanged();
  DrainInternalEvents();
  if (HaveAllReported()) EndRecovery();
  DrainInternalEvents();
  ForgetOldestDead();
  DrainInternalEvents();
  PersistChanges(first);
  out_ = nullptr;
}

std::optional<TimeMs> Hub::State::NextDeadline() const {
  if (timers_.empty()) return std::nullopt;
  return timers_.begin()->at;
}

// A hub that could not run in time (stopped, moved, swapped out) heard nobody meanwhile.
void Hub::State::FireTimers() {
  const bool was_away = !timers_.empty() && now_ - timers_.begin()->at > options_.heartbeat_ms / 2;
  if (was_away) {
    silence_.Forgive(
        absl::StrCat("this server did not run for at least ", now_ - timers_.begin()->at, " ms"));
  }
  while (!timers_.empty() && timers_.begin()->at <= now_) {
    const Timer timer = *timers_.begin();
    timers_.erase(timers_.begin());
    Fire(timer);
  }
}

void Hub::State::Fire(const Timer& timer) {
  Worker* worker = FindRow(timer.worker);
  switch (timer.kind) {
    case Timer::Kind::kGrace:
      return EndRecovery();
    case Timer::Kind::kLease:
      if (worker != nullptr) LeaseFired(*worker);
      return;
    case Timer::Kind::kOperation:
      if (worker == nullptr) return;
      return OperationDeadline(*worker);
    case Timer::Kind::kDrain:
      if (worker != nullptr) drained_.insert(worker);
      return;
    case Timer::Kind::kQuestion:
      if (worker != nullptr) graph_.EndQuestion(*worker);
      return;
    case Timer::Kind::kForget:
      if (worker != nullptr) graph_.Forget(*worker);
      return;
    case Timer::Kind::kPins:
      return retention_.EndPins();
    case Timer::Kind::kAway:
      return absentees_.EndAway();
    case Timer::Kind::kWait:
      return waits_.Expire(timer.wait);
  }
}

void Hub::State::OperationDeadline(Worker& worker) {
  if (IsPending(worker, OpKind::kPublish)) return PublishDeadline(worker);
  if (IsPending(worker, OpKind::kUnpublish)) return Depart(retention_.KeeperDeadline(worker));
  JoinDeadline(worker);
}

// Terminates: every round begins a drain or ends one, gives a reader a source, lets it wait, or
// ends a transaction, or looks at a source that got a free place, which a cut takes and frees
// nowhere; only a drain's and a transaction's end make more orphans, and those are finite. (A
// reader that got a source may be a new one for those that wait, which is the same for each once.)
void Hub::State::DrainInternalEvents() {
  for (;;) {
    TakeFromGraph();
    graph_.FlushIndex();
    joiners_due_ = joiners_due_ && !joiners_.empty() && !recovering_;
    const bool reads = graph_.HasOrphans() || graph_.MayCut();
    const bool quiet = drained_.empty() && !reads && newly_visible_.empty();
    if (quiet && !retention_.changed() && !joiners_due_) return;
    if (joiners_due_) {
      SettleJoiners();
    } else if (retention_.changed()) {
      retention_.BeginRound();
      LetGo();
    } else if (!drained_.empty()) {
      Worker& worker = **drained_.begin();
      drained_.erase(drained_.begin());
      EndDrain(worker);
    } else if (graph_.HasOrphans()) {
      graph_.AssignOrAbort();
    } else if (graph_.MayCut()) {
      graph_.CutChain();
    } else {
      const std::string model = *newly_visible_.begin();
      newly_visible_.erase(newly_visible_.begin());
      if (recovering_) continue;
      waits_.Wake(model);
      for (auto it = groups_.lower_bound({model, ""});
           it != groups_.end() && it->first.model == model; ++it) {
        Resolve(it->first, it->second);
      }
    }
  }
}

void Hub::State::TakeFromGraph() {
  while (const std::optional<ReadGraph::Stranded> stranded = graph_.TakeStranded()) {
    const WorkerKey& key = stranded->reader->id.key;
    stranded->alone ? AbortOf(*stranded->reader, stranded->why)
                    : Abort({key.model, key.group}, stranded->why);
  }
  drained_.merge(graph_.TakeDrained());
  if (graph_.TakeAbsenceChanged()) retention_.KeepersChanged();
}

void Hub::State::On(const CallCancelled& event) {
  waits_.Forget(event.call);
  Worker* worker = calls_.HangUp(event.call);
  if (worker == nullptr || !IsPending(*worker, OpKind::kJoinFetch)) return;
  LeaveForming(*worker);
  calls_.ReplyRetryable(*worker, absl::CancelledError("the caller hung up"));
}

void Hub::State::NotifyWatchers(Model& model, const std::string& name, ModelChange::Kind kind,
                                VersionNumber version, const std::string& group) {
  out_->push_back(ModelChange{name, ++model.revision, kind, version, group});
}

// --- the public face ----------------------------------------------------------------------------

Hub::Hub(const HubOptions& options, TimeMs now) : state_(std::make_unique<State>(options, now)) {}
Hub::~Hub() = default;
void Hub::Apply(const Event& event, TimeMs now, Effects& effects) {
  state_->Apply(event, now, effects);
}
std::optional<TimeMs> Hub::NextDeadline() const { return state_->NextDeadline(); }
std::vector<ModelView> Hub::Models(const std::string& after, size_t limit) const {
  return State::Looks{*state_}.Models(after, limit);
}
bool Hub::HasModel(const std::string& model) const { return State::Looks{*state_}.HasModel(model); }
std::optional<VersionNumber> Hub::Latest(const std::string& model) const {
  return State::Looks{*state_}.Latest(model);
}
std::vector<VersionView> Hub::Versions(const std::string& model) const {
  return State::Looks{*state_}.Versions(model);
}
std::vector<ReferenceView> Hub::References(const std::string& model,
                                           std::optional<VersionNumber> version) const {
  return State::Looks{*state_}.References(model, version);
}
std::vector<WorkerView> Hub::Workers(TimeMs now) const {
  return State::Looks{*state_}.Workers(now);
}
std::vector<WorkerView> Hub::Workers(const WorkerQuery& query, TimeMs now) const {
  return State::Looks{*state_}.Workers(query, now);
}
ReplicationView Hub::Replication(const std::string& model, VersionNumber version, size_t limit,
                                 TimeMs now) const {
  return State::Looks{*state_}.Replication(model, version, limit, now);
}
FleetView Hub::Fleet(TimeMs now) const { return State::Looks{*state_}.Fleet(now); }
std::vector<TransferView> Hub::Transfers(TimeMs now) const {
  return State::Looks{*state_}.Transfers(now);
}
std::vector<FetchView> Hub::Fetches(const std::string& model, std::optional<VersionNumber> version,
                                    const std::string& group) const {
  return State::Looks{*state_}.Fetches(model, version, group);
}
StatusView Hub::Status() const { return State::Looks{*state_}.Status(); }
uint64_t Hub::Revision(const std::string& model) const {
  return State::Looks{*state_}.Revision(model);
}
std::shared_ptr<const Layout> Hub::FindLayout(const Fingerprint& fingerprint) const {
  return state_->documents().FindLayout(fingerprint);
}
std::shared_ptr<const std::string> Hub::FindAttachment(const Fingerprint& fingerprint) const {
  return state_->documents().FindAttachment(fingerprint);
}
void Hub::CheckInvariants() const { State::Invariants{*state_}.Check(); }

}  // namespace tensorhub::hub
