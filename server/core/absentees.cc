// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/absentees.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace tensorhub::hub {
namespace {

WorkerRow KeptOf(const Expected& expected) {
  return {expected.incarnation, {}, expected.withdrawn};
}
WorkerRow KeptOf(const Away& away) { return {away.incarnation, away.publication, away.withdrawn}; }

}  // namespace

void Absentees::Restore(const std::map<WorkerKey, WorkerRow>& rows) {
  for (const auto& [key, row] : rows) {
    if (row.away) {
      away_[key] = {row.incarnation, row.away, turn_.now() + options_.cut_off_ms, row.withdrawn};
    } else {
      expected_[key] = {row.incarnation, std::nullopt, row.withdrawn};
    }
  }
  SetAwayTimer();
  // A store of before that has no such rows: for those who are there now they would be too few.
  names_all_ = !options_.recovering || !rows.empty();
}

void Absentees::Hear(const SessionOpened& event) {
  const auto it = expected_.find(event.worker.key);
  if (it == expected_.end()) return;
  if (it->second.incarnation == event.worker.incarnation) {
    it->second.repeats = event.repeats;
  } else if (!event.resumed) {
    turn_.changes().workers.insert(it->first);
    expected_.erase(it);
  }
}

void Absentees::ExpectNoMore(const Worker& worker) {
  const auto it = expected_.find(worker.id.key);
  if (it == expected_.end() || it->second.incarnation != worker.id.incarnation) return;
  turn_.changes().workers.insert(it->first);
  expected_.erase(it);
}

// Not as long as the call is to be carried out again, for want of a document say. A read whose
// version nobody has reported yet repeats it too, and has reported the fetch.
bool Absentees::HasSaidAll(const WorkerKey& key, const Expected& expected) const {
  const Worker* worker = roster_.FindWorker(key);
  const bool back = worker != nullptr && worker->id.incarnation == expected.incarnation;
  if (!back || !expected.repeats) return false;
  const OpRecord& op = worker->op;
  const bool heard = op.state != OpRecord::State::kOpen || op.kind == OpKind::kBeginRead;
  return *expected.repeats == 0 || (op.id >= *expected.repeats && heard);
}

bool Absentees::HaveAllSaid() {
  if (!names_all_) return false;
  while (!expected_.empty() && HasSaidAll(expected_.begin()->first, expected_.begin()->second)) {
    turn_.changes().workers.insert(expected_.begin()->first);
    expected_.erase(expected_.begin());
  }
  return expected_.empty();
}

void Absentees::EndGrace() {
  for (const auto& [key, expected] : std::exchange(expected_, {})) {
    turn_.changes().workers.insert(key);
    NoteUnaccounted(key, expected);
    turn_.Say(LogLine::Level::kInfo,
              absl::StrCat(ToString(key), " did not come back after the server's restart"));
  }
  if (std::exchange(names_all_, true)) return;
  for (const auto& [key, worker] : roster_.workers()) turn_.changes().workers.insert(key);
}

// The worker was there before the restart, and has not come back. What it held is not known; if
// nobody holds the latest version, it may have been that.
void Absentees::NoteUnaccounted(const WorkerKey& key, const Expected& expected) {
  const Worker* other = roster_.FindWorker(key);
  if (other != nullptr && other->alive) return;
  PublicationId lost;
  const Model* model = catalog_.FindModel(key.model);
  if (model != nullptr && model->latest) {
    const PublicationId& latest = model->visible.at(*model->latest);
    const Publication* held = catalog_.FindPublication(key.model, latest);
    if (held == nullptr || !held->listed()) lost = latest;
  }
  if (lost || expected.withdrawn) NoteAway({key, expected.incarnation}, lost, expected.withdrawn);
}

// An outage lasts no longer than a switch takes to restart: who is away for longer is dead.
void Absentees::NoteAway(const WorkerIdentity& worker, const PublicationId& publication,
                         bool withdrawn) {
  turn_.changes().workers.insert(worker.key);
  if (away_.size() >= options_.limits.dead_workers) {  // R9
    if (withdrawn) {
      turn_.Say(LogLine::Level::kWarning,
                absl::StrCat("too many workers are away: that ", ToString(worker.key),
                             " is out of service is forgotten; drain it again when it comes back"));
    }
    return;
  }
  const TimeMs until = turn_.now() + options_.cut_off_ms;
  away_[worker.key] = {worker.incarnation, publication, until, withdrawn};
  SetAwayTimer();
}

