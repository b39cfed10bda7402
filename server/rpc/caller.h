// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Who calls, by what gRPC has verified of its certificate, and by the token that came along.

#ifndef TENSORHUB_SERVER_RPC_CALLER_H_
#define TENSORHUB_SERVER_RPC_CALLER_H_

#include <grpcpp/server_context.h>

#include "server/rpc/access_rules.h"

namespace tensorhub::rpc {

// Without `certificate_ends`: to know that, a certificate has to be parsed.
Caller CallerOf(const grpc::ServerContextBase& context);
// Seconds since 1970; 0: there is no certificate.
int64_t CertificateEnds(const grpc::ServerContextBase& context);

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_CALLER_H_
