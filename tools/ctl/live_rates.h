// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How fast reads go, by what two looks at them show. Pure.

#ifndef TENSORHUB_TOOLS_CTL_LIVE_RATES_H_
#define TENSORHUB_TOOLS_CTL_LIVE_RATES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tensorhub::ctl {

// A read under way, as one look shows it.
struct Moving {
  std::string reader;  // model and rank
  uint64_t version = 0;
  uint64_t bytes = 0;  // that it has
};

class LiveRates {
 public:
  // Bytes per second since the look before, of each in turn. None: it was not there then, or no
  // time has passed.
  std::vector<std::optional<double>> Look(const std::vector<Moving>& reads, double at_s);

 private:
  std::map<std::pair<std::string, uint64_t>, uint64_t> before_;  // bytes
  double before_s_ = 0;
};

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_LIVE_RATES_H_
