// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// gRPC's settings, the same for a server that leads and one that stands by.

#ifndef TENSORHUB_SERVER_RPC_SERVER_BUILDER_H_
#define TENSORHUB_SERVER_RPC_SERVER_BUILDER_H_

#include <grpcpp/grpcpp.h>

#include "absl/status/status.h"
#include "server/rpc/listen_address.h"

namespace tensorhub::rpc {

// With gRPC's health service, and reflection if it is wanted. `receive_bytes_max`: R9, what gRPC
// may hold of requests that have not come whole. `shares_port`: another server of this process may
// listen at the same address, so that one can follow the other without a gap.
void PrepareBuilder(grpc::ServerBuilder& builder, size_t receive_bytes_max, bool reflection,
                    bool shares_port);

// gRPC itself does not say why.
absl::Status CannotListenAt(const ListenAddress& address);

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_SERVER_BUILDER_H_
