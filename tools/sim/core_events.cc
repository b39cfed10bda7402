// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/core_events.h"

#include <utility>
#include <variant>

namespace tensorhub::sim {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

hub::PublishOp Op(const agent::PublishCall& call) {
  hub::PublishOp op;
  op.version = call.version;
  op.layout = call.layout;
  op.attachment = call.attachment;
  op.chunk_bytes = call.chunk_bytes;
  op.generation = call.generation;
  op.wait_for_group = call.wait_for_group;
  op.timeout_ms = call.timeout_ms;
  op.supersede = call.supersede;
  op.knows_term = call.knows_term;
  op.hashes = call.hashes;
  op.digest = call.digest;
  op.compared = call.compared;
  return op;
}

hub::BeginReadOp Op(const agent::BeginReadCall& call) {
  hub::BeginReadOp op;
  op.transaction = call.transaction;
  op.generation = call.generation;
  return op;
}

hub::UnpublishOp Op(const agent::UnpublishCall& call) {
  hub::UnpublishOp op;
  op.generation = call.generation;
  op.drain_ms = call.drain_ms;
  op.leaving = call.leaving;
  op.force = call.force;
  if (call.then_read) op.then_read = hub::ReadStart(Op(*call.then_read));
  return op;
}

hub::JoinFetchOp Op(const agent::JoinFetchCall& call) {
  hub::JoinFetchOp op;
  op.selector = call.selector;
  op.layout = call.layout;
  op.timeout_ms = call.timeout_ms;
  op.held_in = call.held_in;
  return op;
}

hub::FinishReadOp Op(const agent::FinishReadCall& call) {
  hub::FinishReadOp op;
  op.transaction = call.transaction;
  op.result = call.result;
  op.digest = call.digest;
  return op;
}

hub::LeaveOp Op(const agent::LeaveCall&) { return {}; }

agent::FetchDecision ToAgent(const hub::FetchDecision& in) {
  agent::FetchDecision out;
  out.transaction = in.transaction;
  out.publication = in.publication;
  out.version = in.version;
  out.world_size = in.world_size;
  out.chunk_bytes = in.chunk_bytes;
  out.attachment = in.attachment;
  out.already_held = in.already_held;
  out.term = in.term;
  out.sharding = in.sharding;
  return out;
}

}  // namespace

hub::Event ToHub(const agent::Call& call, const WorkerIdentity& worker, hub::CallId id) {
  return std::visit(
      [&](const auto& request) -> hub::Event {
        auto op = Op(request);
        op.call = id;
        op.worker = worker;
        op.op = call.op;
        return op;
      },
      call.request);
}

hub::Event ToHub(const agent::SessionSend& send, hub::SessionId session) {
  return std::visit(
      Overloaded{
          [&](const agent::HeartbeatMessage& m) -> hub::Event {
            return hub::Heartbeat{session, m.gave_up_join};
          },
          [&](const agent::ProgressMessage& m) -> hub::Event {
            return hub::Progress{session, m.publication, m.generation, m.valid_chunks, m.way};
          },
          [&](const agent::SourceReleasedMessage& m) -> hub::Event {
            return hub::SourceReleased{session, m.transaction, m.assignment};
          },
          [&](const agent::SourceFailedMessage& m) -> hub::Event {
            return hub::SourceFailed{session, m.transaction, m.assignment, m.reason};
          },
          [&](const agent::SourceSilentMessage& m) -> hub::Event {
            return hub::SourceSilent{session, m.transaction, m.assignment};
          },
          [&](const agent::ProbeAnswerMessage& m) -> hub::Event {
            return hub::ProbeAnswer{session, m.generation, m.holds, m.verified};
          },
          [&](const agent::ContentHashedMessage& m) -> hub::Event {
            return hub::ContentHashed{session, m.publication, m.generation, m.digest};
          },
          [&](const agent::CopyFailedMessage& m) -> hub::Event {
            return hub::CopyFailed{session, m.version, m.reason};
          }},
      send.message);
}

hub::Holding ToHub(const agent::HoldingReport& report) {
  hub::Holding holding;
  holding.publication = report.publication;
  holding.version = report.version;
  holding.world_size = report.world_size;
  holding.chunk_bytes = report.chunk_bytes;
  holding.layout = report.layout;
  holding.attachment = report.attachment;
  holding.generation = report.generation;
  holding.valid_chunks = report.valid_chunks;
  holding.complete = report.complete;
  holding.published = report.published;
  holding.visible = report.visible;
  holding.epoch = report.epoch;
  holding.digest = report.digest;
  holding.hashing = report.hashing;
  holding.term = report.term;
  holding.sharding = report.sharding;
  return holding;
}

hub::OpenFetch ToHub(const agent::OpenFetchReport& report) {
  hub::OpenFetch fetch;
  fetch.transaction = report.transaction;
  fetch.publication = report.publication;
  fetch.version = report.version;
  fetch.finished = report.finished;
  if (report.source) fetch.source = report.source;
  fetch.source_generation = report.source_generation;
  fetch.assignment = report.assignment;
  fetch.plan = report.plan;
  fetch.sharding = report.sharding;
  for (const agent::OpenStreamReport& stream : report.streams) {
    fetch.streams.push_back({stream.part, stream.source, stream.generation, stream.assignment});
  }
  return fetch;
}

agent::CallReply ToAgent(const hub::Reply& reply, OpId op) {
  agent::CallReply out;
  out.op = op;
  out.status = reply.status;
  std::visit(Overloaded{[&](const hub::PublishReply& r) {
                          out.payload = agent::PublishReply{
                              r.publication,    r.chunk_bytes,   r.visible,
                              r.epoch,          r.term,          r.compare,
                              r.with.holder,    r.with.endpoint, r.with.generation,
                              r.with.capability};
                        },
                        [&](const hub::UnpublishReply& r) {
                          out.payload = agent::UnpublishReply{r.readers_left, r.begun};
                        },
                        [&](const hub::FetchDecision& r) { out.payload = ToAgent(r); },
                        [&](const hub::FinishReadReply& r) {
                          out.payload = agent::FinishReply{r.version, r.identity};
                        },
                        [](const auto&) {}},
             reply.payload);
  return out;
}

agent::Event ToAgent(const hub::Directive& directive) {
  return std::visit(
      Overloaded{[](const protocol::Welcome& welcome) -> agent::Event {
                   return agent::SessionUp{welcome, static_cast<bool>(welcome.adopts)};
                 },
                 [](const auto& said) -> agent::Event { return said; }},
      directive.body);
}

}  // namespace tensorhub::sim
