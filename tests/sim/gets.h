// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One-sided reads: a worker's memory and control word are read without it, whether it runs, is
// stopped or has died, at any moments between a get and its completion, each part at its own. Like
// worker_agent's OneSided above UCX.

#ifndef TENSORHUB_TESTS_SIM_GETS_H_
#define TENSORHUB_TESTS_SIM_GETS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/sim/scene.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"

namespace tensorhub::fault {

class Gets {
 public:
  explicit Gets(Scene& scene) : scene_(scene) {}

  void Import(Process& reader, const agent::ImportMemory& effect);
  void Get(Process& reader, const agent::Get& effect);
  void GetWord(Process& reader, const agent::GetWord& effect);
  void Close(Process& reader, Incarnation peer);

  // Whether a get may still write there.
  bool HasInto(const Process& reader, uint64_t begin, uint64_t bytes) const;
  bool HasAny(const Process& reader) const;
  // Who has gets of bytes under way that were begun in this generation of the source.
  std::set<const Process*> ReadersOf(const Process& source, Generation generation) const;

 private:
  using Key = std::pair<uint32_t, uint64_t>;  // the reader's number, token
  struct Pending {
    Process* reader = nullptr;
    Process* source = nullptr;
    std::vector<agent::CopyRun> runs;
    uint64_t half = 0;  // cells
    Generation generation = 0;
    bool word = false;
    uint64_t value = 0;
    bool ending = false;
  };

  bool IsMapped(const Process& reader, Incarnation peer) const;
  Nanos Moment();
  Nanos MomentOrNone();
  void Move(Key key, bool second);
  void MoveCells(const Pending& get, const agent::CopyRun& run, uint64_t from, uint64_t to);
  void End(Key key, Nanos delay, bool ok);

  Scene& scene_;
  std::set<std::pair<uint32_t, Incarnation>> mapped_;
  std::set<std::pair<uint32_t, Incarnation>> described_;
  std::map<Key, Pending> pending_;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_GETS_H_
