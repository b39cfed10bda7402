// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The commands of tensorhub-test-worker, one line each, and their answers, one line each:
// "ok [name=value …]" or "error CODE message".
//
//   connect server=A model=M group=G [rank=0] [world=1] [location=L] [spot=1] [timeout=MS]
//   register [tensors=N] [bytes=TOTAL] [seed=S] [dtype=U8] [layout=malloc|arena|shuffled]
//            [shared=1] [unaligned=1] [empty=N] [fault=overlap|null|duplicate|size|dtype]
//            [device=N]                             memory of a GPU, an allocation per tensor
//   fill V                            the registered bytes become those of version V
//   check V                           error DATA_LOSS unless they are
//   damage                            a bit changes in the middle, whoever may be reading
//   forbid                            who reads a tensor in its middle, to send it, is killed
//   health                            what Client::Health says
//   publish V [wait=1] [supersede=1] [timeout=MS]  → ok ms= us=
//   unpublish [drain=MS]              → ok ms=ELAPSED us=ELAPSED
//   fetch latest | exact=V | newer=V [timeout=MS]
//                                     → ok version= bytes= skipped= way= sources= ms= us=
//                                     writes "progress VERSION DONE TOTAL SOURCE" meanwhile
//   wait latest | exact=V | newer=V [timeout=MS]  → ok version=
//   list                              → ok V:STATE:BYTES:GROUP=STATE/COMPLETE/RANKS,… …
//   leave
//   exit                              ends the program, through the client's destructor

#ifndef TENSORHUB_TESTS_INTEGRATION_WORKER_COMMANDS_H_
#define TENSORHUB_TESTS_INTEGRATION_WORKER_COMMANDS_H_

#include <tensorhub/ros.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tests/integration/worker/shard.h"
#include "tools/ctl/leave_on_signal.h"

namespace tensorhub::worker {

// A command in pieces. Words without `=` have the value "1".
struct Command {
  static Command Parse(const std::string& line);

  bool Has(const std::string& name) const { return words.contains(name); }
  std::string Text(const std::string& name, const std::string& otherwise = "") const;
  uint64_t Number(const std::string& name, uint64_t otherwise) const;
  std::chrono::milliseconds Time(const std::string& name, uint64_t otherwise_ms) const;
  // latest, exact= or newer=.
  tensorhub::Selector Selector() const;

  std::string verb;
  uint64_t version = 0;  // the second word, where it is a number
  std::map<std::string, std::string> words;
};

class Commands {
 public:
  // Whoever connects is watched by `leaving`.
  explicit Commands(ctl::LeaveOnSignal& leaving) : leaving_(leaving) {}

  // The answer to one line.
  std::string Run(const std::string& line);

 private:
  using Answer = absl::StatusOr<std::string>;

  Answer Dispatch(const Command& command);
  Answer Connect(const Command& command);
  Answer Register(const Command& command);
  Answer Publish(const Command& command);
  Answer Unpublish(const Command& command);
  Answer Fetch(const Command& command);
  Answer Wait(const Command& command);
  Answer List();

  ctl::LeaveOnSignal& leaving_;
  uint32_t rank_ = 0;
  // The client reads the shard's memory for as long as it lives: it goes first.
  std::optional<Shard> shard_;
  std::unique_ptr<tensorhub::Client> client_;
  std::optional<ctl::Watching> watching_;
};

}  // namespace tensorhub::worker

#endif  // TENSORHUB_TESTS_INTEGRATION_WORKER_COMMANDS_H_
