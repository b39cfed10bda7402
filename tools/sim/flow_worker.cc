// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/flow_worker.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "common/check.h"

namespace tensorhub::sim {
namespace {

constexpr TimeMs kDrainMs = 10'000;
constexpr TimeMs kFetchTimeoutMs = 600'000;
// All that is published has one content. To sum it up takes no time.
constexpr ContentDigest kDigest{1, 1};

}  // namespace

FlowWorker::FlowWorker(const SimContext& around, WorkerFacts facts, Register& others)
    : FleetWorker(around, std::move(facts)), others_(others) {
  others_.by_number.resize(facts_.number + 1, nullptr);
  others_.by_number[facts_.number] = this;
  NewFill(/*whole=*/true);
}

void FlowWorker::NewFill(bool whole) {
  fill_ = around_.world.network().AddFill(around_.shard.bytes,
                                          static_cast<double>(around_.shard.chunk_bytes), whole);
  others_.by_fill.resize(fill_ + 1, nullptr);
  others_.by_fill[fill_] = this;
}

void FlowWorker::Open(const std::optional<PublicationId>& held, VersionNumber version) {
  hub::SessionOpened opened = Opening();
  if (held) {
    hub::Holding holding;
    holding.publication = *held;
    holding.version = held_ = version;
    holding.world_size = around_.shard.world_size;
    holding.chunk_bytes = around_.shard.chunk_bytes;
    holding.layout = layout();
    holding.generation = generation_;
    holding.valid_chunks = around_.world.network().ValidChunks(fill_, now());
    holding.complete = holding.visible = true;
    opened.holding = holding;
  }
  around_.hub.Apply(opened);
  // Processes do not start all at once: a thousand phases.
  const Nanos every = around_.times.heartbeat_every;
  HeartbeatAfter(every / 1000 * (1 + facts_.number % 1000));
}

void FlowWorker::HeartbeatAfter(Nanos delay) {
  around_.world.After(delay, [this] {
    if (gone()) return;
    around_.hub.Send(hub::Heartbeat{{}, session()});
    HeartbeatAfter(around_.times.heartbeat_every);
  });
}

template <typename Op>
void FlowWorker::Call(Op op, Phase phase) {
  phase_ = phase;
  op.op = ++op_;
  op.call = HubPort::CallOf(facts_.number, op_);
  op.worker = facts_.identity;
  around_.hub.Send(std::move(op));
}

void FlowWorker::Publish(VersionNumber version) {
  publishing_ = version;
  Call(PublishOf(version), Phase::kPublishing);
}

hub::PublishOp FlowWorker::PublishOf(VersionNumber version) const {
  hub::PublishOp op;
  op.version = version;
  op.layout = layout();
  op.chunk_bytes = around_.shard.chunk_bytes;
  op.generation = generation_;
  op.timeout_ms = kFetchTimeoutMs;
  op.hashes = true;
  return op;
}

// A publisher that is not the first is held against what the first published (R1).
void FlowWorker::OnPublished(const hub::Reply& reply) {
  TH_CHECK(reply.status.ok());
  const auto& published = std::get<hub::PublishReply>(reply.payload);
  if (published.compare) {
    hub::PublishOp op = PublishOf(publishing_);
    op.digest = kDigest;
    op.compared = published.publication;
    return Call(std::move(op), Phase::kPublishing);
  }
  held_ = publishing_;
  phase_ = Phase::kIdle;
  around_.hub.Send(hub::ContentHashed{{published.publication, generation_, kDigest}, session()});
}

void FlowWorker::Fetch(VersionNumber newer_than) {
  if (gone() || phase_ != Phase::kIdle) return;
  if (record_.done != 0 || record_.asked == 0) record_ = FetchRecord{now()};
  newer_than_ = newer_than;
  hub::JoinFetchOp op;
  op.selector = {VersionSelector::Kind::kNewerThan, newer_than};
  op.layout = layout();
  op.timeout_ms = kFetchTimeoutMs;
  Call(std::move(op), Phase::kJoining);
}

void FlowWorker::Leave() {
  if (gone()) return;
  around_.world.network().Detach(fill_, now());
  Forget();
  if (phase_ == Phase::kIdle && held_ != 0) {
    hub::UnpublishOp op;
    op.generation = generation_;
    op.drain_ms = kDrainMs;
    publishing_ = 0;
    decision_.reset();
    return Call(std::move(op), Phase::kLeaving);
  }
  Call(hub::LeaveOp{}, Phase::kLeaving);
}

void FlowWorker::Die() {
  if (gone()) return;
  phase_ = Phase::kGone;
  around_.world.network().Detach(fill_, now());
  StopServing(around_.times.silence, "silent");
}

void FlowWorker::StopServing(Nanos delay, const char* why) {
  FillNetwork& network = around_.world.network();
  for (const FillId fill : network.ReadersOf(fill_)) {
    network.Detach(fill, now());
    FlowWorker* reader = others_.by_fill[fill];
    if (!reader->assigned_[0]) continue;
    around_.world.After(delay, [reader, why, number = reader->assigned_[0]->assignment] {
      reader->OnSourceLost(number, why);
    });
  }
}

void FlowWorker::OnHub(const hub::Effect& effect) {
  if (gone()) return;
  if (const auto* reply = std::get_if<hub::Reply>(&effect)) return OnReply(*reply);
  const auto& directive = std::get<hub::Directive>(effect);
  std::visit([this](const auto& body) { On(body); }, directive.body);
}

void FlowWorker::OnReply(const hub::Reply& reply) {
  if (reply.call != HubPort::CallOf(facts_.number, op_)) return;  // of an operation given up
  switch (phase_) {
    case Phase::kPublishing:
      return OnPublished(reply);
    case Phase::kJoining:
      return OnJoined(reply);
    case Phase::kUnpublishing: {
      const auto* freed = std::get_if<hub::UnpublishReply>(&reply.payload);
      return BeginRead(freed != nullptr && freed->begun);
    }
    case Phase::kBeginning:
      if (!reply.status.ok()) return Finish(reply.status);
      phase_ = Phase::kReading;
      return;
    case Phase::kFinishing:
      return OnFinished(reply);
    case Phase::kLeaving:
      return OnLeft();
    default:
      return;
  }
}

// First its readers have gone, then it has.
void FlowWorker::OnLeft() {
  if (held_ != 0) {
    held_ = 0;
    return Call(hub::LeaveOp{}, Phase::kLeaving);
  }
  phase_ = Phase::kGone;
  StopServing(around_.topology.options().hop_latency, "left");
}

void FlowWorker::OnJoined(const hub::Reply& reply) {
  const auto* decision = std::get_if<hub::FetchDecision>(&reply.payload);
  if (!reply.status.ok() || decision == nullptr) return OnFinished(reply);
  decision_ = *decision;
  if (decision->already_held) return Finish(absl::OkStatus());
  if (held_ == 0) return BeginRead(/*begun=*/false);
  hub::UnpublishOp op;
  op.generation = generation_;
  op.drain_ms = kDrainMs;
  op.then_read = hub::ReadStart{decision_->transaction, generation_ + 1, {}};
  Call(std::move(op), Phase::kUnpublishing);
}

// The old buffers' readers, if any are left, find another generation.
void FlowWorker::BeginRead(bool begun) {
  StopServing(around_.topology.options().hop_latency, "another generation");
  held_ = 0;
  ++generation_;
  NewFill(/*whole=*/false);
  if (begun) {
    phase_ = Phase::kReading;
    return;
  }
  hub::BeginReadOp op;
  op.transaction = decision_->transaction;
  op.generation = generation_;
  Call(std::move(op), Phase::kBeginning);
}

// The rest comes in parts of other shards.
void FlowWorker::On(const hub::SourceSharding& sharding) {
  if (!IsReading(sharding.transaction)) return;
  LeaveAll(sharding.parts.size());
}

void FlowWorker::On(const hub::Assign& assign) {
  if (!IsReading(assign.transaction)) return;
  if (!assign.parts && assigned_.size() > 1) LeaveAll(1);
  std::optional<hub::Assign>& its = assigned_.at(assign.part);
  if (its) {
    ++record_.redirects;
    around_.world.network().Detach(fill_, now());
    around_.hub.Send(hub::SourceReleased{{assign.transaction, its->assignment}, session()});
  }
  its = assign;
  if (Find(assign) == nullptr) {
    around_.world.After(around_.times.silence,
                        [this, number = assign.assignment] { OnSourceLost(number, "not there"); });
    return;
  }
  Attach();
}

bool FlowWorker::IsReading(const TransactionId& transaction) const {
  const bool reads = phase_ == Phase::kBeginning || phase_ == Phase::kReading;
  return reads && transaction == decision_->transaction;
}

void FlowWorker::LeaveAll(size_t parts) {
  around_.world.network().Detach(fill_, now());
  for (const auto& assign : assigned_) {
    if (!assign) continue;
    around_.hub.Send(hub::SourceReleased{{assign->transaction, assign->assignment}, session()});
  }
  assigned_.assign(parts, std::nullopt);
}

void FlowWorker::Attach() {
  std::vector<FlowWorker*> sources;
  for (const auto& assign : assigned_) {
    FlowWorker* source = assign ? Find(*assign) : nullptr;
    if (source == nullptr) return;
    // The network knows one source of a fill. Trainers, who stay, are those of parts.
    TH_CHECK(assigned_.size() == 1 || around_.world.network().IsWhole(source->fill_));
    sources.push_back(source);
  }
  around_.world.network().Attach(fill_, sources[0]->fill_, PathFrom(sources), now());
  ProgressLater(++attached_, assigned_[0]->progress_ms);
}

Path FlowWorker::PathFrom(const std::vector<FlowWorker*>& sources) const {
  Path merged;
  for (const FlowWorker* source : sources) {
    const Path path = around_.topology.Between(source->facts_.gpu, facts_.gpu);
    merged.latency = std::max(merged.latency, path.latency);
    for (const LinkId link : path.links) {
      const auto known = std::find(merged.links.begin(), merged.links.end(), link);
      const auto at = static_cast<size_t>(known - merged.links.begin());
      if (known == merged.links.end()) {
        merged.links.push_back(link);
        merged.parts.push_back(0);
      }
      merged.parts[at] += sources.size() == 1 ? 1 : ShareOf(*source);
    }
  }
  return merged;
}

// What this one's shard has in common with the other's: both sides cut the model evenly.
double FlowWorker::ShareOf(const FlowWorker& source) const {
  const auto range = [](const FlowWorker& worker) {
    const double ranks = worker.around_.shard.world_size;
    const double rank = worker.facts_.identity.key.rank;
    return std::pair(rank / ranks, (rank + 1) / ranks);
  };
  const auto [begin, end] = range(*this);
  const auto [source_begin, source_end] = range(source);
  const double common = std::min(end, source_end) - std::max(begin, source_begin);
  return std::max(0.0, common) / (end - begin);
}

// Null if it has gone, or its buffers hold something else by now.
FlowWorker* FlowWorker::Find(const hub::Assign& assign) const {
  FlowWorker* worker = others_.by_number[assign.source.incarnation - 1];
  return worker->gone() || worker->generation_ != assign.generation ? nullptr : worker;
}

void FlowWorker::OnSourceLost(AssignmentNumber assignment, const char* why) {
  if (gone()) return;
  for (auto& assign : assigned_) {
    if (!assign || assign->assignment != assignment) continue;
    around_.world.network().Detach(fill_, now());
    around_.hub.Send(hub::SourceFailed{
        {assign->transaction, assignment, absl::UnavailableError(why)}, session()});
    assign.reset();
    return;
  }
}

// Until it is attached anew, or not any more.
void FlowWorker::ProgressLater(uint64_t attached, TimeMs every) {
  around_.world.After(every * kMillisecond, [this, attached, every] {
    if (gone() || !assigned_[0] || attached_ != attached) return;
    TellProgress();
    ProgressLater(attached, every);
  });
}

void FlowWorker::TellProgress() {
  hub::Progress progress;
  progress.session = session();
  progress.publication = decision_->publication;
  progress.generation = generation_;
  progress.valid_chunks = around_.world.network().ValidChunks(fill_, now());
  around_.hub.Send(progress);
}

void FlowWorker::OnWhole() {
  Forget();
  TellProgress();
  Finish(absl::OkStatus());
}

void FlowWorker::On(const hub::AbortRead& abort) {
  const bool reads = phase_ == Phase::kBeginning || phase_ == Phase::kReading;
  if (!decision_ || decision_->transaction != abort.transaction || !reads) return;
  Finish(abort.reason);
}

void FlowWorker::On(const hub::Probe& probe) {
  around_.hub.Send(
      hub::ProbeAnswer{{probe.generation, probe.generation == generation_}, session()});
}

void FlowWorker::Finish(absl::Status result) {
  around_.world.network().Detach(fill_, now());
  Forget();
  hub::FinishReadOp op;
  op.transaction = decision_->transaction;
  op.result = std::move(result);
  Call(std::move(op), Phase::kFinishing);
}

void FlowWorker::OnFinished(const hub::Reply& reply) {
  phase_ = Phase::kIdle;
  if (reply.status.ok()) {
    held_ = decision_->version;
    record_.done = now();
    return on_fetched();
  }
  ++record_.failures;
  if (decision_) StopServing(around_.topology.options().hop_latency, "aborted");
  around_.world.After(around_.times.retry, [this] { Fetch(newer_than_); });
}

}  // namespace tensorhub::sim
