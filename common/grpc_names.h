// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How gRPC finds the address of a server that is given by name. By itself it asks DNS, past the
// system: a name that /etc/hosts knows by an IPv4 address alone waits for an answer about IPv6, for
// minutes if DNS is silent.

#ifndef TENSORHUB_COMMON_GRPC_NAMES_H_
#define TENSORHUB_COMMON_GRPC_NAMES_H_

#include <grpc/grpc.h>

#include <cstdlib>

namespace tensorhub {

// As the system does (getaddrinfo), on threads of gRPC's, unless the environment says otherwise.
// Before the first channel of the process: gRPC looks when it starts, and once more when it makes a
// channel, and aborts (1.51) if it has read two different things. So where it runs already, nothing
// is changed.
inline void ResolveNamesAsTheSystem() {
  static const bool set = [] {
    return grpc_is_initialized() == 0 &&
           setenv("GRPC_DNS_RESOLVER", "native", /*overwrite=*/0) == 0;
  }();
  static_cast<void>(set);
}

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_GRPC_NAMES_H_
