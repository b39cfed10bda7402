// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How TensorHub wants UCX set, and why, for each of its own contexts. The environment's UCX_...
// stays as it is, since all users of UCX in a process go by it (NIXL, NCCL, MPI), and does not
// count for the keys that are set here: whoever sets it has others in mind. TENSORHUB_UCX_... does.
//
// Segment sizes are part of what agents have agreed on: UCX does not negotiate them, and a process
// that receives a longer segment than it has room for aborts, or is written over.
//
// Thread contract: `PrepareProcessForUcx` may be called by any thread, but changes the environment
// (once), so the first call belongs before other threads read it.

#ifndef TENSORHUB_WORKER_AGENT_UCX_UCX_SETTINGS_H_
#define TENSORHUB_WORKER_AGENT_UCX_UCX_SETTINGS_H_

#include <ucp/api/ucp.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "worker_agent/core/transport.h"

namespace tensorhub::agent {

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

// The transports' keys: TCP's, and shared memory's.
std::span<const UcxSetting> TransportSettings();
// UCP's keys for the messages' and the gets' contexts.
std::span<const UcxSetting> MessageSettings();
std::span<const UcxSetting> GetSettings();

// Once per process: sends UCX's log to standard error, and takes back the handlers for SIGSEGV and
// the like that UCX installs when it is loaded (they belong to the host program).
void PrepareProcessForUcx();

// What the user wants for TensorHub's contexts: of TENSORHUB_UCX_..., else of UCX_...; null if
// neither is set.
const char* UsersUcxSetting(const char* name);

// Under which name that is: "TENSORHUB_UCX_TLS" or "UCX_TLS".
std::string UsersUcxVariable(const char* name);

// Sets each key in `config`: to TENSORHUB_UCX_..., where the environment has that.
// FAILED_PRECONDITION names a key that this UCX refuses.
absl::Status ApplySettings(ucp_config_t* config, std::span<const UcxSetting> settings);
// The same with those of TransportSettings that concern `transports` (UCX_TLS; empty: all).
absl::Status ApplyTransportSettings(ucp_config_t* config, std::string_view transports);
// Sets one key of a transport, under whichever of its names this UCX knows.
absl::Status ApplyTransportSetting(ucp_config_t* config, const char* name, const char* value);
// Whether they were taken, once a worker is there: `unused` is what UCX has found no use for
// ("KEY=VALUE,…"), `available` the transports that the worker has ("tcp/eth0, …").
absl::Status CheckTransportSettings(std::string_view unused, std::string_view available);

// The part of `user_tls` (UCX_TLS, null if unset) that gets may use: the shared-memory transports.
std::string OneSidedTransports(const char* user_tls);

// The parts of `user_tls` that messages may use: what goes through memory that two processes of one
// host share, and what cards carry. UCX's TCP is never one of them: it ends processes for what a
// link does (docs/decisions). What a file of UCX's settings says of it does not count. Empty: the
// user allows none of them.
std::string MemoryTransports(const char* user_tls);
std::string CardTransports(const char* user_tls);

// The ports of cards that read and write memory by themselves, as UCX_NET_DEVICES has them:
// "mlx5_0:1".
std::vector<std::string> RdmaPorts();

// Whether this host has cards that read and write memory by themselves.
bool HasRdmaDevices();

// "1.13.1".
std::string UcxVersion();

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_UCX_UCX_SETTINGS_H_
