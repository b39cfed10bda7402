// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/transcript.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tensorhub::fault {
namespace {

// "actor/rollout/1#7": "rollout/1".
std::string ShortName(const std::string& who) {
  if (who == kServer) return who;
  const std::vector<std::string> parts = absl::StrSplit(who, absl::ByAnyChar("/#"));
  return absl::StrCat(parts.at(1), "/", parts.at(2));
}

// As long as no other number or word in a message is.
constexpr size_t kLongNumber = 9;

}  // namespace

std::string Transcript::Numbered(const std::string& text) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_not_of("0123456789abcdef", begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const bool is_long =
        word.size() >= kLongNumber && word.find_first_of("0123456789") != std::string::npos;
    if (is_long) {
      absl::StrAppend(&out, numbers_.try_emplace(word, numbers_.size() + 1).first->second);
    } else {
      out += text.substr(begin, std::max<size_t>(end - begin, 1));
    }
    begin = std::max(end, begin + 1);
  }
  return out;
}

void Transcript::OnMessage(const std::string& from, const std::string& to, const std::string& what,
                           const std::string& detail) {
  if (what == "Heartbeat") return;
  const Line line = {absl::StrCat(ShortName(from), " -> ", ShortName(to), ": ", what,
                                  detail.empty() ? "" : " ", Numbered(detail)),
                     Flows(what)};
  for (auto it = lines_.rbegin(); line.flows && it != lines_.rend() && it->flows; ++it) {
    if (it->text != line.text) continue;
    ++it->times;
    return;
  }
  lines_.push_back(line);
}

void Transcript::OnNote(const std::string& who, const std::string& what) {
  lines_.push_back({absl::StrCat(ShortName(who), ": ", what)});
}

std::string Transcript::Take() {
  std::string text;
  for (const Line& line : lines_) {
    absl::StrAppend(&text, "  ", line.text, line.times > 1 ? absl::StrCat(" x ", line.times) : "",
                    "\n");
  }
  lines_.clear();
  return text;
}

}  // namespace tensorhub::fault
