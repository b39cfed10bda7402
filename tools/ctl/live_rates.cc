// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/live_rates.h"

namespace tensorhub::ctl {

std::vector<std::optional<double>> LiveRates::Look(const std::vector<Moving>& reads, double at_s) {
  std::vector<std::optional<double>> rates;
  std::map<std::pair<std::string, uint64_t>, uint64_t> now;
  const double passed_s = at_s - before_s_;
  for (const Moving& read : reads) {
    const std::pair key{read.reader, read.version};
    now[key] = read.bytes;
    const auto before = before_.find(key);
    // One that has less than before is another fetch of the same.
    const bool goes_on = before != before_.end() && read.bytes >= before->second && passed_s > 0;
    rates.push_back(goes_on
                        ? std::optional(static_cast<double>(read.bytes - before->second) / passed_s)
                        : std::nullopt);
  }
  before_ = std::move(now);
  before_s_ = at_s;
  return rates;
}

}  // namespace tensorhub::ctl
