// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The server's facts, for who asks by HTTP (server/http).

#ifndef TENSORHUB_SERVER_OBSERVED_H_
#define TENSORHUB_SERVER_OBSERVED_H_

#include <optional>

#include "server/http/facts.h"
#include "server/rpc/rpc_server.h"

namespace tensorhub {

// Asks the hub's thread and waits for its answer, for kObservePatience at most: none, if there is
// none by then. Any thread; `server` is there meanwhile.
std::optional<http::Facts> Observe(rpc::RpcServer& server);

}  // namespace tensorhub

#endif  // TENSORHUB_SERVER_OBSERVED_H_
