// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/worker_agent/core/fake_hub.h"

#include <algorithm>
#include <utility>

#include "common/remedy.h"

namespace tensorhub::agent::testing {

// --- calls and answers ---------------------------------------------------------------------------

// Idempotent through (worker, op), as the real one.
void FakeHub::OnCall(size_t worker, const Call& call) {
  calls.emplace_back(worker, call);
  schedule_.Soon(kNobody, [this, worker, call] {
    if (away_) {
      schedule_.Soon(worker, [this, worker, op = call.op] {
        machines_.Deliver(worker, CallReply{op, absl::UnavailableError("no hub"), {}});
      });
      return;
    }
    const OpKey key{worker, call.op};
    if (const auto known = answers_.find(key); known != answers_.end()) {
      return Reply(worker, call.op, known->second.status, known->second.payload);
    }
    if (!pending_.insert(key).second) return;
    if (script && script(worker, call)) return;
    publishing_.erase(worker);
    if (std::holds_alternative<protocol::Publish>(call.request)) publishing_.insert(worker);
    std::visit([&](const auto& request) { On(worker, call.op, request); }, call.request);
  });
}

void FakeHub::Reply(size_t worker, OpId op, const absl::Status& status,
                    decltype(CallReply::payload) payload) {
  const CallReply reply{op, status, payload};
  pending_.erase({worker, op});
  answers_[{worker, op}] = reply;
  schedule_.Soon(worker, [this, worker, reply] {
    CallReply arrived = reply;
    if (lose_answers) return;
    if (away_) arrived = {reply.op, absl::UnavailableError("connection lost"), {}};
    machines_.Deliver(worker, arrived);
  });
}

void FakeHub::Direct(size_t worker, const Event& event) {
  Event directive = event;
  if (auto* assign = std::get_if<protocol::Assign>(&directive); assign != nullptr && signs) {
    assign->capability =
        Sign(CapabilityKey::Guessable(assign->source.incarnation),
             {Network::IncarnationOf(worker), assign->source.incarnation, assign->publication,
              assign->generation, assign->ranges ? ReadUse::kRanges : ReadUse::kChunks});
  }
  TimeUs& last = last_directive_[worker];
  last = std::max(last, schedule_.now() + schedule_.Delay());
  schedule_.At(last, worker, [this, worker, directive] {
    if (!away_) machines_.Deliver(worker, directive);
  });
}

size_t FakeHub::CountCalls(size_t worker, size_t request_index) const {
  return static_cast<size_t>(std::count_if(calls.begin(), calls.end(), [&](const auto& entry) {
    return entry.first == worker && entry.second.request.index() == request_index;
  }));
}

std::optional<size_t> FakeHub::SourceOf(size_t reader) const {
  const auto read = reads_.find(reader);
  return read == reads_.end() ? std::nullopt : read->second.source;
}

// --- publish and unpublish -----------------------------------------------------------------------

void FakeHub::On(size_t worker, OpId op, const protocol::Publish& call) {
  if (!know_documents) {
    return Reply(
        worker, op,
        WithRemedy(absl::FailedPreconditionError("unknown layout; put it"), Remedy::kPutDocuments));
  }
  Forget(worker);
  holdings_[worker] = {call.version, call.generation, true, false};
  Reply(worker, op, absl::OkStatus(),
        PublishReply{PublicationOf(call.version), chunk_bytes_, visible_at_once});
  PlaceWaiting();
}

void FakeHub::AllowVisible(VersionNumber version) {
  for (const auto& [worker, holding] : holdings_) {
    if (holding.version == version) Direct(worker, protocol::Visible{PublicationOf(version)});
  }
}

void FakeHub::On(size_t worker, OpId op, const protocol::Unpublish& call) {
  const auto holding = holdings_.find(worker);
  if (holding == holdings_.end() || holding->second.generation != call.generation) {
    return AnswerUnpublish(worker, op, call.then_read);
  }
  holding->second.draining = true;
  unpublishing_[worker] = {op, call.then_read, false};
  Redirect(worker);
  CheckDrained(worker);
  schedule_.At(schedule_.now() + call.drain_ms * 1000, kNobody, [this, worker, op] {
    const auto open = unpublishing_.find(worker);
    if (open == unpublishing_.end() || open->second.op != op) return;
    open->second.timed_out = true;
    CheckDrained(worker);
  });
}

void FakeHub::Redirect(size_t source) {
  std::set<size_t> readers;
  for (const auto& [reader, assignment] : readers_[source]) readers.insert(reader);
  for (const size_t reader : readers) {
    const auto read = reads_.find(reader);
    if (read != reads_.end() && read->second.source == source) Place(reader);
  }
}

void FakeHub::CheckDrained(size_t source) {
  const auto open = unpublishing_.find(source);
  if (open == unpublishing_.end()) return;
  if (!readers_[source].empty() && !open->second.timed_out) return;
  const Unpublishing over = open->second;
  unpublishing_.erase(open);
  Forget(source);
  AnswerUnpublish(source, over.op, over.then_read);
}

void FakeHub::AnswerUnpublish(size_t worker, OpId op,
                              const std::optional<protocol::BeginRead>& then_read) {
  const bool begun = knows_then_read && then_read && Begin(worker, *then_read);
  Reply(worker, op, absl::OkStatus(), UnpublishReply{true, 0, begun});
}

void FakeHub::Forget(size_t worker) {
  holdings_.erase(worker);
  for (auto& [reader, read] : reads_) {
    if (read.source == worker) read.source.reset();
  }
  readers_.erase(worker);
}

// --- fetch ---------------------------------------------------------------------------------------

void FakeHub::On(size_t worker, OpId op, const protocol::JoinFetch& call) {
  std::optional<VersionNumber> version;
  for (const auto& [holder, holding] : holdings_) {
    const bool wanted = call.selector.kind != VersionSelector::Kind::kExact ||
                        holding.version == call.selector.version;
    if (!wanted || !holding.complete || holding.draining) continue;
    version = std::max(version.value_or(0), holding.version);
  }
  if (!version) return Reply(worker, op, absl::NotFoundError("nobody holds such a version"));
  Read& read = reads_[worker] = {};
  read.transaction = {11, next_id_++};
  read.version = *version;
  const auto own = holdings_.find(worker);
  FetchDecision decision;
  decision.transaction = read.transaction;
  decision.publication = PublicationOf(*version);
  decision.version = *version;
  decision.world_size = 1;
  decision.chunk_bytes = chunk_bytes_;
  decision.already_held = own != holdings_.end() && own->second.version == *version;
  Reply(worker, op, absl::OkStatus(), decision);
}

void FakeHub::On(size_t worker, OpId op, const protocol::BeginRead& call) {
  const bool begun = Begin(worker, call);
  Reply(worker, op, begun ? absl::OkStatus() : absl::AbortedError("the fetch was aborted"));
}

bool FakeHub::Begin(size_t worker, const protocol::BeginRead& call) {
  const auto read = reads_.find(worker);
  if (read == reads_.end() || read->second.transaction != call.transaction) return false;
  Forget(worker);
  holdings_[worker] = {read->second.version, call.generation, false, false};
  read->second.begun = true;
  Place(worker);
  return true;
}

void FakeHub::On(size_t worker, OpId op, const protocol::FinishRead& call) {
  const auto read = reads_.find(worker);
  const bool known = read != reads_.end() && read->second.transaction == call.transaction;
  const VersionNumber version = known ? read->second.version : 0;
  if (known) {
    Release(worker, kAllAssignments);
    reads_.erase(worker);
  }
  if (!known || !call.result.ok()) {
    const auto committed = committed_.find(call.transaction);
    if (committed != committed_.end()) {
      return Reply(worker, op, absl::OkStatus(), FinishReadReply{committed->second});
    }
    const auto holding = holdings_.find(worker);
    if (holding != holdings_.end() && !holding->second.complete) Forget(worker);
    PlaceWaiting();  // nobody waits for its word any more
    const absl::Status lost = absl::AbortedError("the fetch was aborted");
    return Reply(worker, op, known ? call.result : lost, FinishReadReply{version});
  }
  holdings_[worker].complete = true;
  committed_[call.transaction] = version;
  Reply(worker, op, absl::OkStatus(), FinishReadReply{version});
  PlaceWaiting();
}

void FakeHub::On(size_t worker, OpId op, const protocol::Leave&) {
  Forget(worker);
  Reply(worker, op, absl::OkStatus());
}

void FakeHub::Abort(size_t reader, const absl::Status& reason) {
  const auto read = reads_.find(reader);
  if (read != reads_.end()) Direct(reader, protocol::AbortRead{read->second.transaction, reason});
}

// R5: the source graph has no cycle.
bool FakeHub::DownstreamOf(size_t worker, size_t reader) const {
  std::set<size_t> seen;
  for (std::optional<size_t> at = worker; at && seen.insert(*at).second; at = SourceOf(*at)) {
    if (*at == reader) return true;
  }
  return false;
}

bool FakeHub::MayServe(size_t source, size_t reader) const {
  const auto holding = holdings_.find(source);
  const Read& read = reads_.at(reader);
  return holding != holdings_.end() && holding->second.version == read.version &&
         !holding->second.draining && !read.excluded.contains(source) &&
         !DownstreamOf(source, reader);
}

void FakeHub::Place(size_t reader) {
  std::vector<size_t> candidates;
  for (const auto& [source, holding] : holdings_) {
    if (MayServe(source, reader)) candidates.push_back(source);
  }
  const auto preferred = choose ? choose(reader) : std::nullopt;
  if (preferred && MayServe(*preferred, reader)) {
    Assign(reader, *preferred);
  } else if (!candidates.empty()) {
    Assign(reader, candidates[schedule_.random.Below(candidates.size())]);
  } else if (!reads_.at(reader).source) {
    Abort(reader, AsOutage(absl::UnavailableError("no source is left"), reads_.at(reader).outage));
  }
}

// Readers that wait for a source.
void FakeHub::PlaceWaiting() {
  for (const auto& [reader, read] : reads_) {
    if (read.begun && !read.source) Place(reader);
  }
}

protocol::Assign FakeHub::AssignmentOf(size_t reader, size_t source) {
  const Read& read = reads_.at(reader);
  protocol::Assign assign;
  assign.transaction = read.transaction;
  assign.assignment = next_id_++;
  readers_[source].insert({reader, assign.assignment});
  assign.source.key = {"m", "g" + std::to_string(source), 0};
  assign.source.incarnation = Network::IncarnationOf(source);
  const auto at = moved.find(source);
  assign.endpoint = at == moved.end() ? Network::EndpointOf(source) : at->second;
  assign.generation = holdings_.at(source).generation;
  assign.publication = PublicationOf(read.version);
  assign.tier = tier;
  assign.progress_ms = progress_ms;
  assign.digest = digest_of_assigned;
  assign.plan = read.plan;
  return assign;
}

void FakeHub::Assign(size_t reader, size_t source) {
  Read& read = reads_.at(reader);
  if (!std::exchange(read.streams, {}).empty()) ++read.plan;
  const protocol::Assign assign = AssignmentOf(reader, source);
  read.source = source;
  read.assignment = assign.assignment;
  Direct(reader, assign);
}

void FakeHub::AssignSeveral(size_t reader, const std::vector<size_t>& sources) {
  Read& read = reads_.at(reader);
  ++read.plan;
  read.source.reset();
  read.streams.clear();
  for (uint32_t part = 0; const size_t source : sources) {
    protocol::Assign assign = AssignmentOf(reader, source);
    assign.part = part++;
    assign.ranges = true;
    read.streams[assign.assignment] = source;
    Direct(reader, assign);
  }
}

void FakeHub::AssignParts(size_t reader, const std::vector<size_t>& sources, ReadParts parts) {
  Read& read = reads_.at(reader);
  ++read.plan;
  read.source.reset();
  read.streams.clear();
  parts_ = std::move(parts);
  protocol::SourceSharding sharding{read.transaction, read.plan, 8, chunk_bytes_, {}};
  for (const size_t source : sources) {
    sharding.parts.push_back({static_cast<Rank>(source), {9, source + 1}});
  }
  Direct(reader, sharding);
  for (uint32_t part = 0; const size_t source : sources) AssignPart(reader, part++, source);
}

void FakeHub::AssignPart(size_t reader, uint32_t part, size_t source) {
  protocol::Assign assign = AssignmentOf(reader, source);
  assign.part = part;
  assign.ranges = assign.parts = true;
  reads_.at(reader).streams[assign.assignment] = source;
  Direct(reader, assign);
}

void FakeHub::OnPlanWanted(size_t reader, const MakeReadPlan& wanted) {
  ++plans_wanted;
  ReadPlanned planned{wanted.token, plan_answer};
  if (plan_answer.ok()) planned.parts = parts_;
  schedule_.Soon(reader, [this, reader, planned] { machines_.Deliver(reader, planned); });
}

void FakeHub::EndStream(size_t reader, size_t source) {
  const Read& read = reads_.at(reader);
  for (const auto& [assignment, at] : read.streams) {
    if (at == source) Direct(reader, protocol::EndStream{read.transaction, assignment});
  }
}

// A released assignment, and of a reader of one source those before it, no longer count at their
// sources.
void FakeHub::Release(size_t reader, AssignmentNumber assignment) {
  const auto read = reads_.find(reader);
  const bool several = read != reads_.end() && !read->second.streams.empty();
  if (several) read->second.streams.erase(assignment);
  std::vector<size_t> touched;
  for (auto& [source, readers] : readers_) {
    std::erase_if(readers, [&](const auto& entry) {
      return entry.first == reader &&
             (several ? entry.second == assignment : entry.second <= assignment);
    });
    touched.push_back(source);
  }
  for (const size_t source : touched) CheckDrained(source);
}

void FakeHub::OnSaid(size_t worker, const SessionSend& effect) {
  said.emplace_back(worker, effect.message);
  if (away_) return;
  const auto* released = std::get_if<protocol::SourceReleased>(&effect.message);
  if (released != nullptr) return Release(worker, released->assignment);
  if (const auto* probed = std::get_if<protocol::ProbeAnswer>(&effect.message)) {
    const auto holding = holdings_.find(worker);
    if (probed->holds && probed->verified) Pardon(worker);
    if (probed->holds || holding == holdings_.end()) return;
    if (holding->second.generation != probed->generation) return;
    Forget(worker);
    return PlaceWaiting();
  }
  if (const auto* failed = std::get_if<protocol::SourceFailed>(&effect.message)) {
    OnFailed(worker, *failed);
  }
}

void FakeHub::OnFailed(size_t worker, const protocol::SourceFailed& failed) {
  const auto read = reads_.find(worker);
  if (read == reads_.end()) return;
  const auto stream = read->second.streams.find(failed.assignment);
  const bool of_several = stream != read->second.streams.end();
  if (!of_several && read->second.assignment != failed.assignment) return;
  const std::optional<size_t> source =
      of_several ? std::optional(stream->second) : std::exchange(read->second.source, std::nullopt);
  if (source) read->second.excluded.insert(*source);
  read->second.outage = IsOutage(failed.reason);
  Release(worker, failed.assignment);
  if (of_several && !read->second.streams.empty()) return;
  if (of_several) ++read->second.plan;
  const auto holding = source ? holdings_.find(*source) : holdings_.end();
  if (absl::IsDataLoss(failed.reason) && holding != holdings_.end()) {
    Direct(*source, protocol::Probe{holding->second.generation, /*verify=*/true});
    if (MayHope(worker)) return;
  }
  Place(worker);
}

// Nobody else may serve it: it waits for the doubted sources' word.
bool FakeHub::MayHope(size_t reader) const {
  for (const auto& [source, holding] : holdings_) {
    if (source != reader && MayServe(source, reader)) return false;
  }
  const Read& read = reads_.at(reader);
  return std::any_of(read.excluded.begin(), read.excluded.end(), [&](size_t source) {
    return holdings_.contains(source) && !read.pardoned.contains(source);
  });
}

// It holds what it is listed with: each that complained tries it once more.
void FakeHub::Pardon(size_t source) {
  for (auto& [reader, read] : reads_) {
    if (!read.excluded.contains(source) || !read.pardoned.insert(source).second) continue;
    read.excluded.erase(source);
    if (read.begun && !read.source) Place(reader);
  }
}

// What was directed while the hub was away is directed again.
void FakeHub::OnSession(size_t worker, const StateReport& report) {
  const auto holding = holdings_.find(worker);
  const bool same = holding != holdings_.end() && report.holding &&
                    report.holding->generation == holding->second.generation;
  // A publisher that has not heard the answer yet does not know what it holds.
  const bool unheard = !report.holding && publishing_.contains(worker);
  const auto read = reads_.find(worker);
  const bool about_to_read = read != reads_.end() && read->second.begun && report.open_fetch &&
                             report.open_fetch->transaction == read->second.transaction &&
                             (!report.holding || report.holding->complete);
  if (!same && !unheard && !about_to_read) Forget(worker);
  if (!report.open_fetch || read == reads_.end() || !read->second.begun) return;
  if (report.open_fetch->assignment != read->second.assignment || !read->second.source) {
    Place(worker);
  }
}

void FakeHub::OnDeath(size_t worker) {
  reads_.erase(worker);
  Release(worker, kAllAssignments);
  Forget(worker);
  PlaceWaiting();
}

}  // namespace tensorhub::agent::testing
