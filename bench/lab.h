// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A laboratory of network namespaces (tools/netlab) for the length of a scenario. It goes when its
// owner goes, in whatever way.

#ifndef TENSORHUB_BENCH_LAB_H_
#define TENSORHUB_BENCH_LAB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/child/child.h"

namespace tensorhub::bench {

class Lab {
 public:
  struct Host {
    std::string name;
    std::string space;  // the namespace's name
    std::string address;
    std::string location;
    double rate_bit = 0;  // 0: no limit
    // Since the laboratory was built; a packet of several segments counts one header.
    double sent_bytes = 0;
    double received_bytes = 0;
  };
  // What stands behind a wide-area link.
  struct Datacenter {
    std::string name;
    double wan_bit = 0;
    double sent_bytes = 0;
    double received_bytes = 0;
  };
  struct Status {
    std::string name;
    std::vector<Host> hosts;  // the last one is `hub`: no limit, in no datacenter
    std::vector<Datacenter> datacenters;
  };

  // `spec`: flags of `netlab with`. FAILED_PRECONDITION: this machine or user cannot have one;
  // INVALID_ARGUMENT: netlab refuses the flags.
  static absl::StatusOr<std::unique_ptr<Lab>> Start(const std::vector<std::string>& spec);

  // As it was built: counters are 0.
  const Status& built() const { return built_; }
  const Host& hub() const { return built_.hosts.back(); }
  size_t host_count() const { return built_.hosts.size() - 1; }
  absl::StatusOr<Status> Now() const;
  // From now on nothing passes the host's link, and nobody is told.
  absl::Status Cut(const Host& host) const;
  absl::Status Heal(const Host& host) const;
  // Sets the rate of the host's link, each way, from now on; bits per second.
  absl::Status SetRate(const Host& host, double rate_bit) const;

  // The process as it would be on that host.
  Child::Options On(const Host& host, const Child::Options& process) const;

 private:
  Lab() = default;
  // What `netlab VERB THIS-LAB ARGS` prints.
  absl::StatusOr<std::string> Netlab(const std::string& verb,
                                     const std::vector<std::string>& args) const;

  std::unique_ptr<Child> keeper_;
  Status built_;
};

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_LAB_H_
