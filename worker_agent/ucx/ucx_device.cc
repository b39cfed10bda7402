// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/ucx_device.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace tensorhub::agent {
namespace {

constexpr const char* kRemedy =
    "use UCX 1.19 or newer built with CUDA, by ucx_ROOT when building TensorHub (docs/gpu.md)";

// The last one from 1.21 on only: unknown keys are refused.
constexpr UcxSetting kDevice[] = {
    {"KEEPALIVE_INTERVAL", "1s", "a dead peer is noticed in about a second (default 20 s)"},
    {"MAX_RMA_RAILS", "2", "both of a GPU's network cards, where it has two"},
    {"CUDA_IPC_ENABLE_GET_ZCOPY", "on", "else no gets where UCX sees no NVLink, even on one GPU"},
    {"PROTO_EMULATION_ENABLE", "n", "a get that UCX would emulate fails instead"},
};
constexpr size_t kDeviceUsually = 3;

constexpr std::array<std::string_view, 4> kReaching = {"cuda_ipc", "rc_mlx5", "rc_verbs",
                                                       "dc_mlx5"};

bool Before(unsigned major, unsigned minor, unsigned than_major, unsigned than_minor) {
  return major != than_major ? major < than_major : minor < than_minor;
}

}  // namespace

absl::Status CheckDeviceSupport(unsigned major, unsigned minor) {
  if (!Before(major, minor, 1, 19)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "tensors are on a GPU, but UCX %d.%d reads device memory by the source's CPU, if at all; %s",
      major, minor, kRemedy));
}

absl::Status CheckDeviceSupport() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  ucp_get_version(&major, &minor, &release);
  return CheckDeviceSupport(major, minor);
}

absl::Status CheckSeesDevices(ucp_context_h context) {
  ucp_context_attr_t attributes = {};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  const ucs_status_t status = ucp_context_query(context, &attributes);
  const uint64_t cuda = uint64_t{1} << UCS_MEMORY_TYPE_CUDA;
  if (status == UCS_OK && (attributes.memory_types & cuda) != 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "tensors are on a GPU, but this UCX %s has no CUDA in it, or cannot load it, or UCX_TLS "
      "leaves it out; %s",
      UcxVersion(), kRemedy));
}

std::span<const UcxSetting> DeviceSettings() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  ucp_get_version(&major, &minor, &release);
  const std::span<const UcxSetting> all = kDevice;
  return Before(major, minor, 1, 21) ? all.first(kDeviceUsually) : all;
}

std::string DeviceTransports(const char* user_tls) {
  if (user_tls != nullptr && user_tls[0] != '\0') return user_tls;
  return HasRdmaDevices() ? "cuda,rc,dc,sm,self" : "cuda,sm,self";
}

bool ReachesDevices(std::string_view lanes) {
  for (absl::string_view lane :
       absl::StrSplit(absl::string_view(lanes.data(), lanes.size()), ", ")) {
    const std::string_view transport(lane.data(), std::min(lane.find('/'), lane.size()));
    if (std::find(kReaching.begin(), kReaching.end(), transport) != kReaching.end()) return true;
  }
  return false;
}

}  // namespace tensorhub::agent
