// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The first words on a connection, before any message: who speaks, and whom it wants. A connection
// may lead to somebody else: a load balancer, a second worker behind one address, another program
// that has the port of one that ended. Pure.

#ifndef TENSORHUB_WORKER_AGENT_TCP_TCP_GREETING_H_
#define TENSORHUB_WORKER_AGENT_TCP_TCP_GREETING_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "worker_agent/tcp/tcp_address.h"

namespace tensorhub::agent {

// The words of the side that made the connection.
struct Hello {
  std::string wanted;  // identities
  std::string own;
};

// The answer to it.
enum class Verdict : unsigned char {
  kWelcome = 0,
  kSomebodyElse = 1,   // lives here
  kNoDescriptors = 2,  // the process is out of them
};

inline constexpr size_t kHelloBytes = 8 + 2 * kIdentityBytes;
inline constexpr size_t kVerdictBytes = 8 + 1;

std::string Encode(const Hello& hello);
std::string Encode(Verdict verdict);
// `bytes` are exactly so many. Nothing: whoever wrote that is no worker.
std::optional<Hello> DecodeHello(std::string_view bytes);
std::optional<Verdict> DecodeVerdict(std::string_view bytes);
// Whether a Hello may begin so: garbage is known by its first bytes.
bool MayBeHello(std::string_view begin);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_TCP_TCP_GREETING_H_
