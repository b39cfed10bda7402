// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ways/host_ways.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "worker_agent/ucx/ucx_messages.h"
#include "worker_agent/ucx/ucx_settings.h"
#include "worker_agent/ways/networks.h"

namespace tensorhub::agent {
namespace {

std::string BootId() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot;
}

std::string NetworkSpace() {
  char name[64] = "";
  const ssize_t bytes = readlink("/proc/self/ns/net", name, sizeof(name) - 1);
  return bytes > 0 ? std::string(name, static_cast<size_t>(bytes)) : std::string();
}

int64_t SteadyMs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

Ways::Make Over(UcxMessages::Lanes lanes) {
  return [lanes = std::move(lanes)](MessageTransport::Sink* sink) {
    return UcxMessages::Create(sink, lanes);
  };
}

// Cards that read memory by themselves go with the first network, by which they find each other.
std::vector<Ways::Candidate> NetworkWays(const std::vector<Network>& networks,
                                         const std::string& transports) {
  std::vector<Ways::Candidate> ways;
  for (const Network& network : networks) {
    std::vector<std::string> devices = {network.device};
    if (ways.empty()) {
      for (std::string& port : RdmaPorts()) devices.push_back(std::move(port));
    }
    WayOffer offer{WayOffer::Kind::kNetwork, "", network};
    ways.push_back({std::move(offer), Over({transports, absl::StrJoin(devices, ",")})});
  }
  return ways;
}

// The user's choice of devices, in one piece.
Ways::Candidate ChosenByUcx(const std::vector<Network>& networks, const std::string& transports,
                            const char* devices) {
  const std::vector<absl::string_view> names = absl::StrSplit(devices, ',');
  const auto named = std::find_if(networks.begin(), networks.end(), [&](const Network& network) {
    return std::find(names.begin(), names.end(), network.device) != names.end();
  });
  const Network& network = named == networks.end() ? networks.front() : *named;
  return {WayOffer{WayOffer::Kind::kNetwork, "", network}, Over({transports, ""})};
}

}  // namespace

absl::StatusOr<Ways::Host> WaysOfThisHost(const std::string& data_address) {
  const char* const user_tls = UsersUcxSetting("TLS");
  const char* const user_devices = UsersUcxSetting("NET_DEVICES");
  Ways::Host host{BootId(), NetworkSpace(), {}, &SourceTowards, &SteadyMs};
  const std::string memory = MemoryTransports(user_tls);
  if (!memory.empty()) host.candidates.push_back({WayOffer{}, Over({memory, ""})});
  absl::StatusOr<std::vector<Network>> networks = ChooseNetworks(ListNetworks(), data_address);
  if (!networks.ok()) {
    return absl::Status(networks.status().code(),
                        absl::StrCat("data_address: ", std::string(networks.status().message())));
  }
  const std::string transports = NetworkTransports(user_tls);
  const bool users_devices = user_devices != nullptr && *user_devices != '\0';
  if (!transports.empty() && !networks->empty() && users_devices) {
    host.candidates.push_back(ChosenByUcx(*networks, transports, user_devices));
  } else if (!transports.empty()) {
    for (Ways::Candidate& way : NetworkWays(*networks, transports)) {
      host.candidates.push_back(std::move(way));
    }
  }
  if (!host.candidates.empty()) return host;
  return absl::FailedPreconditionError(
      absl::StrCat("UCX_TLS (or TENSORHUB_UCX_TLS)=", user_tls == nullptr ? "" : user_tls,
                   " leaves no way to another process; unset it", " for this program, or add tcp"));
}

}  // namespace tensorhub::agent
