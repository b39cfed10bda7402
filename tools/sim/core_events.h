// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Between the agent's core and the hub's core without a wire: what the one says, as the event that
// the other hears.

#ifndef TENSORHUB_TOOLS_SIM_CORE_EVENTS_H_
#define TENSORHUB_TOOLS_SIM_CORE_EVENTS_H_

#include "server/core/effects.h"
#include "server/core/events.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"

namespace tensorhub::sim {

agent::CallReply ToAgent(const hub::Reply& reply, OpId op);
agent::Event ToAgent(const hub::Directive& directive);

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_CORE_EVENTS_H_
