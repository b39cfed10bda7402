// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Scripts of both sides: the real hub and real agents, and everything that they say to each other.
// A line that begins with "> " is done, and what was said because of it follows. Commands:
//
//   add W [of=N] [host=H]     a worker GROUP/RANK of a group of N comes, alone on a host or on H
//   publish W vN, fetch W [vN], unpublish W, leave W      asked, not waited for
//   until W has N             chunks are valid at W
//   stabilize                 nothing is asked any more, and what was said has arrived
//   wait N                    milliseconds
//   kill W [silently], replace W                          its host says so, or is gone
//   supplant W as V           another process of the rank comes, and the first one, V now, lives on
//   crash hub, start hub
//   lose calls, lose answers  from now on, between workers and the hub
//   cut W W, cut W hub        both ways, without anybody being told
//   heal, mend W              nothing is lost or cut any more; W is not cut off from the hub
//   drain W [undo]

#ifndef TENSORHUB_TESTS_SIM_TWO_SIDED_H_
#define TENSORHUB_TESTS_SIM_TWO_SIDED_H_

#include <map>
#include <string>
#include <vector>

#include "tests/sim/story.h"
#include "tests/sim/transcript.h"

namespace tensorhub::fault {

class TwoSided {
 public:
  TwoSided() : story_(&transcript_) {}

  // The script with what was said. What follows a command in it is left out.
  std::string Replay(const std::string& script);

 private:
  using Arguments = std::vector<std::string>;

  // False: there is no such command.
  bool Do(const Arguments& words);
  bool DoToWorker(const Arguments& words);
  bool DoToHub(const std::string& verb);
  bool Lose(const std::string& what);
  void Add(const Arguments& words);
  void AskFor(const Arguments& words, Process& worker);
  void Cut(const Arguments& words);
  void Heal();
  void Stabilize();

  Transcript transcript_;
  Story story_;
  std::map<std::string, Process*> workers_;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_TWO_SIDED_H_
