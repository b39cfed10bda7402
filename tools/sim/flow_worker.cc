// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/flow_worker.h"

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

FlowWorker::FlowWorker(const Surroundings& around, WorkerFacts facts, Register& others)
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

void FlowWorker::Open(const std::optional<PublicationId>& held, Version version) {
  hub::SessionOpened opened = Opening();
  if (held) {
    hub::Holding holding;
    holding.publication = *held;
    holding.version = held_ = version;
    holding.world_size = around_.shard.world_size;
    holding.chunk_bytes = around_.shard.chunk_bytes;
    holding.layout = around_.shard.layout;
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
    around_.hub.Send(hub::Heartbeat{session()});
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

void FlowWorker::Publish(Version version) {
  publishing_ = version;
  Call(PublishOf(version), Phase::kPublishing);
}

hub::PublishOp FlowWorker::PublishOf(Version version) const {
  hub::PublishOp op;
  op.version = version;
  op.layout = around_.shard.layout;
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
  around_.hub.Send(hub::ContentHashed{session(), published.publication, generation_, kDigest});
}

void FlowWorker::Fetch(Version newer_than) {
  if (gone() || phase_ != Phase::kIdle) return;
  if (record_.done != 0 || record_.asked == 0) record_ = FetchRecord{now()};
  newer_than_ = newer_than;
  hub::JoinFetchOp op;
  op.selector = {Selector::Kind::kNewerThan, newer_than};
  op.layout = around_.shard.layout;
  op.timeout_ms = kFetchTimeoutMs;
  Call(std::move(op), Phase::kJoining);
}

void FlowWorker::Leave() {
  if (gone()) return;
  around_.world.network().Detach(fill_, now());
  assigned_.reset();
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
    if (!reader->assigned_) continue;
    around_.world.After(delay, [reader, why, number = reader->assigned_->assignment] {
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

void FlowWorker::On(const hub::Assign& assign) {
  const bool reads = phase_ == Phase::kBeginning || phase_ == Phase::kReading;
  if (!reads || assign.transaction != decision_->transaction) return;
  FillNetwork& network = around_.world.network();
  if (assigned_) {
    ++record_.redirects;
    network.Detach(fill_, now());
    around_.hub.Send(hub::SourceReleased{session(), assign.transaction, assigned_->assignment});
  }
  assigned_ = assign;
  FlowWorker* source = Find(assign);
  if (source == nullptr) {
    around_.world.After(around_.times.silence,
                        [this, number = assign.assignment] { OnSourceLost(number, "not there"); });
    return;
  }
  network.Attach(fill_, source->fill_, around_.topology.Between(source->facts_.gpu, facts_.gpu),
                 now());
  ProgressLater(assign.assignment);
}

// Null if it has gone, or its buffers hold something else by now.
FlowWorker* FlowWorker::Find(const hub::Assign& assign) const {
  FlowWorker* worker = others_.by_number[assign.source.incarnation - 1];
  return worker->gone() || worker->generation_ != assign.generation ? nullptr : worker;
}

void FlowWorker::OnSourceLost(AssignmentNumber assignment, const char* why) {
  if (!assigned_ || assigned_->assignment != assignment || gone()) return;
  around_.world.network().Detach(fill_, now());
  around_.hub.Send(hub::SourceFailed{session(), assigned_->transaction, assignment,
                                     absl::UnavailableError(why)});
  assigned_.reset();
}

void FlowWorker::ProgressLater(AssignmentNumber assignment) {
  around_.world.After(assigned_->progress_ms * kMillisecond, [this, assignment] {
    if (gone() || !assigned_ || assigned_->assignment != assignment) return;
    TellProgress();
    ProgressLater(assignment);
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
  assigned_.reset();
  TellProgress();
  Finish(absl::OkStatus());
}

void FlowWorker::On(const hub::AbortRead& abort) {
  const bool reads = phase_ == Phase::kBeginning || phase_ == Phase::kReading;
  if (!decision_ || decision_->transaction != abort.transaction || !reads) return;
  Finish(abort.reason);
}

void FlowWorker::On(const hub::Probe& probe) {
  around_.hub.Send(hub::ProbeAnswer{session(), probe.generation, probe.generation == generation_});
}

void FlowWorker::Finish(absl::Status result) {
  around_.world.network().Detach(fill_, now());
  assigned_.reset();
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
