// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R6, R8: what is kept comes before what rests on it. Takes the hub's effects, event by event, and
// hands them out again in their order, once the rows that came before them are kept. Commits follow
// each other, one at a time; the rows of what happens during one go into the next together.
//
// 1. An effect is handed out only after the commit of every row that was added before it, or with
//    it.
// 2. Effects are handed out in the order in which they were added, each once.
//
// Thread contract: none; one thread at a time.

#ifndef TENSORHUB_SERVER_CORE_COMMIT_ORDER_H_
#define TENSORHUB_SERVER_CORE_COMMIT_ORDER_H_

#include <cstddef>

#include "server/core/durable.h"
#include "server/core/effects.h"

namespace tensorhub::hub {

class CommitOrder {
 public:
  // `keeps`: there is something to keep rows in. Otherwise no effect waits.
  explicit CommitOrder(bool keeps) : keeps_(keeps) {}

  // Takes the effects of one event, as Hub::Apply made them: its rows are the first, if there are
  // any. `effects` is empty then.
  void Add(Effects& effects);
  // Puts those that need not wait any more into `ready`, which is empty.
  void TakeReady(Effects& ready);

  bool committing() const { return committing_; }
  bool MustCommit() const { return !committing_ && !rows_.empty(); }
  // To be kept all or none; then EndCommit. If they could not be kept, nothing that waits may ever
  // be carried out: Drop.
  Persist BeginCommit();
  void EndCommit();
  void Drop();

  size_t waiting() const { return waiting_.size(); }

 private:
  const bool keeps_;
  Effects ready_;
  Effects behind_;   // the commit under way
  Persist rows_;     // for the next one
  Effects waiting_;  // behind rows_, if there are any
  bool committing_ = false;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_COMMIT_ORDER_H_
