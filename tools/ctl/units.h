// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Numbers for people: binary units, one decimal, and durations no finer than anybody reads.

#ifndef TENSORHUB_TOOLS_CTL_UNITS_H_
#define TENSORHUB_TOOLS_CTL_UNITS_H_

#include <cstdint>
#include <string>

namespace tensorhub::ctl {

std::string HumanBytes(uint64_t bytes);                         // "1.5 GiB", "17 B"
std::string HumanRate(uint64_t bytes, double seconds);          // "2.31 GB/s", decimal as links are
std::string HumanSeconds(double seconds);                       // "7.3 ms", "0.42 s", "3m 05s"
std::string HumanPercent(uint64_t done, uint64_t total);        // "42%"; 100% only when whole
std::string RankText(const std::string& group, uint32_t rank);  // "trainer/0"
// The first of several sources: "trainer/0 +2".
std::string SourceText(const std::string& group, uint32_t rank, uint32_t sources);

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_UNITS_H_
