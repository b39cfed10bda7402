// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R2: the terms of a model, and what they supersede. Plain value; who begins one is in terms.cc.

#ifndef TENSORHUB_SERVER_CORE_TERMS_H_
#define TENSORHUB_SERVER_CORE_TERMS_H_

#include <algorithm>
#include <vector>

#include "common/check.h"
#include "common/ids.h"

namespace tensorhub::hub {

class Terms {
 public:
  // Terms that go back less far than a later one say nothing more and are not kept; of the others,
  // the newest. Who still holds something from before them has been away for as many restarts.
  static constexpr size_t kKept = 256;

  Term now() const { return line_.empty() ? Term{} : line_.back(); }

  // Whether what was published in that term, under that number, is superseded by a later one.
  bool Supersede(TermNumber term, VersionNumber version) const {
    const auto later = std::upper_bound(
        line_.begin(), line_.end(), term,
        [](TermNumber number, const Term& other) { return number < other.number; });
    return later != line_.end() && later->since <= version;  // the later, the higher `since`
  }

  // Whether another term is known by its number.
  bool Contradict(const Term& term) const {
    return std::any_of(line_.begin(), line_.end(), [&](const Term& known) {
      return known.number == term.number && known.since != term.since;
    });
  }

  void Begin(const Term& term) {
    TH_CHECK(term.number > now().number);
    while (!line_.empty() && line_.back().since >= term.since) line_.pop_back();
    line_.push_back(term);
    if (line_.size() > kKept) line_.erase(line_.begin());
  }

  // Ascending, by number and by `since`.
  const std::vector<Term>& line() const { return line_; }

 private:
  std::vector<Term> line_;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_TERMS_H_
