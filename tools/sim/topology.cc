// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/topology.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace tensorhub::sim {

Topology::Topology(const TopologyOptions& options, FillNetwork& network)
    : options_(options), network_(network) {
  const uint32_t hosts = (options.gpus + options.gpus_per_host - 1) / options.gpus_per_host;
  const uint32_t hosts_each = (hosts + options.datacenters - 1) / options.datacenters;
  gpus_per_datacenter_ = std::max(1u, hosts_each) * options.gpus_per_host;
  for (uint32_t gpu = 0; gpu < options.gpus; ++gpu) {
    nics_.push_back(AddDuplex(options.nic_bytes_per_second));
    ports_.push_back(AddDuplex(options.host_bytes_per_second));
  }
  if (options.rack_bytes_per_second > 0) {
    for (uint32_t rack = 0; rack <= RackOf(options.gpus - 1); ++rack) {
      racks_.push_back(AddDuplex(options.rack_bytes_per_second));
    }
  }
  for (uint32_t i = 0; i < options.datacenters; ++i) {
    wide_area_.push_back(AddDuplex(options.wide_area_bytes_per_second));
  }
}

Topology::Duplex Topology::AddDuplex(double bytes_per_second) {
  const LinkId out = network_.AddLink(bytes_per_second);
  return {out, network_.AddLink(bytes_per_second)};
}

Location Topology::LocationOf(uint32_t gpu) const {
  const auto location =
      Location::Parse(absl::StrCat("sim/dc", DatacenterOf(gpu), "/r", RackOf(gpu), "/h",
                                   HostOf(gpu), "/", gpu % options_.gpus_per_host));
  TH_CHECK(location.ok());
  return *location;
}

Path Topology::Between(uint32_t from, uint32_t to) const {
  if (HostOf(from) == HostOf(to)) {
    return {{ports_[from].out, ports_[to].in}, options_.host_latency};
  }
  Path path{{nics_[from].out, nics_[to].in}, options_.hop_latency};
  if (!racks_.empty() && RackOf(from) != RackOf(to)) {
    path.links.push_back(racks_[RackOf(from)].out);
    path.links.push_back(racks_[RackOf(to)].in);
  }
  if (DatacenterOf(from) != DatacenterOf(to)) {
    path.links.push_back(wide_area_[DatacenterOf(from)].out);
    path.links.push_back(wide_area_[DatacenterOf(to)].in);
    path.latency = options_.wide_area_latency;
  }
  return path;
}

}  // namespace tensorhub::sim
