// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ways/host_ways.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "worker_agent/tcp/tcp_messages.h"
#include "worker_agent/ucx/ucx_messages.h"
#include "worker_agent/ucx/ucx_settings.h"
#include "worker_agent/ways/data_address.h"
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

Ways::Make OverUcx(UcxMessages::Lanes lanes) {
  return [lanes = std::move(lanes)](MessageTransport::Sink* sink) {
    return UcxMessages::Create(sink, lanes);
  };
}

Ways::Make OverTcp(const Offered& offered) {
  return [offered](MessageTransport::Sink* sink) {
    const Network& network = offered.network;
    return TcpMessages::Create(sink,
                               {network.device, offered.listen, network.address, offered.ports});
  };
}

// The ones whose device is among these ("eth0,mlx5_0:1"). All if none is.
std::vector<Offered> Named(const std::vector<Offered>& all, std::string_view devices) {
  const std::vector<std::string> names = absl::StrSplit(std::string(devices), ',');
  std::vector<Offered> named;
  for (const Offered& each : all) {
    if (std::find(names.begin(), names.end(), each.network.device) != names.end()) {
      named.push_back(each);
    }
  }
  return named.empty() ? all : named;
}

// The user's choice of cards, else all of this host's.
std::string CardsOf(std::string_view devices) {
  return devices.empty() ? absl::StrJoin(RdmaPorts(), ",") : std::string(devices);
}

}  // namespace

absl::StatusOr<Ways::Host> WaysOfThisHost(const std::string& data_address) {
  const char* const user_tls = UsersUcxSetting("TLS");
  const char* const user_devices = UsersUcxSetting("NET_DEVICES");
  Ways::Host host{BootId(), NetworkSpace(), {}, &SourceTowards, &SteadyMs};
  const std::string memory = MemoryTransports(user_tls);
  if (!memory.empty()) host.candidates.push_back({WayOffer{}, OverUcx({memory, ""})});
  const auto all = ChooseOffered(ListNetworks(), data_address);
  if (!all.ok()) {
    return absl::Status(all.status().code(),
                        absl::StrCat("data_address: ", std::string(all.status().message())));
  }
  const std::string_view devices = user_devices == nullptr ? "" : user_devices;
  const std::vector<Offered> offered = Named(*all, devices);
  const std::string cards = CardTransports(user_tls);
  if (!offered.empty() && !cards.empty() && HasRdmaDevices()) {
    host.candidates.push_back({WayOffer{WayOffer::Kind::kCards, "", offered.front().network},
                               OverUcx({cards, CardsOf(devices)})});
  }
  for (const Offered& each : offered) {
    host.candidates.push_back(
        {WayOffer{WayOffer::Kind::kNetwork, "", each.network}, OverTcp(each)});
  }
  if (!host.candidates.empty()) return host;
  return absl::FailedPreconditionError(
      "there is no way to another process: this host has no network, and UCX may not use its "
      "memory (UCX_TLS)");
}

}  // namespace tensorhub::agent
