// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What was said, as a sequence diagram of Mermaid.

#ifndef TENSORHUB_TESTS_SIM_DRAWING_H_
#define TENSORHUB_TESTS_SIM_DRAWING_H_

#include <string>
#include <vector>

#include "tests/sim/hearsay.h"

namespace tensorhub::fault {

// Heartbeats are left out, and what repeats while bytes flow is drawn once, with how often.
class Drawing final : public Listener {
 public:
  // From left to right, after the server, whoever says something or not.
  void AddParticipant(const std::string& who) { participants_.push_back(Shown(who)); }
  // From now on.
  void Begin() { begun_ = true; }

  void OnMessage(const std::string& from, const std::string& to, const std::string& what,
                 const std::string& detail) override;
  void OnNote(const std::string& who, const std::string& what) override;

  std::string Text() const;

 private:
  struct Line {
    std::string from;
    std::string to;  // empty: a note over `from`
    std::string what;
    int times = 1;
    bool operator==(const Line& other) const {
      return from == other.from && to == other.to && what == other.what;
    }
  };

  // "actor/rollout/1#7", the second process of rank 1: "rollout 1".
  static std::string Shown(const std::string& who);
  Line* SameInThisFlow(const Line& line);
  std::string Id(const std::string& shown) const;

  bool begun_ = false;
  std::vector<std::string> participants_ = {kServer};
  std::vector<Line> lines_;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_DRAWING_H_
