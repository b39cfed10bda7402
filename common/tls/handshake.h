// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Why no connection with a server comes about. gRPC says "Socket closed" of most of it; so whoever
// failed to connect makes one handshake of its own, and says what that met.
//
// Thread contract: any thread. Blocks for a second at most.

#ifndef TENSORHUB_COMMON_TLS_HANDSHAKE_H_
#define TENSORHUB_COMMON_TLS_HANDSHAKE_H_

#include <optional>
#include <string>

#include "common/tls/certificates.h"

namespace tensorhub::tls {

struct HandshakeResult {
  bool reached = false;  // a TCP connection came about
  // What is wrong, and the remedy, in one phrase; empty: nothing that a handshake shows.
  std::string problem;
  std::optional<CertificateFacts> server;  // whose certificate was shown
};

// `server` is HOST:PORT. `set` is what this side has; null: it connects without TLS.
HandshakeResult TryHandshake(const std::string& server, const Set* set);

}  // namespace tensorhub::tls

#endif  // TENSORHUB_COMMON_TLS_HANDSHAKE_H_
