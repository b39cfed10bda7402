// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Sessions and leases (R8): who is there, which incarnation of it, and what its end means.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/remedy.h"
#include "server/core/adoption.h"
#include "server/core/state.h"
#include "server/core/withdrawal.h"

namespace tensorhub::hub {
namespace {

absl::Status CheckWords(const SessionOpened& event) {
  const WorkerKey& key = event.worker.key;
  if (const auto problem = NameProblem(key.model)) {
    return absl::InvalidArgumentError(absl::StrCat("the model's name ", *problem));
  }
  if (const auto problem = NameProblem(key.group)) {
    return absl::InvalidArgumentError(absl::StrCat("the group's name ", *problem));
  }
  if (event.world_size == 0 || event.world_size > kWorldSizeMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("world_size ", event.world_size, " is not in 1..", kWorldSizeMax));
  }
  if (key.rank >= event.world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", key.rank, " is not below world_size ", event.world_size));
  }
  if (event.worker.incarnation == 0) return absl::InvalidArgumentError("incarnation is 0");
  if (event.number == 0) return absl::InvalidArgumentError("session_number is 0");
  if (event.endpoint.size() > kEndpointBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("endpoint is longer than ", kEndpointBytesMax, " bytes"));
  }
  return absl::OkStatus();
}

// As far as both are known.
bool JoinedBefore(GroupEpoch one, GroupEpoch other) { return one != GroupEpoch{} && one < other; }

// R2: it is visible, as this hub knows without this worker's word.
bool IsPublished(const Model& model, const Holding& holding) {
  const Term term = holding.term.value_or(Term{});
  if (term.number > model.terms.now().number) return false;
  const auto listed = model.publications.find(holding.publication);
  if (listed != model.publications.end()) return listed->second.visible;
  return IsVisibleAs(model, holding.version, holding.publication) ||
         (holding.term && model.terms.Supersede(term.number, holding.version));
}

// R1: which bytes a version has, that it was published, and what is all of it (R7), is for its
// publishers to say.
Holding AsOfReader(Holding holding) {
  holding.published = holding.hashing = false;
  holding.visible = true;
  holding.digest = {};
  holding.sharding.full = false;
  return holding;
}

bool Lacks(const Documents& documents, const std::optional<Holding>& holding) {
  if (!holding) return false;
  return !documents.HasLayout(holding->layout) ||
         (holding->attachment && !documents.HasAttachment(holding->attachment));
}

}  // namespace

void Hub::State::Renew(SessionId session) {
  Worker* worker = FindSession(session);
  if (worker == nullptr) return;
  silence_.Hear(*worker);
  graph_.SetAbsent(*worker, worker->stalled_ms > 0);
}

void Hub::State::On(const Heartbeat& event) {
  Worker* worker = FindSession(event.session);
  if (worker == nullptr) return;
  NoteStall(*worker, event.stalled_ms);
  TellEpoch(*worker);
  GiveUpJoin(*worker, event.abandoned_join_op);
  graph_.Sample(*worker);
}

// R8: one that stands still lives, and holds what it holds, but serves nobody: so its lease is
// renewed, and it is absent.
void Hub::State::NoteStall(Worker& worker, TimeMs stalled_ms) {
  const bool before = worker.stalled_ms > 0;
  worker.stalled_ms = stalled_ms;
  graph_.SetAbsent(worker, stalled_ms > 0);
  if (before == (stalled_ms > 0)) return;
  Say(LogLine::Level::kWarning,
      before ? absl::StrCat(ToString(worker.id.key), " goes on")
             : absl::StrCat(ToString(worker.id.key), " stands still, since ", stalled_ms,
                            " ms: it lives, and serves nobody meanwhile; its own log says why"));
}

