// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/cuts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/check.h"
#include "tests/sim/memory.h"

namespace tensorhub::fault {
namespace {

constexpr uint64_t kColumns = 2;  // cells
const std::string kCutTensors[] = {"a", "c"};
const std::string kCommonTensor = "b";  // between them, one cell

}  // namespace

CutModel::CutModel(Dice& dice) : rows_{kRanksMax + dice.Below(20), kRanksMax + dice.Below(12)} {}

CutModel::Way CutModel::DrawWay(Dice& dice, uint32_t ranks) {
  if (ranks == kColumns && dice.Below(2) == 0) return Way::kColumns;
  return ranks > 1 && dice.Below(4) == 0 ? Way::kTensors : Way::kRows;
}

// By rows each rank has one at least.
std::vector<CutModel::Piece> CutModel::Cut(Dice& dice, size_t tensor, uint32_t ranks,
                                           Way way) const {
  const uint64_t rows = rows_[tensor];
  std::vector<Piece> pieces;
  if (way == Way::kTensors) {
    pieces.resize(ranks);
    pieces[tensor % ranks] = {0, rows, 0, kColumns};
    return pieces;
  }
  if (way == Way::kColumns) {
    for (uint32_t rank = 0; rank < ranks; ++rank) pieces.push_back({0, rows, rank, 1});
    return pieces;
  }
  const bool even = dice.Below(2) == 0;
  uint64_t row = 0;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    const uint64_t most = rows - row - (ranks - rank - 1);
    uint64_t taken = even ? std::min(most, (rows + ranks - 1) / ranks) : 1 + dice.Below(most);
    if (rank + 1 == ranks) taken = rows - row;
    pieces.push_back({row, taken, 0, kColumns});
    row += taken;
  }
  return pieces;
}

std::vector<CutShard> CutModel::Draw(Dice& dice, uint32_t ranks, bool all) const {
  const Way way = DrawWay(dice, ranks);
  const bool subset = !all && dice.Below(6) == 0;
  std::vector<std::vector<Piece>> by_rank(ranks);
  for (size_t tensor = 0; tensor < rows_.size(); ++tensor) {
    const std::vector<Piece> pieces = Cut(dice, tensor, ranks, way);
    for (uint32_t rank = 0; rank < ranks; ++rank) by_rank[rank].push_back(pieces[rank]);
    if (subset) break;
  }
  std::vector<CutShard> shards;
  for (const auto& pieces : by_rank) shards.push_back(ShardOf(pieces));
  return shards;
}

uint64_t CutModel::CommonCellOf(const Layout& layout) {
  for (const Layout::Entry& entry : layout.entries()) {
    if (entry.name == kCommonTensor) return entry.offset / kCellBytes;
  }
  TH_CHECK(false);
  return 0;
}

CutShard CutModel::ShardOf(const std::vector<Piece>& pieces) const {
  std::vector<TensorSpec> specs;
  auto cells = std::make_shared<std::vector<uint32_t>>();
  uint64_t base = 0;
  for (size_t tensor = 0; tensor < rows_.size(); ++tensor) {
    if (tensor == 1) {
      specs.push_back({kCommonTensor, DType::kU8, {kCellBytes}, SliceSpec{{kCellBytes}, {0}}});
      cells->push_back(static_cast<uint32_t>(base++));
    }
    if (tensor >= pieces.size()) break;
    const Piece& piece = pieces[tensor];
    const uint64_t first = std::exchange(base, base + rows_[tensor] * kColumns);
    if (piece.rows == 0) continue;
    const std::vector<uint64_t> global = {rows_[tensor], kColumns * kCellBytes};
    specs.push_back({kCutTensors[tensor],
                     DType::kU8,
                     {piece.rows, piece.columns * kCellBytes},
                     SliceSpec{global, {piece.row, piece.column * kCellBytes}}});
    for (uint64_t row = piece.row; row < piece.row + piece.rows; ++row) {
      for (uint64_t column = piece.column; column < piece.column + piece.columns; ++column) {
        cells->push_back(static_cast<uint32_t>(first + row * kColumns + column));
      }
    }
  }
  auto layout = Layout::Make(specs);
  TH_CHECK(layout.ok() && layout->total_bytes() == cells->size() * kCellBytes);
  return {std::make_shared<const Layout>(*std::move(layout)), cells};
}

}  // namespace tensorhub::fault
