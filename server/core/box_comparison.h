// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How far boxes that several ranks of a publishing group hold were found to be alike: plain data,
// of a publication that is not visible yet (R1).

#ifndef TENSORHUB_SERVER_CORE_BOX_COMPARISON_H_
#define TENSORHUB_SERVER_CORE_BOX_COMPARISON_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tensorhub::hub {

struct BoxComparison {
  struct Said {
    uint64_t question = 0;  // 0: it makes no digests, and is not asked
    size_t count = 0;       // of the boxes asked for
    std::vector<uint64_t> digests;
  };
  bool begun = false;
  uint64_t questions = 0;  // that were put
  size_t first = 0;        // boxes before it are alike
  size_t end = 0;          // those before it were asked for
  size_t awaited = 0;      // ranks that have yet to say
  std::vector<Said> said;  // by rank

  // A rank publishes, or holds it no more: what was said to an earlier question does not count.
  void Restart() {
    BoxComparison anew;
    anew.questions = questions;
    *this = anew;
  }
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_BOX_COMPARISON_H_
