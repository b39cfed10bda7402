// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What gets of device memory ask of UCX: its version, CUDA in it, settings and lanes.

#ifndef TENSORHUB_WORKER_AGENT_UCX_UCX_DEVICE_H_
#define TENSORHUB_WORKER_AGENT_UCX_UCX_DEVICE_H_

#include <ucp/api/ucp.h>

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "worker_agent/ucx/ucx_settings.h"

namespace tensorhub::agent {

// FAILED_PRECONDITION: this UCX is older than 1.19.
absl::Status CheckDeviceSupport();
absl::Status CheckDeviceSupport(unsigned major, unsigned minor);
// FAILED_PRECONDITION: this context does not know device memory.
absl::Status CheckSeesDevices(ucp_context_h context);

// UCP's keys for the context of such gets, as far as this UCX has them.
std::span<const UcxSetting> DeviceSettings();
// UCX_TLS for it: the user's own, or what can read a device, and what its set-up needs.
std::string DeviceTransports(const char* user_tls);
// Whether one of a connection's lanes ("cuda_ipc/cuda, rc_mlx5/mlx5_0:1") reads device memory
// without the peer's CPU.
bool ReachesDevices(std::string_view lanes);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_UCX_UCX_DEVICE_H_
