// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The port at which a worker of UCX listens for connections over TCP, where the user gives a range
// of them (UCX_TCP_PORT_RANGE). UCX draws one at random, and draws again while it is taken: in a
// range that is used up it does so for ever. So the port is chosen here, and UCX is given that one.
//
// Thread contract: one thread.

#ifndef TENSORHUB_WORKER_AGENT_UCX_UCX_PORTS_H_
#define TENSORHUB_WORKER_AGENT_UCX_UCX_PORTS_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tensorhub::agent {

class UcxPorts {
 public:
  // As the environment has it. FAILED_PRECONDITION, naming the variable: it is no range of ports.
  // `devices` (UCX_NET_DEVICES): at whose addresses the port has to be free; empty: at all.
  static absl::StatusOr<UcxPorts> OfUser(const std::string& devices = {});

  // False: the user leaves it to the system, which does not run out.
  bool chosen() const { return last_ != 0; }
  // One that nobody listens at now, each once. RESOURCE_EXHAUSTED, naming the variable: none.
  absl::StatusOr<uint16_t> TakeFree();

 private:
  UcxPorts() = default;

  std::vector<sockaddr_storage> addresses_;
  std::string variable_;  // "UCX_TCP_PORT_RANGE=30100-30102"
  uint32_t first_ = 0;
  uint32_t last_ = 0;
  uint32_t offset_ = 0;  // of where the search began, so that clients do not meet
  uint32_t tried_ = 0;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_UCX_UCX_PORTS_H_
