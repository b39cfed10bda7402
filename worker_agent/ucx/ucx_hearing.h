// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whether a worker still receives what is sent to it. UCX's shared memory has one queue for all
// that send to a process: a sender takes a slot, copies into it and marks it as full. One that is
// killed in between leaves a slot that is never marked, and behind it nothing arrives any more,
// whoever sends it: the process is deaf, for good, and nothing says so. What it sends to itself
// takes the same way; so that is the test.
//
// Thread contract: the progress thread.

#ifndef TENSORHUB_WORKER_AGENT_UCX_UCX_HEARING_H_
#define TENSORHUB_WORKER_AGENT_UCX_UCX_HEARING_H_

#include <ucp/api/ucp.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "worker_agent/ucx/ucx_endpoints.h"
#include "worker_agent/ucx/ucx_worker.h"

namespace tensorhub::agent {

class UcxHearing {
 public:
  // Both outlive it.
  UcxHearing(UcxWorker* worker, UcxEndpoints* endpoints) : worker_(worker), endpoints_(endpoints) {}

  // Takes this worker's active messages with an id of its own.
  absl::Status Open();
  // Begins a test, unless one is under way or cannot be made. Not from within UCX.
  void Test();
  bool testing() const { return testing_; }
  // After each progress while testing. True: the worker is deaf.
  bool IsDeaf();
  // The connection to itself is none of the owner's peers.
  bool Owns(PeerId peer) const { return peer == self_; }
  void OnFailure();

 private:
  static ucs_status_t OnHeard(void* hearing, const void* header, size_t header_bytes, void* data,
                              size_t bytes, const ucp_am_recv_param_t* param);
  static void OnSent(void* request, ucs_status_t status, void* hearing);
  // Null: nobody is reached as this worker's local peers reach it.
  UcxEndpoint* Self();
  bool Say();
  void EndSend(ucs_status_t status);

  UcxWorker* const worker_;
  UcxEndpoints* const endpoints_;
  PeerId self_ = 0;  // kept from the first test on
  bool testing_ = false;
  uint64_t said_ = 0;              // the number of the last test; UCX reads it until that was sent
  UcxEndpoint* saying_ = nullptr;  // until UCX has sent it; it stays as long
  uint64_t rounds_ = 0;
  std::chrono::steady_clock::time_point since_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_UCX_UCX_HEARING_H_
