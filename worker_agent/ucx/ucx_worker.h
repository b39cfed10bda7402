// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A UCP context with one worker: what both transports stand on. Owned by a transport.
//
// Thread contract: created, used and ended on one thread (UCS_THREAD_MODE_SINGLE), which is
// asserted: a UCX with assertions, such as Debian 13's, ends the process otherwise. The destructor
// runs there too, or after End.

#ifndef TENSORHUB_WORKER_AGENT_UCX_UCX_WORKER_H_
#define TENSORHUB_WORKER_AGENT_UCX_UCX_WORKER_H_

#include <ucp/api/ucp.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "common/check.h"
#include "worker_agent/ucx/ucx_envelope.h"
#include "worker_agent/ucx/ucx_settings.h"

namespace tensorhub::agent {

class UcxWorker {
 public:
  struct Options {
    const char* name = "tensorhub";
    uint64_t features = 0;  // UCP_FEATURE_...; WAKEUP is added
    std::span<const UcxSetting> settings;
    std::string transports;    // UCX_TLS for this context; empty: the environment's
    std::string devices = {};  // UCX_NET_DEVICES for it; empty: the environment's
    EnvelopeKind address_kind = EnvelopeKind::kMessageAddress;
  };

  // Prepares the process first. FAILED_PRECONDITION or the like names what UCX lacks, and which
  // variables have a part in that.
  static absl::StatusOr<std::unique_ptr<UcxWorker>> Create(const Options& options);
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  // Any thread, also after End.
  ucp_context_h context() const { return context_; }
  ucp_worker_h worker() const {
    CheckThread();
    return worker_;
  }
  // The worker's address in an envelope.
  const std::string& address() const { return address_; }
  int event_fd() const { return event_fd_; }

  // Runs UCX's callbacks; false if nothing happened.
  bool Progress() { return ucp_worker_progress(worker()) != 0; }
  // True: the event fd will signal. False: progress first.
  bool Arm() { return ucp_worker_arm(worker()) == UCS_OK; }

  // Active messages with this id go to `handler(owner, ...)`, each whole.
  absl::Status TakeMessages(unsigned id, ucp_am_recv_callback_t handler, void* owner);

  // Nothing but the context is used from now on, and memory that it has stays.
  void End();
  // The destructor leaves UCX's objects as they are; of the first so many in this process.
  void Abandon() { abandoned_ = true; }

  // "posix/memory, tcp/eth0".
  std::string Transports() const;
  // For the log: "UCX 1.13.1 over posix/memory, tcp/eth0".
  std::string Summary() const;

 private:
  UcxWorker() = default;
  absl::Status OpenContext(const Options& options);
  absl::Status OpenWorker(EnvelopeKind address_kind);
  bool MayStay();
  void CheckThread() const { TH_CHECK(std::this_thread::get_id() == thread_); }

  const std::thread::id thread_ = std::this_thread::get_id();
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::string address_;
  int event_fd_ = -1;
  bool abandoned_ = false;
};

// What `print` (one of UCX's print functions) writes, as a string.
std::string CaptureUcxPrint(const std::function<void(FILE*)>& print);
// The "transport/device" words in such a text, each once, in order of appearance.
std::string TransportsIn(const std::string& text);
// Whether messages over such lanes go through a queue in the receiver's memory.
bool IsSharedMemory(const std::string& lanes);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_UCX_UCX_WORKER_H_
