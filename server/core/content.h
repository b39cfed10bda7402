// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R1: what is held against what, before it counts as one content. What is said of it comes as
// events.

#ifndef TENSORHUB_SERVER_CORE_CONTENT_H_
#define TENSORHUB_SERVER_CORE_CONTENT_H_

#include <vector>

#include "server/core/state.h"

namespace tensorhub::hub {

struct Hub::State::Content {
  State& state;

  // What the worker says that it reads into these very buffers; null: nothing.
  static const Publication* ReadAs(const State& state, const Worker& worker, const PublishOp& op);
  // Who can tell a joiner where its bytes differ.
  static ComparedWith HolderToAsk(const State& state, const Publication& publication,
                                  const Worker& joiner);

  // equal_boxes.cc: within a publication. `ranks`: all of them, in order. False: it is not known
  // yet, or they do not agree, and then nobody holds the publication any more.
  bool BoxesAgree(Publication& publication, const std::vector<Worker*>& ranks) const;
  // What a new session of the worker may have lost.
  void AskAgain(Worker& worker) const;
  // The planner has answered, or a layout has come.
  void RetryUnfinished() const;

 private:
  void AskForBoxes(Publication& publication, const EqualBoxes& equal,
                   const std::vector<Worker*>& ranks) const;
  absl::Status Compare(const Publication& publication, const EqualBoxes& equal,
                       const std::vector<Worker*>& ranks) const;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_CONTENT_H_
