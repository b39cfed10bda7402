// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where the GPUs are and what lies between them: each has a full-duplex NIC and a full-duplex port
// to the other GPUs of its host; racks and datacenters have full-duplex uplinks. A rack's uplink
// that is not given limits nobody.

#ifndef TENSORHUB_TOOLS_SIM_TOPOLOGY_H_
#define TENSORHUB_TOOLS_SIM_TOPOLOGY_H_

#include <cstdint>
#include <vector>

#include "common/location.h"
#include "tools/sim/fill_network.h"

namespace tensorhub::sim {

struct TopologyOptions {
  uint32_t gpus = 1024;
  uint32_t gpus_per_host = 8;
  uint32_t hosts_per_rack = 16;
  uint32_t datacenters = 1;  // the GPUs are split evenly, whole hosts each
  double nic_bytes_per_second = 25e9;
  double host_bytes_per_second = 400e9;
  double rack_bytes_per_second = 0;  // 0: not limited
  double wide_area_bytes_per_second = 12.5e9;
  // One way, from the commit at one worker to the first byte that leaves for the next.
  Nanos host_latency = 20 * kMicrosecond;
  Nanos hop_latency = 50 * kMicrosecond;
  Nanos wide_area_latency = 10 * kMillisecond;
};

class Topology {
 public:
  // Adds its links to `network`, which outlives it.
  Topology(const TopologyOptions& options, FillNetwork& network);

  const TopologyOptions& options() const { return options_; }
  uint32_t DatacenterOf(uint32_t gpu) const { return gpu / gpus_per_datacenter_; }
  Location LocationOf(uint32_t gpu) const;
  Path Between(uint32_t from, uint32_t to) const;
  LinkId WideAreaInto(uint32_t datacenter) const { return wide_area_[datacenter].in; }

 private:
  struct Duplex {
    LinkId out = 0;
    LinkId in = 0;
  };
  Duplex AddDuplex(double bytes_per_second);
  uint32_t HostOf(uint32_t gpu) const { return gpu / options_.gpus_per_host; }
  uint32_t RackOf(uint32_t gpu) const { return HostOf(gpu) / options_.hosts_per_rack; }

  const TopologyOptions options_;
  FillNetwork& network_;  // while it is made
  uint32_t gpus_per_datacenter_ = 0;
  std::vector<Duplex> nics_;
  std::vector<Duplex> ports_;
  std::vector<Duplex> racks_;
  std::vector<Duplex> wide_area_;
};

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_TOPOLOGY_H_
