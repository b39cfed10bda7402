// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The server's facts, for who asks by HTTP (server/http).

#ifndef TENSORHUB_SERVER_OBSERVED_H_
#define TENSORHUB_SERVER_OBSERVED_H_

#include <functional>
#include <optional>

#include "server/http/facts.h"
#include "server/rpc/rpc_server.h"

namespace tensorhub {

// Has the hub's thread call `reader` and waits for it, for kObservePatience at most: false, if it
// has not been called by then. Any thread; `server` is there meanwhile.
bool LookAndWait(rpc::RpcServer& server, std::function<void(const hub::Hub&, TimeMs)> reader);

// Facts by such a look: none, if there is no answer.
std::optional<http::Facts> Observe(rpc::RpcServer& server);

}  // namespace tensorhub

#endif  // TENSORHUB_SERVER_OBSERVED_H_
