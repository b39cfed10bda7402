// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A worker's registered memory and its control word, without bytes: the shard is cut into cells,
// and a cell holds the name of what is in it. Whoever writes, writes through here, so that every
// write is held against what the control word promises to readers (R4, R5).

#ifndef TENSORHUB_TESTS_SIM_MEMORY_H_
#define TENSORHUB_TESTS_SIM_MEMORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/layout.h"

namespace tensorhub::fault {

using Cell = uint64_t;
inline constexpr uint64_t kCellBytes = 32 << 10;

// What a version's bytes are: the same number for all who publish the same bytes. 0: none.
using ContentId = uint32_t;

inline Cell CellOf(ContentId content, Rank rank, uint64_t index) {
  return (uint64_t{content} << 32) | (uint64_t{rank} << 24) | index;
}
// Never the cell of a content.
inline Cell Garbage(uint64_t number) { return (uint64_t{1} << 63) | number; }

// Bytes on their way: the cells that a range touches, as they were when they were read.
using Cells = std::vector<Cell>;

class Memory {
 public:
  // `names`: of the cells, in the model; null: they are their rank's.
  explicit Memory(const Chunking& chunking,
                  std::shared_ptr<const std::vector<uint32_t>> names = nullptr)
      : chunking_(chunking),
        names_(std::move(names)),
        cells_((chunking.total_bytes + kCellBytes - 1) / kCellBytes) {
    Scribble(0);
  }

  const Chunking& chunking() const { return chunking_; }
  ControlWord word() const { return word_; }
  // Rot counts as what the buffers hold once they mean something else.
  void SetWord(ControlWord word) {
    if (word.generation != word_.generation) rotten_.clear();
    word_ = word;
  }

  static uint64_t CellsIn(uint64_t begin, uint64_t bytes) {
    return bytes == 0 ? 0 : (begin + bytes - 1) / kCellBytes - begin / kCellBytes + 1;
  }
  // Appends a part, from cell `from` to before `to`, of what [begin, begin+bytes) touches.
  void Read(uint64_t begin, uint64_t from, uint64_t to, Cells& out) const {
    for (uint64_t i = from; i < to; ++i) out.push_back(cells_[begin / kCellBytes + i]);
  }

  // False: bytes that the control word calls valid would change.
  bool MayWrite(uint64_t begin, uint64_t bytes) const {
    return bytes == 0 || begin >= chunking_.begin(word_.valid_chunks);
  }
  // `cells` are those that the range touches. A cell of which only a part is written holds its
  // content once all of it was written with the same, from front to back.
  void Write(uint64_t begin, uint64_t bytes, const Cell* cells);

  // Of the cells that a range touches: equal where they are.
  uint64_t DigestOf(uint64_t begin, uint64_t bytes_there) const {
    Cells cells;
    Read(begin, 0, CellsIn(begin, bytes_there), cells);
    const auto* bytes = reinterpret_cast<const char*>(cells.data());
    return FingerprintOf({bytes, cells.size() * sizeof(Cell)}).lo;
  }

  void Fill(ContentId content, Rank rank) {
    parts_.clear();
    rotten_.clear();
    for (uint64_t i = 0; i < cells_.size(); ++i) cells_[i] = Named(content, rank, i);
  }
  // As a rank that forgot to take part in something.
  void Differ(uint64_t index, uint64_t number) {
    cells_[index] = Garbage(number);
    different_ = {index, cells_[index]};
  }
  // Until that cell is written.
  bool differs() const { return different_ && cells_[different_->first] == different_->second; }
  void Scribble(uint64_t number) {
    parts_.clear();
    rotten_.clear();
    for (Cell& cell : cells_) cell = Garbage(number);
  }
  // What has rotted in this generation counts as what it was: nobody can tell without looking.
  bool Holds(ContentId content, Rank rank, uint32_t first_chunk, uint32_t end_chunk) const;

  // A cell becomes another by itself: nobody writes.
  void Rot(uint64_t index, uint64_t number) {
    rotten_.try_emplace(index, cells_[index]);
    cells_[index] = Garbage(number);
  }
  bool rotten() const { return !rotten_.empty(); }
  uint64_t cells() const { return cells_.size(); }

 private:
  Cell Named(ContentId content, Rank rank, uint64_t index) const {
    return names_ ? CellOf(content, 0, (*names_)[index]) : CellOf(content, rank, index);
  }
  void WriteCell(uint64_t index, uint64_t from, uint64_t to, Cell value);

  const Chunking chunking_;
  const std::shared_ptr<const std::vector<uint32_t>> names_;
  std::vector<Cell> cells_;
  ControlWord word_;
  // Of a cell that is written in parts: up to where, and with what.
  struct Part {
    uint64_t end = 0;
    Cell value = 0;
  };
  std::map<uint64_t, Part> parts_;  // by its index
  // What was there before, by index; of this generation.
  std::map<uint64_t, Cell> rotten_;
  std::optional<std::pair<uint64_t, Cell>> different_;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_MEMORY_H_
