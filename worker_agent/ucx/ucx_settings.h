// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How TensorHub wants UCX set, and why. Two ways in: keys of UCX's transports have to be in the
// process environment before a worker is created (1.13 takes them nowhere else); keys of UCP itself
// are set per context. In both cases a value that the user's environment has wins.
//
// Thread contract: `PrepareProcessForUcx` may be called by any thread, but changes the environment
// (once), so the first call belongs before other threads read it.

#ifndef TENSORHUB_WORKER_AGENT_UCX_UCX_SETTINGS_H_
#define TENSORHUB_WORKER_AGENT_UCX_UCX_SETTINGS_H_

#include <ucp/api/ucp.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tensorhub::agent {

// Largest payload that fits one TCP segment together with its headers. 256 KiB: about four fifths
// of what 512 KiB gives over TCP (3.6-5.3 against 5.2 GB/s), at half of the delay per hop of a
// chain. Over shared memory UCX takes it apart (see ucx_settings.cc).
inline constexpr size_t kMaxPayloadBytes = 256 * 1024;
// Largest payload that fits one segment of shared memory (ucx_settings.cc) with its headers:
// nothing is joined at the receiver, which gave 7.7 instead of 5.8 GB/s.
inline constexpr size_t kSharedMemoryPayloadBytes = 60 * 1024;
// What a segment has room for beyond the payload: our header, UCX's and the transport's.
inline constexpr size_t kSegmentSlackBytes = 1024;

struct UcxSetting {
  const char* name;  // without "UCX_"
  const char* value;
  const char* reason;
};

// The transports' keys, by environment.
std::span<const UcxSetting> ProcessSettings();
// UCP's keys for the messages' and the gets' contexts.
std::span<const UcxSetting> MessageSettings();
std::span<const UcxSetting> GetSettings();

// Sets ProcessSettings, exactly once per process, sends UCX's log to standard error, and takes back
// the handlers for SIGSEGV and the
// like that UCX installs when it is loaded (they belong to the host program).
void PrepareProcessForUcx();

// Sets each key in `config` that the environment has not set. FAILED_PRECONDITION names a key that
// this UCX refuses.
absl::Status ApplySettings(ucp_config_t* config, std::span<const UcxSetting> settings);

// The part of `user_tls` (UCX_TLS, null if unset) that gets may use: the shared-memory transports.
std::string OneSidedTransports(const char* user_tls);

// The parts of `user_tls` that messages may use: what goes through memory that two processes of one
// host share, and all the rest, but for what takes a process's messages to itself past the way of
// everybody else's (UcxHearing). What a file of UCX's settings says of it does not count. Empty:
// the user allows none of them.
std::string MemoryTransports(const char* user_tls);
std::string NetworkTransports(const char* user_tls);

// The ports of cards that read and write memory by themselves, as UCX_NET_DEVICES has them:
// "mlx5_0:1".
std::vector<std::string> RdmaPorts();

// Whether this host has cards that read and write memory by themselves.
bool HasRdmaDevices();

// "1.13.1".
std::string UcxVersion();

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_UCX_UCX_SETTINGS_H_
