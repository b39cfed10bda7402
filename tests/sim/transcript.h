// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What was said, as lines: "trainer/0 -> server: Publish v1 gen=1". Generations and fingerprints
// are numbered as they come: what they are says nothing.

#ifndef TENSORHUB_TESTS_SIM_TRANSCRIPT_H_
#define TENSORHUB_TESTS_SIM_TRANSCRIPT_H_

#include <map>
#include <string>
#include <vector>

#include "tests/sim/hearsay.h"

namespace tensorhub::fault {

// Heartbeats are left out. What repeats while bytes flow is one line, with how often.
class Transcript final : public Listener {
 public:
  void OnMessage(const std::string& from, const std::string& to, const std::string& what,
                 const std::string& detail) override;
  void OnNote(const std::string& who, const std::string& what) override;

  // What was said since it was taken last, each line with two blanks before it.
  std::string Take();

 private:
  struct Line {
    std::string text;
    bool flows = false;
    int times = 1;
  };

  std::string Numbered(const std::string& text);

  std::vector<Line> lines_;
  std::map<std::string, size_t> numbers_;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_TRANSCRIPT_H_
