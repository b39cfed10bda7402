// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/state_page.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace tensorhub::fault {
namespace {

constexpr char kStatesIntroduction[] =
    R"(# States, and what leads from one to the next

The real cores of server and agents went through these states in forty simulated runs. Processes, connections and
clocks fail in them as the [failure model](failure_model.md) says. The diagrams are the arrows that they took. A test
runs them again: an arrow on this page has to be taken, and one that is taken often has to be on it.
`TENSORHUB_REWRITE=1 build/release/tests/sim_check_test --gtest_filter='StatePage*'` writes the page anew.

An arrow leads from the state before an event to the state after it, so what begins and ends within one event is not
seen. What was seen a few times only is left out, or is a cause of `…`. *Of another* says that the event was another
worker's, and for a group that it was another group's. `[*]` is where something is not there: not yet, not any more, or
not known to a server that has just started. The messages are those of [messages.md](messages.md), and *time* is a
deadline.
)";

struct Machine {
  const char* name;
  const char* title;
  const char* text;
};

constexpr std::array<Machine, 5> kMachines = {{
    {StateWatch::kWorker, "A worker, at the hub",
     "The end of a session is no death: the lease runs on (R8). Another process of the rank that "
     "opens a session takes\nthe place of one whose lease still runs."},
    {StateWatch::kReference, "A reference, at the hub",
     "What one worker holds of one version. A draining reference has readers still, and gets no "
     "new ones (R3). A fetch\ninto held buffers goes from one version's *complete* to the next "
     "one's *filling* in one event."},
    {StateWatch::kFetch, "A group's fetch, at the hub",
     "*Open* is a fetch that was decided: its row is on disk. Its outcome stays until all ranks "
     "have acknowledged it, or the\ngroup begins the next fetch (R6)."},
    {StateWatch::kVerb, "A verb, at the agent",
     "One at a time: a publish, a fetch, an unpublish or a leave. A fetch into held buffers "
     "unpublishes first. One that an\noutage has ended asks again (R8)."},
    {StateWatch::kStream, "A stream of a read, at the reader",
     "A read has one stream per source. Without a source it waits for the hub's word, or it has "
     "brought all it had to\nbring. A stream that is leaving has operations outstanding that may "
     "still write (R4)."},
}};

constexpr size_t kCausesInDiagram = 2;

std::string IdOf(const std::string& state) {
  if (state == StateWatch::kNone) return state;
  std::string id = state;
  for (char& c : id) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return id;
}

std::string Diagram(const std::vector<StateRow>& rows) {
  std::string text = "stateDiagram-v2\n";
  std::set<std::string> named;
  for (const StateRow& row : rows) {
    for (const std::string& state : {row.from, row.to}) {
      if (IdOf(state) == state || !named.insert(state).second) continue;
      absl::StrAppend(&text, "    state \"", state, "\" as ", IdOf(state), "\n");
    }
  }
  for (const StateRow& row : rows) {
    const size_t shown = std::min(row.causes.size(), kCausesInDiagram);
    const auto end = row.causes.begin() + static_cast<int64_t>(shown);
    absl::StrAppend(&text, "    ", IdOf(row.from), " --> ", IdOf(row.to), " : ",
                    absl::StrJoin(row.causes.begin(), end, ", "),
                    shown < row.causes.size() ? ", …" : "", "\n");
  }
  return text;
}

std::string Table(const std::vector<StateRow>& rows) {
  std::string text = "| from | to | by |\n| --- | --- | --- |\n";
  for (const StateRow& row : rows) {
    absl::StrAppend(&text, "| ", row.from, " | ", row.to, " | ", absl::StrJoin(row.causes, ", "),
                    " |\n");
  }
  return text;
}

}  // namespace

std::vector<StateRow> RowsOf(const std::map<Arrow, uint64_t>& arrows, uint64_t at_least) {
  std::vector<StateRow> rows;
  std::vector<std::pair<uint64_t, std::string>> causes;
  uint64_t total = 0;
  for (auto it = arrows.begin(); it != arrows.end(); ++it) {
    const Arrow& arrow = it->first;
    total += it->second;
    if (it->second >= at_least) causes.emplace_back(it->second, arrow.cause);
    const auto next = std::next(it);
    const bool last = next == arrows.end() || next->first.machine != arrow.machine ||
                      next->first.from != arrow.from || next->first.to != arrow.to;
    if (!last) continue;
    std::stable_sort(causes.begin(), causes.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    StateRow row{arrow.machine, arrow.from, arrow.to, {}};
    for (auto& [count, cause] : causes) row.causes.push_back(std::move(cause));
    if (causes.empty()) row.causes = {kSeveral};
    if (std::exchange(total, 0) >= at_least) rows.push_back(std::move(row));
    causes.clear();
  }
  return rows;
}

std::string StatesPage(const std::vector<StateRow>& rows) {
  std::string page = kStatesIntroduction;
  for (const Machine& machine : kMachines) {
    std::vector<StateRow> its;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(its),
                 [&](const StateRow& row) { return row.machine == machine.name; });
    absl::StrAppend(&page, "\n## ", machine.title, "\n\n", machine.text, "\n\n```mermaid\n",
                    Diagram(its), "```\n\n", Table(its));
  }
  return page;
}

std::vector<StateRow> RowsIn(const std::string& page) {
  std::vector<StateRow> rows;
  std::string machine;
  for (const absl::string_view line : absl::StrSplit(page, '\n')) {
    for (const Machine& each : kMachines) {
      if (line == absl::StrCat("## ", each.title)) machine = each.name;
    }
    const std::vector<std::string> cells = absl::StrSplit(line, " | ");
    if (cells.size() != 3 || !absl::StartsWith(line, "| ") || !absl::EndsWith(line, " |")) continue;
    const std::string from = cells[0].substr(2);
    const std::string by = cells[2].substr(0, cells[2].size() - 2);
    if (from == "from" || from == "---") continue;
    rows.push_back({machine, from, cells[1], absl::StrSplit(by, ", ")});
  }
  return rows;
}

}  // namespace tensorhub::fault