void Hub::State::On(const SessionOpened& opened) {
  silence_.HearSomebody();
  SessionOpened event = opened;
  const Adoption adoption{*this};
  adoption.ForgetEpochs(event);
  absl::Status status = adoption.Check(event);
  if (status.ok()) status = CheckOpening(event);
  if (status.ok() && RemembersEarlierLife(event)) BeginRecovery(started_ + options_.lease_ms);
  if (status.ok()) status = HearReader(event);
  if (!status.ok()) {
    const bool waits = RemedyOf(status) == Remedy::kAwaitAdoption;  // again and again
    Say(waits ? LogLine::Level::kDebug : LogLine::Level::kInfo,
        absl::StrCat("refused a session of ", ToString(event.worker.key), ": ",
                     std::string(status.message())));
    out_->push_back(CloseSession{event.session, std::move(status)});
    return;
  }
  Worker& worker = workers_[event.worker.key];
  const bool other =
      worker.id.incarnation != 0 && worker.id.incarnation != event.worker.incarnation;
  const bool replaces = other && worker.number != 0;  // of this life
  if (other) Replace(worker, event);
  Number(worker);
  const bool moved = worker.alive && worker.endpoint != event.endpoint;
  JoinEpoch(worker, event, replaces);
  Attach(worker, event);
  absentees_.Hear(event);
  absentees_.ComesBack(event.worker.key);
  if (worker.joined_epoch == GroupEpoch{}) worker.joined_epoch = JoinedEpoch(event);
  Send(worker, Welcome{options_.lease_ms, options_.heartbeat_ms, Lacks(documents_, event.holding),
                       worker.epoch_known, models_.at(event.worker.key.model).terms.now().number,
                       adoption.ComesFrom(event), options_.guard_reads});
  worker.epoch_sent = worker.epoch_known;
  const bool held = worker.reference.has_value();
  MergeReport(worker, event);
  if (!held && HoldsWhole(worker)) OfferReported(worker);
  if (moved) graph_.CallReadersAnew(worker);
  retention_.AskAgain(worker);
  retention_.ReleaseIfUnwanted(worker);
}

// R2, R9, the one place: who may not publish makes nothing visible by what it reports, and begins
// no term. While recovering, those who may publish can still say it; the report is made once more.
// After that the worker is nobody's source, and keeps what it has.
absl::Status Hub::State::HearReader(SessionOpened& event) {
  if (event.may_publish || !event.holding) return absl::OkStatus();
  event.holding = AsOfReader(*std::move(event.holding));
  const auto model = models_.find(event.worker.key.model);
  if (model != models_.end() && IsPublished(model->second, *event.holding)) return absl::OkStatus();
  if (recovering_) {
    return absl::UnavailableError(absl::StrCat("nobody who may publish ", event.worker.key.model,
                                               " has reported version ", event.holding->version,
                                               " since this server's start; connect again"));
  }
  Say(LogLine::Level::kWarning,
      absl::StrCat(ToString(event.worker.key), ": reported version ", event.holding->version,
                   " is not listed: it may not publish, and nobody who may has reported it"));
  event.holding.reset();
  return absl::OkStatus();
}

// A hub that is remembered has to wait for the others' reports, whoever came before this one. One
// with a store has waited, or knows that all have reported who were there: who comes later had
// ended.
bool Hub::State::RemembersEarlierLife(const SessionOpened& event) const {
  const Worker* worker = FindWorker(event.worker.key);
  const bool of_this_life = worker != nullptr && worker->id.incarnation == event.worker.incarnation;
  const bool young = now_ < started_ + options_.lease_ms;
  return event.resumed && !of_this_life && young && !recovering_ && !options_.recovering;
}

absl::Status Hub::State::CheckOpening(const SessionOpened& event) {
  if (absl::Status status = CheckWords(event); !status.ok()) return status;
  const Worker* worker = FindWorker(event.worker.key);
  if (worker != nullptr) {
    if (absl::Status status = CheckIncarnation(event, *worker); !status.ok()) return status;
  }
  const WorkerKey& key = event.worker.key;
  absl::Status status;
  ForEachLive({key.model, key.group}, [&](const Worker& other) {
    if (other.id.key == key || other.world_size == event.world_size || !status.ok()) return;
    // The worker may come again: a group of another size has to end first.
    status = absl::AlreadyExistsError(
        absl::StrCat("world_size ", event.world_size, " of ", ToString(key), " differs from ",
                     other.world_size, " of ", ToString(other.id.key),
                     "; wait until that one has ended, or take another group name"));
  });
  if (!status.ok()) return status;
  return CheckRoom(event);
}

// R8: of each worker, only the newest incarnation and its newest session speak. What an earlier
// life of the hub replaced may come back before its successor does, and must give way to it then.
absl::Status Hub::State::CheckIncarnation(const SessionOpened& event, const Worker& worker) {
  const Incarnation incarnation = event.worker.incarnation;
  const bool other = incarnation != worker.id.incarnation;
  const GroupEpoch joined_epoch = event.resumed && other ? JoinedEpoch(event) : GroupEpoch{};
  const auto& fenced = worker.fenced;
  if (std::find(fenced.begin(), fenced.end(), incarnation) != fenced.end() ||
      (worker.alive && JoinedBefore(joined_epoch, worker.joined_epoch))) {
    return absl::AbortedError(
        absl::StrCat(ToString(event.worker.key), " was replaced by a newer incarnation"));
  }
  if (JoinedBefore(worker.joined_epoch, joined_epoch)) return absl::OkStatus();
  if (!other) {
    if (event.number <= worker.number) {
      return absl::AbortedError(absl::StrCat("stale session ", event.number, "; session ",
                                             worker.number, " was opened before"));
    }
    // R9: a process has one key, and who has another is not that process.
    if (worker.alive && worker.read_key && event.read_key != worker.read_key) {
      return absl::PermissionDeniedError(
          absl::StrCat(ToString(event.worker.key),
                       " is there already, and opened its session with another key"));
    }
    if (event.world_size == worker.world_size) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("world_size ", event.world_size,
                                                   " differs from ", worker.world_size,
                                                   ", which this worker said before"));
  }
  if (worker.session == 0) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(
      ToString(event.worker.key), " is held by another worker (incarnation ", worker.id.incarnation,
      "); give each worker its own rank, or wait until that one ends"));
}

