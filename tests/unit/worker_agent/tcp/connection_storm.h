// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Readers and sources in one process, over TcpMessages and a network that cuts connections at any
// byte and deals them to the wrong source, and the contract of MessageTransport held against all
// that is said between them: messages of one connection arrive in order, each exactly once or not
// at all, whole, and at whom they were meant for; a send's memory is its owner's again when OnSent
// says so, and not before; every send ends; who was closed is not heard of.
//
// Thread contract: one thread.

#ifndef TENSORHUB_TESTS_UNIT_WORKER_AGENT_TCP_CONNECTION_STORM_H_
#define TENSORHUB_TESTS_UNIT_WORKER_AGENT_TCP_CONNECTION_STORM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/random.h"
#include "tests/unit/worker_agent/tcp/cutting_relay.h"

namespace tensorhub::agent {

class ConnectionStorm {
 public:
  explicit ConnectionStorm(uint64_t seed);
  ~ConnectionStorm();
  ConnectionStorm(const ConnectionStorm&) = delete;
  ConnectionStorm& operator=(const ConnectionStorm&) = delete;

  // Takes so many steps, then a calm in which everything has to work. What was broken; empty:
  // nothing.
  std::string Run(int steps);

  uint64_t delivered() const;
  uint64_t cuts() const { return relay_->cuts(); }

 private:
  class Worker;

  void Step();
  void SayInCalm(Worker& from, const Worker& to);
  bool TalkInCalm();
  bool PumpUntilQuiet();
  void PumpAll();
  std::string Complaint() const;
  std::string AddressOf(size_t to) const;
  Worker& Any();

  Random random_;
  std::vector<std::unique_ptr<Worker>> workers_;  // readers, then sources
  std::unique_ptr<CuttingRelay> relay_;           // before the sources
  uint64_t last_connection_ = 0;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_TESTS_UNIT_WORKER_AGENT_TCP_CONNECTION_STORM_H_
