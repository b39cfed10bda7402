// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/decision_world.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace tensorhub::bench {
namespace {

constexpr uint64_t kChunkBytes = uint64_t{1} << 20;
constexpr uint64_t kChunks = 512;
constexpr size_t kWorkersPerRack = 64;
constexpr size_t kWorkersPerHost = 8;
constexpr size_t kRacksPerDatacenter = 40;
constexpr TimeMs kNow = 1000;  // nobody's lease ends

std::string LocationOf(size_t index, Lie lie) {
  if (lie == Lie::kFlat) return "us/dc0";
  const size_t rack = index / kWorkersPerRack;
  return absl::StrCat("us/dc", rack / kRacksPerDatacenter, "/r", rack, "/h",
                      index / kWorkersPerHost);
}

}  // namespace

DecisionWorld::DecisionWorld() : hub_({}, 0) {
  auto layout = Layout::Make({TensorSpec{"w", DType::kU8, {kChunks * kChunkBytes}, {}}});
  TH_CHECK(layout.ok());
  layout_ = std::make_shared<const Layout>(*std::move(layout));
  Apply(hub::PutLayoutOp{++last_call_, layout_});
}

double DecisionWorld::Apply(const hub::Event& event) {
  effects_.clear();
  const auto begin = std::chrono::steady_clock::now();
  hub_.Apply(event, kNow, effects_);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  for (const hub::Effect& effect : effects_) Learn(effect);
  return took.count();
}

void DecisionWorld::Learn(const hub::Effect& effect) {
  if (const auto* reply = std::get_if<hub::Reply>(&effect)) {
    if (const auto* decision = std::get_if<hub::FetchDecision>(&reply->payload)) {
      caller_->transaction = decision->transaction;
      caller_->publication = decision->publication;
    }
    TH_CHECK(reply->status.ok());
  }
  const auto* directive = std::get_if<hub::Directive>(&effect);
  const auto* assign = directive == nullptr ? nullptr : std::get_if<hub::Assign>(&directive->body);
  if (assign != nullptr) workers_[directive->session - 1]->assignment = assign->assignment;
}

template <typename Op>
double DecisionWorld::Call(Worker& worker, Op op) {
  op.call = ++last_call_;
  op.worker = worker.id;
  op.op = ++worker.op;
  caller_ = &worker;
  return Apply(op);
}

DecisionWorld::Worker& DecisionWorld::Open(const WorkerKey& key, const std::string& location) {
  workers_.push_back(std::make_unique<Worker>());
  Worker& worker = *workers_.back();
  worker.id = {key, 1};
  worker.session = workers_.size();
  hub::SessionOpened hello;
  hello.session = worker.session;
  hello.worker = worker.id;
  hello.number = 1;
  hello.world_size = 1;
  hello.location = Location::Parse(location).value();
  hello.read_key = CapabilityKey::Guessable(worker.session);
  Apply(hello);
  return worker;
}

void DecisionWorld::AddModel(const std::string& model, size_t readers, Lie lie,
                             std::vector<double>& begin_us) {
  Worker& publisher = Open({model, "trainer", 0}, "us/dc0");
  hub::PublishOp publish;
  publish.version = 1;
  publish.layout = layout_->fingerprint();
  publish.chunk_bytes = kChunkBytes;
  publish.generation = publisher.generation;
  Call(publisher, publish);
  for (size_t i = 0; i < readers; ++i) {
    // Names in no order.
    const std::string group = absl::StrCat("g", random_.Below(1'000'000), "-", i);
    Worker& reader = Open({model, group, 0}, LocationOf(i, lie));
    hub::JoinFetchOp join;
    join.layout = layout_->fingerprint();
    join.timeout_ms = 1000;
    Call(reader, join);
    hub::BeginReadOp begin;
    begin.transaction = reader.transaction;
    begin.generation = reader.generation;
    begin_us.push_back(Call(reader, begin));
    TH_CHECK(reader.assignment != 0);
  }
}

void DecisionWorld::SpreadProgress(const std::string& model) {
  std::vector<Worker*> readers;
  for (const auto& worker : workers_) {
    if (worker->id.key.model == model && worker->assignment != 0) readers.push_back(worker.get());
  }
  for (size_t i = 0; i < readers.size(); ++i) {
    const uint64_t chunks = (kChunks - 1) * (readers.size() - i) / readers.size();
    Apply(hub::Progress{
        {readers[i]->publication, readers[i]->generation, static_cast<uint32_t>(chunks)},
        readers[i]->session});
  }
}

DecisionWorld::Worker& DecisionWorld::Pick(const std::string& model) {
  for (;;) {
    Worker& worker = *workers_[random_.Below(workers_.size())];
    if (worker.id.key.model == model && worker.assignment != 0 && !worker.gone) return worker;
  }
}

double DecisionWorld::ComplainUs(const std::string& model) {
  Worker& reader = Pick(model);
  const AssignmentNumber before = reader.assignment;
  const double us = Apply(hub::SourceFailed{
      {reader.transaction, before, absl::UnavailableError("connection reset")}, reader.session});
  TH_CHECK(reader.assignment > before);
  return us;
}

double DecisionWorld::LeaveUs(const std::string& model) {
  Worker& leaver = Pick(model);
  leaver.gone = true;
  ++gone_;
  return Call(leaver, hub::LeaveOp{});
}

}  // namespace tensorhub::bench
