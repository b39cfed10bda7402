// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/core_events.h"

#include <type_traits>
#include <variant>

namespace tensorhub::sim {

agent::CallReply ToAgent(const hub::Reply& reply, OpId op) {
  agent::CallReply out{op, reply.status, {}};
  std::visit(
      [&out]<typename Payload>(const Payload& payload) {
        if constexpr (std::is_constructible_v<protocol::Answer, Payload>) out.payload = payload;
      },
      reply.payload);
  return out;
}

agent::Event ToAgent(const hub::Directive& directive) {
  return std::visit(
      []<typename Said>(const Said& said) -> agent::Event {
        if constexpr (std::is_same_v<Said, protocol::Welcome>) {
          return agent::SessionUp{said, static_cast<bool>(said.adopts)};
        } else {
          return said;
        }
      },
      directive.body);
}

}  // namespace tensorhub::sim
