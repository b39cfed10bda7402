// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A model that groups cut in different ways: two tensors that are cut and one that every rank has.
// A cell of memory is named by its place in the model, so that whoever holds it, in whichever
// shard, holds the same.

#ifndef TENSORHUB_TESTS_SIM_CUTS_H_
#define TENSORHUB_TESTS_SIM_CUTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "common/layout.h"
#include "tests/sim/faults.h"

namespace tensorhub::fault {

// What one rank holds: its cells' places in the model, in the order of its layout.
struct CutShard {
  std::shared_ptr<const Layout> layout;
  std::shared_ptr<const std::vector<uint32_t>> cells;
};

class CutModel {
 public:
  static constexpr uint32_t kRanksMax = 3;
  static constexpr size_t kTensors = 3;

  explicit CutModel(Dice& dice);

  // For a group of so many ranks: by rows, at even or uneven places; by columns, if there are as
  // many; or each tensor whole at one rank, as stages of a pipeline and experts are. Now and then
  // without the second tensor.
  std::vector<CutShard> Draw(Dice& dice, uint32_t ranks, bool all) const;

  // Where in its memory a rank has the cell that all ranks have.
  static uint64_t CommonCellOf(const Layout& layout);

 private:
  // No rows: the rank has nothing of the tensor.
  struct Piece {
    uint64_t row = 0;
    uint64_t rows = 0;
    uint64_t column = 0;
    uint64_t columns = 0;
  };
  enum class Way { kRows, kColumns, kTensors };
  static Way DrawWay(Dice& dice, uint32_t ranks);
  std::vector<Piece> Cut(Dice& dice, size_t tensor, uint32_t ranks, Way way) const;
  CutShard ShardOf(const std::vector<Piece>& pieces) const;

  std::vector<uint64_t> rows_;  // by tensor
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_CUTS_H_
