// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/sim_worker.h"

#include <utility>
#include <variant>

#include "common/check.h"

namespace tensorhub::sim {
namespace {

constexpr hub::TimeMs kDrainMs = 10'000;
constexpr hub::TimeMs kFetchTimeoutMs = 600'000;

}  // namespace

SimWorker::SimWorker(Surroundings& around, uint32_t number, hub::WorkerIdentity identity,
                     uint32_t gpu, bool stable)
    : around_(around), number_(number), identity_(std::move(identity)), gpu_(gpu), stable_(stable) {
  NewFill(/*whole=*/true);
}

void SimWorker::NewFill(bool whole) {
  fill_ = around_.world.network().AddFill(around_.shard.bytes,
                                          static_cast<double>(around_.shard.chunk_bytes), whole);
  around_.owners.resize(fill_ + 1, nullptr);
  around_.owners[fill_] = this;
}

void SimWorker::Open(const std::optional<PublicationId>& held, Version version) {
  hub::SessionOpened opened;
  opened.session = HubPort::SessionOf(number_);
  opened.worker = identity_;
  opened.number = 1;
  opened.world_size = around_.shard.world_size;
  opened.location = around_.topology.LocationOf(gpu_);
  opened.stable = stable_;
  if (held) {
    hub::Holding holding;
    holding.publication = *held;
    holding.version = held_ = version;
    holding.world_size = around_.shard.world_size;
    holding.chunk_bytes = around_.shard.chunk_bytes;
    holding.layout = around_.shard.layout;
    holding.generation = generation_;
    holding.valid_chunks = around_.world.network().ValidChunks(fill_, around_.world.now());
    holding.complete = holding.visible = true;
    opened.holding = holding;
  }
  around_.hub.Apply(opened);
  HeartbeatLater();
}

void SimWorker::HeartbeatLater() {
  around_.world.After(around_.times.heartbeat_every, [this] {
    if (gone()) return;
    around_.hub.Send(hub::Heartbeat{HubPort::SessionOf(number_)});
    HeartbeatLater();
  });
}

template <typename Op>
void SimWorker::Call(Op op, Phase phase) {
  phase_ = phase;
  op.op = ++op_;
  op.call = HubPort::CallOf(number_, op_);
  op.worker = identity_;
  around_.hub.Send(std::move(op));
}

void SimWorker::Publish(Version version) {
  publishing_ = version;
  hub::PublishOp op;
  op.version = version;
  op.layout = around_.shard.layout;
  op.chunk_bytes = around_.shard.chunk_bytes;
  op.generation = generation_;
  Call(std::move(op), Phase::kPublishing);
}

void SimWorker::Fetch(Version newer_than) {
  if (gone() || phase_ != Phase::kIdle) return;
  if (record_.done != 0 || record_.asked == 0) record_ = FetchRecord{around_.world.now()};
  newer_than_ = newer_than;
  hub::JoinFetchOp op;
  op.selector = {hub::Selector::Kind::kNewerThan, newer_than};
  op.layout = around_.shard.layout;
  op.timeout_ms = kFetchTimeoutMs;
  Call(std::move(op), Phase::kJoining);
}

void SimWorker::Leave() {
  if (gone()) return;
  around_.world.network().Detach(fill_, around_.world.now());
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

void SimWorker::Die() {
  if (gone()) return;
  phase_ = Phase::kGone;
  around_.world.network().Detach(fill_, around_.world.now());
  StopServing(around_.times.silence, "silent");
}

void SimWorker::StopServing(Nanos delay, const char* why) {
  FillNetwork& network = around_.world.network();
  for (const FillId fill : network.ReadersOf(fill_)) {
    network.Detach(fill, around_.world.now());
    SimWorker* reader = around_.owners[fill];
    if (!reader->assigned_) continue;
    around_.world.After(delay, [reader, why, number = reader->assigned_->assignment] {
      reader->OnSourceLost(number, why);
    });
  }
}

void SimWorker::OnHub(const hub::Effect& effect) {
  if (gone()) return;
  if (const auto* reply = std::get_if<hub::Reply>(&effect)) return OnReply(*reply);
  const auto& directive = std::get<hub::Directive>(effect);
  std::visit([this](const auto& body) { On(body); }, directive.body);
}

void SimWorker::OnReply(const hub::Reply& reply) {
  if (reply.call != HubPort::CallOf(number_, op_)) return;  // of an operation given up
  switch (phase_) {
    case Phase::kPublishing:
      TH_CHECK(reply.status.ok());
      held_ = publishing_;
      phase_ = Phase::kIdle;
      return;
    case Phase::kJoining:
      return OnJoined(reply);
    case Phase::kUnpublishing:
      return BeginRead();
    case Phase::kBeginning:
      if (!reply.status.ok()) return Finish(reply.status);
      phase_ = Phase::kReading;
      return;
    case Phase::kFinishing:
      return OnFinished(reply);
    case Phase::kLeaving:
      if (held_ != 0) {
        held_ = 0;
        return Call(hub::LeaveOp{}, Phase::kLeaving);
      }
      phase_ = Phase::kGone;
      return StopServing(around_.topology.options().hop_latency, "left");
    default:
      return;
  }
}

void SimWorker::OnJoined(const hub::Reply& reply) {
  const auto* decision = std::get_if<hub::FetchDecision>(&reply.payload);
  if (!reply.status.ok() || decision == nullptr) return OnFinished(reply);
  decision_ = *decision;
  record_.began = around_.world.now();
  if (decision->already_held) return Finish(absl::OkStatus());
  if (held_ == 0) return BeginRead();
  hub::UnpublishOp op;
  op.generation = generation_;
  op.drain_ms = kDrainMs;
  Call(std::move(op), Phase::kUnpublishing);
}

// The old buffers' readers, if any are left, find another generation.
void SimWorker::BeginRead() {
  StopServing(around_.topology.options().hop_latency, "another generation");
  held_ = 0;
  ++generation_;
  NewFill(/*whole=*/false);
  hub::BeginReadOp op;
  op.transaction = decision_->transaction;
  op.generation = generation_;
  Call(std::move(op), Phase::kBeginning);
}

void SimWorker::On(const hub::Assign& assign) {
  const bool reads = phase_ == Phase::kBeginning || phase_ == Phase::kReading;
  if (!reads || assign.transaction != decision_->transaction) return;
  FillNetwork& network = around_.world.network();
  if (assigned_) {
    ++record_.redirects;
    network.Detach(fill_, around_.world.now());
    around_.hub.Send(hub::SourceReleased{HubPort::SessionOf(number_), assign.transaction,
                                         assigned_->assignment});
  }
  assigned_ = assign;
  SimWorker* source = around_.find(assign.source.incarnation);
  if (source == nullptr || source->generation() != assign.generation) {
    const Nanos delay =
        source == nullptr ? around_.times.silence : around_.topology.options().hop_latency;
    around_.world.After(delay,
                        [this, number = assign.assignment] { OnSourceLost(number, "not there"); });
    return;
  }
  network.Attach(fill_, source->fill(), around_.topology.Between(source->gpu(), gpu_),
                 around_.world.now());
  ProgressLater(assign.assignment);
}

void SimWorker::OnSourceLost(hub::AssignmentNumber assignment, const char* why) {
  if (!assigned_ || assigned_->assignment != assignment || gone()) return;
  around_.world.network().Detach(fill_, around_.world.now());
  around_.hub.Send(hub::SourceFailed{HubPort::SessionOf(number_), assigned_->transaction,
                                     assignment, absl::UnavailableError(why)});
  assigned_.reset();
}

void SimWorker::ProgressLater(hub::AssignmentNumber assignment) {
  around_.world.After(around_.times.progress_every, [this, assignment] {
    if (gone() || !assigned_ || assigned_->assignment != assignment) return;
    TellProgress();
    ProgressLater(assignment);
  });
}

void SimWorker::TellProgress() {
  hub::Progress progress;
  progress.session = HubPort::SessionOf(number_);
  progress.publication = decision_->publication;
  progress.generation = generation_;
  progress.valid_chunks = around_.world.network().ValidChunks(fill_, around_.world.now());
  around_.hub.Send(progress);
}

void SimWorker::OnWhole() {
  assigned_.reset();
  TellProgress();
  Finish(absl::OkStatus());
}

void SimWorker::On(const hub::AbortRead& abort) {
  const bool reads = phase_ == Phase::kBeginning || phase_ == Phase::kReading;
  if (!decision_ || decision_->transaction != abort.transaction || !reads) return;
  Finish(abort.reason);
}

void SimWorker::On(const hub::Probe& probe) {
  around_.hub.Send(hub::ProbeAnswer{HubPort::SessionOf(number_), probe.generation,
                                    probe.generation == generation_});
}

void SimWorker::Finish(absl::Status result) {
  around_.world.network().Detach(fill_, around_.world.now());
  assigned_.reset();
  hub::FinishReadOp op;
  op.transaction = decision_->transaction;
  op.result = std::move(result);
  Call(std::move(op), Phase::kFinishing);
}

void SimWorker::OnFinished(const hub::Reply& reply) {
  phase_ = Phase::kIdle;
  if (reply.status.ok()) {
    held_ = decision_->version;
    record_.done = around_.world.now();
    return around_.fetched(*this);
  }
  ++record_.failures;
  if (decision_) StopServing(around_.topology.options().hop_latency, "aborted");
  around_.world.After(around_.times.retry, [this] { Fetch(newer_than_); });
}

}  // namespace tensorhub::sim
