// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/commit_order.h"

#include <iterator>
#include <utility>

namespace tensorhub::hub {
namespace {

// Where nothing is to be put in front, no effect is moved.
void Append(Effects& from, Effects& to) {
  if (to.empty()) {
    to.swap(from);
  } else {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  }
  from.clear();
}

}  // namespace

void CommitOrder::Add(Effects& effects) {
  if (effects.empty()) return;
  auto* rows = std::get_if<Persist>(&effects.front());
  if (rows != nullptr && keeps_) rows_.Add(std::move(*rows));
  Append(effects, waiting_);
}

void CommitOrder::TakeReady(Effects& ready) {
  Append(ready_, ready);
  if (!committing_ && rows_.empty()) Append(waiting_, ready);
}

Persist CommitOrder::BeginCommit() {
  committing_ = true;
  behind_.swap(waiting_);
  return std::exchange(rows_, {});
}

void CommitOrder::EndCommit() {
  committing_ = false;
  Append(behind_, ready_);
}

void CommitOrder::Drop() {
  committing_ = false;
  rows_ = {};
  behind_.clear();
  waiting_.clear();
}

}  // namespace tensorhub::hub