void Absentees::ComesBack(const WorkerKey& key) {
  if (away_.erase(key) > 0) turn_.changes().workers.insert(key);
}

void Absentees::SetAwayTimer() {
  if (away_timer_ || away_.empty()) return;
  const auto first = std::min_element(
      away_.begin(), away_.end(),
      [](const auto& one, const auto& other) { return one.second.until < other.second.until; });
  away_timer_ = first->second.until;
  turn_.SetTimer(Timer{*away_timer_, Timer::Kind::kAway, 0, 0});
}

void Absentees::EndAway() {
  away_timer_.reset();
  for (auto it = away_.begin(); it != away_.end();) {
    const bool over = it->second.until <= turn_.now();
    if (over) turn_.changes().workers.insert(it->first);
    it = over ? away_.erase(it) : std::next(it);
  }
  SetAwayTimer();
}

const WorkerKey* Absentees::MayReturn(const std::string& model,
                                      const PublicationId& publication) const {
  for (auto it = away_.lower_bound({model, "", 0}); it != away_.end(); ++it) {
    if (it->first.model != model) return nullptr;
    if (it->second.publication == publication) return &it->first;
  }
  return nullptr;
}

bool Absentees::IsWithdrawn(const WorkerIdentity& worker) const {
  const auto told = [&worker](const auto& rows) {
    const auto row = rows.find(worker.key);
    return row != rows.end() && row->second.incarnation == worker.incarnation &&
           row->second.withdrawn;
  };
  return told(expected_) || told(away_);
}

void Absentees::SetWithdrawn(const WorkerIdentity& worker, bool withdrawn) {
  const auto expected = expected_.find(worker.key);
  const bool still =
      expected != expected_.end() && expected->second.incarnation == worker.incarnation;
  if (!still) return;
  expected->second.withdrawn = withdrawn;
  turn_.changes().workers.insert(worker.key);
}

bool Absentees::TakeOrderBack(const WorkerKey& key) {
  const auto take_back = [&key](auto& rows) {
    const auto row = rows.find(key);
    return row != rows.end() && std::exchange(row->second.withdrawn, false);
  };
  const bool expected = take_back(expected_);
  const bool away = take_back(away_);
  if (expected || away) turn_.changes().workers.insert(key);
  // A worker that held nothing was waited for because of the order alone.
  if (away && !away_.at(key).publication) ComesBack(key);
  return expected || away;
}

std::optional<WorkerRow> Absentees::RowOf(const WorkerKey& key) const {
  if (!names_all_) return std::nullopt;
  const auto expected = expected_.find(key);
  if (expected != expected_.end()) return KeptOf(expected->second);
  const auto away = away_.find(key);
  if (away != away_.end()) return KeptOf(away->second);
  const Worker* worker = roster_.FindWorker(key);
  if (worker == nullptr || !worker->alive) return std::nullopt;
  return WorkerRow{worker->id.incarnation, {}, worker->withdrawn};
}

void Absentees::CheckInvariants() const {
  TH_CHECK(turn_.recovering() || (expected_.empty() && names_all_));
  for (const auto& [key, away] : away_) {
    const Worker* worker = roster_.FindWorker(key);
    TH_CHECK((worker == nullptr || !worker->alive) && !expected_.contains(key));
  }
  const size_t away_max = std::max(options_.limits.dead_workers, options_.durable.workers.size());
  TH_CHECK(away_.size() <= away_max && (away_.empty() || away_timer_));
  for (const auto& [key, away] : away_) TH_CHECK(*away_timer_ <= away.until);
  TH_CHECK(!away_timer_ || turn_.HasTimer(Timer{*away_timer_, Timer::Kind::kAway, 0, 0}));
}

void Absentees::AddRows(std::map<WorkerKey, WorkerRow>& rows) const {
  for (const auto& [key, expected] : expected_) rows[key] = KeptOf(expected);
  if (!names_all_) return;
  for (const auto& [key, away] : away_) rows[key] = KeptOf(away);
}

}  // namespace tensorhub::hub
