// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Why one cannot listen at an address. gRPC only says that it failed, in log lines of its own; so
// this is tried out before gRPC is asked.

#ifndef TENSORHUB_SERVER_RPC_LISTEN_ADDRESS_H_
#define TENSORHUB_SERVER_RPC_LISTEN_ADDRESS_H_

#include "absl/status/status.h"
#include "common/listen_address.h"

namespace tensorhub::rpc {

// Binds to each address that the host name stands for, and lets go again. UNAVAILABLE, in one line
// that names address, reason and remedy, if one of them is taken or none can be had.
absl::Status TryToListen(const ListenAddress& address);

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_LISTEN_ADDRESS_H_
