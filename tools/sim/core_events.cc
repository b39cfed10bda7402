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
