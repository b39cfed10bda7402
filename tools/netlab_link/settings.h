// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What one direction of a link between two datacenters is like. netlab has checked it, and turned
// what people write into plain numbers.

#ifndef TENSORHUB_TOOLS_NETLAB_LINK_SETTINGS_H_
#define TENSORHUB_TOOLS_NETLAB_LINK_SETTINGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tensorhub::netlab {

// Shares are between 0 and 1. A rate of 0 is no limit. Times "after" count from when they were set.
struct Settings {
  double delay_s = 0;
  double rate_bit = 0;
  double queue_s = 0.1;    // what waits for the rate, of the link or of a flow; more is dropped
  double queue_bytes = 0;  // if it is not 0, instead
  double loss = 0;
  double duplicate = 0;
  double duplicate_delay_s = 0;
  double flow_rate_bit = 0;
  double sick = 0;  // of the paths, which flows are dealt out to by a hash
  double sick_after_s = 0;
  double sick_loss = 0;
  double sick_rate_bit = 0;    // of each flow there
  double sick_busiest = 0;     // not 0: the flow that carries most at that time is on a sick path
  double reset_after_s = 0;    // how old a TCP connection becomes; 0: any age
  double connections = 0;      // TCP's, that begin in this direction and are known at once
  double connection_rate = 0;  // how many may begin in a second
  double dead_after_s = 0;
  double dead_for_s = 0;
};

// Words NAME=NUMBER; what is left out is as above.
absl::StatusOr<Settings> ParseSettings(const std::vector<std::string>& words);

}  // namespace tensorhub::netlab

#endif  // TENSORHUB_TOOLS_NETLAB_LINK_SETTINGS_H_
