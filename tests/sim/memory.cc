// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/memory.h"

#include <algorithm>

namespace tensorhub::fault {

void Memory::Write(uint64_t begin, uint64_t bytes, const Cell* cells) {
  const uint64_t end = begin + bytes;
  for (uint64_t at = begin; at < end;) {
    const uint64_t index = at / kCellBytes;
    const uint64_t cell_end = std::min((index + 1) * kCellBytes, chunking_.total_bytes);
    const uint64_t to = std::min(end, cell_end);
    WriteCell(index, at, to, *cells++);
    at = to;
  }
}

void Memory::WriteCell(uint64_t index, uint64_t from, uint64_t to, Cell value) {
  const uint64_t cell_end = std::min((index + 1) * kCellBytes, chunking_.total_bytes);
  if (cells_[index] == value) return;  // the same bytes again
  const auto part = parts_.extract(index);
  const bool same = !part.empty() && part.mapped().value == value;
  const bool goes_on = same && from <= part.mapped().end;
  const bool from_front = from == index * kCellBytes;
  if ((from_front || goes_on) && to == cell_end) {
    cells_[index] = value;
    return;
  }
  cells_[index] = Garbage(value & 0xffffff);
  if (!from_front && !goes_on) return;
  parts_[index] = {goes_on ? std::max(to, part.mapped().end) : to, value};
}

bool Memory::Holds(ContentId content, Rank rank, uint32_t first_chunk, uint32_t end_chunk) const {
  if (first_chunk >= end_chunk) return true;
  const uint64_t first = chunking_.begin(first_chunk) / kCellBytes;
  const uint64_t end_byte = std::min(chunking_.begin(end_chunk), chunking_.total_bytes);
  const uint64_t end = (end_byte + kCellBytes - 1) / kCellBytes;
  for (uint64_t i = first; i < end; ++i) {
    const auto rotten = rotten_.find(i);
    const Cell cell = rotten == rotten_.end() ? cells_[i] : rotten->second;
    if (cell != Named(content, rank, i)) return false;
  }
  return true;
}

}  // namespace tensorhub::fault