absl::Status Hub::State::CheckRoom(const SessionOpened& event) {
  const Worker* worker = FindWorker(event.worker.key);
  // One that is expected has its place until its grace is over, as others until their lease is.
  const bool has_place =
      (worker != nullptr && worker->alive) || absentees_.IsExpected(event.worker.key);
  if (!has_place && alive_ + absentees_.expected() >= options_.limits.workers) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this server has its ", options_.limits.workers, " workers already"));
  }
  if (!models_.contains(event.worker.key.model) && models_.size() >= options_.limits.models) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this server has its ", options_.limits.models, " models already"));
  }
  return absl::OkStatus();
}

// A new incarnation takes the rank over; nothing that the old one says counts from here on.
void Hub::State::Replace(Worker& worker, const SessionOpened& by) {
  const WorkerKey& key = by.worker.key;
  const absl::Status reason =
      absl::AbortedError(absl::StrCat(ToString(key), " was replaced by a newer incarnation"));
  if (worker.alive) EndWorker(worker, reason);
  GiveUpFetches(worker, reason);
  const bool restored = worker.number == 0;  // this life has not seen it
  std::deque<Incarnation> fenced = std::move(worker.fenced);
  // R8: the newer one may come back; of one that this life has not seen its report will say.
  const bool newer = by.resumed && (restored || JoinedBefore(JoinedEpoch(by), worker.joined_epoch));
  if (!newer) fenced.push_back(worker.id.incarnation);
  if (fenced.size() > kFencedMax) fenced.pop_front();
  dead_.erase({worker.died, worker.id.key});
  rows_.erase(worker.serial);
  worker = Worker{};
  worker.fenced = std::move(fenced);
}

// R9: assignments, seeds and counts rest on where a worker is, and a process does not move. What
// contradicts the first word of its life is not believed.
void Hub::State::Locate(Worker& worker, const SessionOpened& event) {
  if (!worker.alive) {
    worker.location = event.location;
    worker.place = PlaceOf(event.location);
    worker.stable = event.stable;
    return;
  }
  if (worker.location == event.location && worker.stable == event.stable) return;
  Say(LogLine::Level::kWarning,
      absl::StrCat(ToString(worker.id.key), ": it says now that it is at \"",
                   event.location.ToString(), "\"", event.stable ? "" : ", spot",
                   "; it counts as at \"", worker.location.ToString(), "\"",
                   worker.stable ? "" : ", spot", ", as it said first"));
}

void Hub::State::Attach(Worker& worker, const SessionOpened& event) {
  const bool joined = !worker.alive;
  CloseStream(worker, absl::AbortedError("a newer session of this worker took over"));
  dead_.erase({worker.died, event.worker.key});
  worker.id = event.worker;
  worker.world_size = event.world_size;
  Locate(worker, event);
  if (worker.offers_copies && !event.offers_copies) {
    NoCopiesBy(worker.id.key, "it makes none any more");
  }
  worker.offers_copies = event.offers_copies;
  worker.may_publish = event.may_publish;
  worker.knows_streams = event.knows_streams;
  worker.knows_resharding = event.knows_resharding;
  worker.knows_boxes = event.knows_boxes;
  worker.copy_of = event.copy_of;
  worker.endpoint = event.endpoint;
  worker.read_key = event.read_key;
  worker.alive = true;
  worker.session = event.session;
  worker.number = event.number;
  silence_.SetFellSilent(worker, false);
  silence_.Hear(worker);
  sessions_[event.session] = &worker;
  changes_.workers.insert(event.worker.key);
  worker.stalled_ms = 0;
  graph_.SetAbsent(worker, false);
  if (!joined) return;
  Service{*this}.Restore(worker);
  Service{*this}.FollowOwner(worker);
  ++alive_;
  worker.lease_timer = worker.lease_end;
  timers_.insert(Timer{worker.lease_timer, Timer::Kind::kLease, worker.serial, 0});
  NotifyWatchers(models_[worker.id.key.model], worker.id.key.model,
                 ModelChange::Kind::kWorkerJoined, 0, worker.id.key.group);
  const std::string where = worker.location.ToString();
  Say(LogLine::Level::kInfo,
      absl::StrCat(ToString(worker.id.key), " joined", where.empty() ? "" : ", at ", where));
}

