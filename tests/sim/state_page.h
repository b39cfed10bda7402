// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The page docs/protocol/states.md: state machines, drawn from the arrows that runs of the real
// cores took.

#ifndef TENSORHUB_TESTS_SIM_STATE_PAGE_H_
#define TENSORHUB_TESTS_SIM_STATE_PAGE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/state_watch.h"

namespace tensorhub::fault {

// A row of a machine's table, and an arrow of its diagram.
struct StateRow {
  std::string machine;
  std::string from;
  std::string to;
  // The most frequent first; kSeveral alone: none of them was seen often.
  std::vector<std::string> causes;
};
inline constexpr char kSeveral[] = "…";

// What was seen at least so often: an arrow by all its causes together, and each cause.
std::vector<StateRow> RowsOf(const std::map<Arrow, uint64_t>& arrows, uint64_t at_least);
// The whole page.
std::string StatesPage(const std::vector<StateRow>& rows);
// What a page's tables say.
std::vector<StateRow> RowsIn(const std::string& page);

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_STATE_PAGE_H_
