// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for a network between workers: it deals connections out to one of several listeners,
// hands bytes on in pieces of any size, and cuts at any byte: with a reset, with an end, or of one
// side only.
//
// Thread contract: one thread, which calls Pump.

#ifndef TENSORHUB_TESTS_UNIT_WORKER_AGENT_TCP_CUTTING_RELAY_H_
#define TENSORHUB_TESTS_UNIT_WORKER_AGENT_TCP_CUTTING_RELAY_H_

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "common/random.h"
#include "worker_agent/tcp/sockets.h"

namespace tensorhub::agent {

// 127.0.0.1, as it travels.
inline const std::string kHere("\x7f\0\0\x01", 4);

class CuttingRelay {
 public:
  // `targets`: ports of 127.0.0.1.
  CuttingRelay(uint64_t seed, std::vector<uint16_t> targets);

  uint16_t port() const { return listening_.port; }
  // Nothing is cut from now on.
  void CalmDown();
  void Pump();
  uint64_t cuts() const { return cuts_; }

 private:
  struct Way {
    std::string waiting;
    bool ended = false;  // its writer says no more
    bool told = false;   // and its reader has heard that
  };
  struct Pair {
    Socket client, server;
    Way to_server, to_client;
    int64_t until_cut = 0;  // bytes
    int still = 0;          // turns in which nothing moves
    bool half = false;      // cut at the server's side, and the client does not know it
  };

  void Accept();
  bool StandsStill(Pair& pair);
  bool PumpHalf(Pair& pair);
  bool PumpOne(Pair& pair);
  bool Take(Pair& pair, const Socket& from, Way& way);
  static bool Give(const Socket& to, Way& way, size_t bytes);
  void Cut(Pair& pair);
  int64_t DrawUntilCut();

  Random random_;
  const std::vector<uint16_t> targets_;
  ListeningSocket listening_;
  std::list<Pair> pairs_;
  bool calm_ = false;
  uint64_t cuts_ = 0;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_TESTS_UNIT_WORKER_AGENT_TCP_CUTTING_RELAY_H_