// Closed is not dead: the lease runs on. One heartbeat may be late, or be on its way when a process
// is killed.
void Hub::State::On(const SessionClosed& event) {
  Worker* worker = FindSession(event.session);
  sessions_.erase(event.session);
  if (worker == nullptr || worker->session != event.session) return;
  worker->session = 0;
  silence_.SetFellSilent(*worker,
                         worker->alive && now_ - worker->heard > 2 * options_.heartbeat_ms);
  graph_.EndQuestion(*worker);
}

// Messages move only the lease's end; the timer follows when it fires.
void Hub::State::LeaseFired(Worker& worker) {
  if (!worker.alive) return;
  if (worker.lease_end > now_) {
    worker.lease_timer = worker.lease_end;
    timers_.insert(Timer{worker.lease_timer, Timer::Kind::kLease, worker.serial, 0});
    return;
  }
  if (silence_.Excuses(worker)) return;
  EndWorker(worker, AsOutage(absl::UnavailableError("lease expired"), Silence::FellSilent(worker)));
}

void Hub::State::On(const LeaveOp& op) {
  Worker* worker = Start(op, OpKind::kLeave);
  if (worker == nullptr) return;
  calls_.Finish(*worker, absl::OkStatus());
  CloseStream(*worker, absl::OkStatus());
  EndWorker(*worker, absl::AbortedError("its program said goodbye"));
}

// The worker is dead, replaced or gone: everything that rests on it ends (R8). Its row stays, so
// that a later session of the same incarnation can be told from a stale one.
void Hub::State::EndWorker(Worker& worker, const absl::Status& reason) {
  const GroupKey group{worker.id.key.model, worker.id.key.group};
  LeaveForming(worker);
  retention_.KeepersChanged();
  AbortOf(worker, reason);
  if (worker.op.state == OpRecord::State::kPending) calls_.ReplyRetryable(worker, reason);
  const bool held = HoldsWhole(worker) && worker.reference->sharding->full;
  if (IsOutage(reason) && (held || worker.withdrawn)) {
    absentees_.NoteAway(worker.id, held ? worker.reference->publication : PublicationId{},
                        worker.withdrawn);
  }
  RemoveReference(worker, /*may_return=*/IsOutage(reason));
  graph_.EndRead(worker);
  graph_.Forget(worker);
  CloseStream(worker, reason);
  timers_.erase(Timer{worker.lease_timer, Timer::Kind::kLease, worker.serial, 0});
  silence_.SetFellSilent(worker, false);
  absentees_.ExpectNoMore(worker);
  changes_.workers.insert(worker.id.key);
  worker.alive = false;
  --alive_;
  worker.died = now_;
  dead_.insert({now_, worker.id.key});
  NotifyWatchers(models_[group.model], group.model, ModelChange::Kind::kWorkerLeft, 0, group.group);
  // A worker that leaves says so, or its successor does.
  const bool expected = absl::IsAborted(reason);
  Say(expected ? LogLine::Level::kInfo : LogLine::Level::kWarning,
      absl::StrCat(ToString(worker.id.key), " left: ", std::string(reason.message())));
  NoCopiesBy(worker.id.key, std::string(reason.message()));
}

void Hub::State::CloseStream(Worker& worker, const absl::Status& reason) {
  if (worker.session == 0) return;
  sessions_.erase(worker.session);
  out_->push_back(CloseSession{std::exchange(worker.session, 0), reason});
}

void Hub::State::ForgetOldestDead() {
  // R8: during the grace, those that the restored rows name may all come back.
  const size_t limit = options_.limits.dead_workers + (recovering_ ? restored_ : 0);
  while (dead_.size() > limit) {
    const WorkerKey key = dead_.begin()->second;
    const std::string why = absl::StrCat(ToString(key), " is gone");
    GiveUpFetches(workers_.at(key), absl::AbortedError(why));
    // R2: a later worker of this rank will not be known to replace it.
    BeginEpoch({key.model, key.group}, NewEpoch(), why);
    dead_.erase(dead_.begin());
    rows_.erase(workers_.at(key).serial);
    workers_.erase(key);
    const auto next = workers_.lower_bound({key.model, key.group, 0});
    const bool empty =
        next == workers_.end() || next->first.model != key.model || next->first.group != key.group;
    if (!empty) continue;
    changes_.groups.insert({key.model, key.group});
    groups_.erase({key.model, key.group});
  }
}

}  // namespace tensorhub::hub
