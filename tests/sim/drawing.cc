// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/drawing.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/check.h"

namespace tensorhub::fault {
namespace {

// Answers are codes of absl::Status.
bool IsAnswer(const std::string& from, const std::string& what) {
  return from == kServer && what.size() > 1 && std::isupper(what[1]) != 0;
}

}  // namespace

std::string Drawing::Shown(const std::string& who) {
  if (who == kServer) return who;
  const std::vector<std::string> parts = absl::StrSplit(who, absl::ByAnyChar("/#"));
  TH_CHECK(parts.size() >= 3);
  return absl::StrCat(parts[1], " ", parts[2]);
}

// Of those at the end that flow.
Drawing::Line* Drawing::SameInThisFlow(const Line& line) {
  if (!Flows(line.what)) return nullptr;
  for (auto it = lines_.rbegin(); it != lines_.rend() && Flows(it->what); ++it) {
    if (*it == line) return &*it;
  }
  return nullptr;
}

void Drawing::OnMessage(const std::string& from, const std::string& to, const std::string& what,
                        const std::string& /*detail*/) {
  if (!begun_ || what == "Heartbeat") return;
  const Line line = {Shown(from), Shown(to), what};
  if (Line* same = SameInThisFlow(line)) {
    ++same->times;
  } else {
    lines_.push_back(line);
  }
}

void Drawing::OnNote(const std::string& who, const std::string& what) {
  if (begun_) lines_.push_back({Shown(who), "", what});
}

std::string Drawing::Id(const std::string& shown) const {
  const auto found = std::find(participants_.begin(), participants_.end(), shown);
  TH_CHECK(found != participants_.end());
  return absl::StrCat("p", found - participants_.begin());
}

std::string Drawing::Text() const {
  std::string text = "sequenceDiagram\n";
  for (const std::string& who : participants_) {
    absl::StrAppend(&text, "    participant ", Id(who), " as ", who, "\n");
  }
  for (const Line& line : lines_) {
    if (line.to.empty()) {
      absl::StrAppend(&text, "    Note over ", Id(line.from), ": ", line.what, "\n");
      continue;
    }
    absl::StrAppend(&text, "    ", Id(line.from), IsAnswer(line.from, line.what) ? "-->>" : "->>",
                    Id(line.to), ": ", line.what);
    absl::StrAppend(&text, line.times > 1 ? absl::StrCat(" × ", line.times) : "", "\n");
  }
  return text;
}

}  // namespace tensorhub::fault
