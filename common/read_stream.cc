// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/read_stream.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "common/limits.h"

namespace tensorhub {
namespace {

// Where an item lies in one of the two byte spaces.
struct Side {
  uint64_t ReadItem::*offset;
  uint64_t ReadItem::*stride;
};
constexpr Side kSource = {&ReadItem::source_offset, &ReadItem::source_stride};
constexpr Side kReader = {&ReadItem::reader_offset, &ReadItem::reader_stride};

// Where the byte at `position` of the stream, which is the item's, lies on that side.
uint64_t OffsetOf(const ReadItem& item, const Side& side, uint64_t position) {
  const uint64_t in_item = position - item.position;
  return item.*side.offset + in_item / item.run_bytes * item.*side.stride +
         in_item % item.run_bytes;
}

// How many bytes of the item lie below `offset` of that space.
uint64_t BytesBelow(const ReadItem& item, const Side& side, uint64_t offset) {
  const uint64_t begin = item.*side.offset;
  const uint64_t stride = item.*side.stride;
  if (offset <= begin) return 0;
  const uint64_t run = item.count == 1 ? 0 : std::min((offset - begin) / stride, item.count - 1);
  return run * item.run_bytes + std::min(offset - begin - run * stride, item.run_bytes);
}

// How many bytes of all items do.
uint64_t PositionBelow(const std::vector<ReadItem>& items, const Side& side, uint64_t offset) {
  const auto after = std::upper_bound(
      items.begin(), items.end(), offset,
      [&](uint64_t wanted, const ReadItem& item) { return wanted <= item.*side.offset; });
  if (after == items.begin()) return 0;
  const ReadItem& item = *(after - 1);
  return item.position + BytesBelow(item, side, offset);
}

// The item's runs [first, first + count), each without its first `skip` bytes and `run_bytes` long.
ReadItem PartOf(const ReadItem& item, uint64_t first, uint64_t count, uint64_t skip,
                uint64_t run_bytes) {
  ReadItem part = item;
  part.position += first * item.run_bytes + skip;
  part.source_offset += first * item.source_stride + skip;
  part.reader_offset += first * item.reader_stride + skip;
  part.count = count;
  part.run_bytes = run_bytes;
  return part;
}

// [begin, end) of the item's own bytes: the rest of a run, whole runs, the begin of one.
void AppendPart(const ReadItem& item, uint64_t begin, uint64_t end, std::vector<ReadItem>& parts) {
  const uint64_t run_bytes = item.run_bytes;
  if (const uint64_t skip = begin % run_bytes; skip != 0 && begin < end) {
    const uint64_t bytes = std::min(run_bytes - skip, end - begin);
    parts.push_back(PartOf(item, begin / run_bytes, 1, skip, bytes));
    begin += bytes;
  }
  if (const uint64_t whole = (end - begin) / run_bytes; whole != 0) {
    parts.push_back(PartOf(item, begin / run_bytes, whole, 0, run_bytes));
    begin += whole * run_bytes;
  }
  if (begin < end) parts.push_back(PartOf(item, begin / run_bytes, 1, 0, end - begin));
}

}  // namespace

bool ReadStream::Append(ReadItem item) {
  item.position = bytes();
  if (!items_.empty()) {
    ReadItem& last = items_.back();
    if (item.source_offset < last.source_end() || item.reader_offset < last.reader_end()) {
      return false;
    }
    if (last.count == 1 && item.count == 1 && item.source_offset == last.source_end() &&
        item.reader_offset == last.reader_end()) {
      last.run_bytes += item.run_bytes;
      return true;
    }
  }
  items_.push_back(item);
  return true;
}

size_t ReadStream::ItemAt(uint64_t position) const {
  const auto after = std::upper_bound(
      items_.begin(), items_.end(), position,
      [](uint64_t wanted, const ReadItem& item) { return wanted < item.position; });
  return static_cast<size_t>(after - items_.begin()) - 1;
}

uint64_t ReadStream::SourceOffset(uint64_t position) const {
  return OffsetOf(items_[ItemAt(position)], kSource, position);
}

uint64_t ReadStream::ReaderOffset(uint64_t position) const {
  return OffsetOf(items_[ItemAt(position)], kReader, position);
}

uint64_t ReadStream::LowWater(uint64_t position, uint64_t reader_bytes) const {
  return position < bytes() ? ReaderOffset(position) : reader_bytes;
}

uint64_t ReadStream::PositionBelowSource(uint64_t source_offset) const {
  return PositionBelow(items_, kSource, source_offset);
}

uint64_t ReadStream::PositionBelowReader(uint64_t reader_offset) const {
  return PositionBelow(items_, kReader, reader_offset);
}

std::vector<ReadItem> ReadStream::Cut(uint64_t begin, uint64_t end) const {
  std::vector<ReadItem> parts;
  if (begin >= end) return parts;
  for (size_t i = ItemAt(begin); i < items_.size() && items_[i].position < end; ++i) {
    const ReadItem& item = items_[i];
    AppendPart(item, std::max(begin, item.position) - item.position,
               std::min(end, item.end()) - item.position, parts);
  }
  return parts;
}

// --- a cell as strided copies -------------------------------------------------------------------

namespace {

// A loop over a cell: so often, and so far apart, in bits.
struct Loop {
  uint64_t count = 1;
  uint64_t source_stride = 0;
  uint64_t reader_stride = 0;
};

// What lies dense in both spaces, and the loops around it from the inmost one outwards. Everything
// is inside of a box whose bits can be counted, so nothing overflows.
struct Nest {
  uint64_t run = 0;
  uint64_t source_offset = 0;
  uint64_t reader_offset = 0;
  std::array<Loop, kTensorDimensionsMax> loops;
  size_t depth = 0;

  void Add(uint64_t count, uint64_t source_stride, uint64_t reader_stride) {
    if (count == 1) return;
    if (depth == 0 && source_stride == run && reader_stride == run) {
      run *= count;
      return;
    }
    if (depth > 0) {
      Loop& inner = loops[depth - 1];
      if (inner.count * inner.source_stride == source_stride &&
          inner.count * inner.reader_stride == reader_stride) {
        inner.count *= count;
        return;
      }
    }
    loops[depth++] = {count, source_stride, reader_stride};
  }

  bool IsOfWholeBytes() const {
    uint64_t all = run | source_offset | reader_offset;
    for (size_t i = 0; i < depth; ++i) all |= loops[i].source_stride | loops[i].reader_stride;
    return all % 8 == 0;
  }
};

Nest NestOf(Box cell, Box source, Box reader, uint32_t element_bits) {
  Nest nest;
  nest.run = element_bits;
  uint64_t source_stride = element_bits;
  uint64_t reader_stride = element_bits;
  for (size_t i = cell.size(); i-- > 0;) {
    nest.source_offset += (cell[i].begin - source[i].begin) * source_stride;
    nest.reader_offset += (cell[i].begin - reader[i].begin) * reader_stride;
    nest.Add(cell[i].extent(), source_stride, reader_stride);
    source_stride *= source[i].extent();
    reader_stride *= reader[i].extent();
  }
  return nest;
}

// One item for each turn of the loops around the inmost one, in their order.
void AppendTurns(const Nest& nest, size_t level, ReadItem item, std::vector<ReadItem>& items) {
  if (level <= 1) return items.push_back(item);
  const Loop& loop = nest.loops[level - 1];
  for (uint64_t i = 0; i < loop.count; ++i) {
    AppendTurns(nest, level - 1, item, items);
    item.source_offset += loop.source_stride / 8;
    item.reader_offset += loop.reader_stride / 8;
  }
}

// How many items it makes; nothing if that is more than `items_max`.
std::optional<uint64_t> CountTurns(const Nest& nest, size_t items_max) {
  if (items_max == 0) return std::nullopt;
  uint64_t turns = 1;
  for (size_t i = 1; i < nest.depth; ++i) {
    turns *= nest.loops[i].count;
    if (turns > items_max) return std::nullopt;
  }
  return turns;
}

}  // namespace

ItemsResult AppendItems(Box cell, const PlacedBox& source, const PlacedBox& reader,
                        uint32_t element_bits, size_t items_max, std::vector<ReadItem>& items) {
  const Nest nest = NestOf(cell, source.box, reader.box, element_bits);
  if (!nest.IsOfWholeBytes()) return ItemsResult::kPartOfByte;
  if (!CountTurns(nest, items_max)) return ItemsResult::kTooMany;
  const Loop inmost = nest.depth > 0 ? nest.loops[0] : Loop{1, nest.run, nest.run};
  const ReadItem first = {0,
                          source.byte_offset + nest.source_offset / 8,
                          reader.byte_offset + nest.reader_offset / 8,
                          nest.run / 8,
                          inmost.count,
                          inmost.source_stride / 8,
                          inmost.reader_stride / 8};
  AppendTurns(nest, nest.depth, first, items);
  return ItemsResult::kAppended;
}

ItemsResult MeasureItems(Box cell, const PlacedBox& source, const PlacedBox& reader,
                         uint32_t element_bits, size_t items_max, ItemsExtent& extent) {
  const Nest nest = NestOf(cell, source.box, reader.box, element_bits);
  if (!nest.IsOfWholeBytes()) return ItemsResult::kPartOfByte;
  const std::optional<uint64_t> turns = CountTurns(nest, items_max);
  if (!turns) return ItemsResult::kTooMany;
  extent = {*turns,
            nest.run / 8,
            source.byte_offset + nest.source_offset / 8,
            source.byte_offset + (nest.source_offset + nest.run) / 8,
            reader.byte_offset + nest.reader_offset / 8,
            reader.byte_offset + (nest.reader_offset + nest.run) / 8};
  for (const Loop& loop : std::span(nest.loops).first(nest.depth)) {
    extent.bytes *= loop.count;
    extent.source_end += (loop.count - 1) * loop.source_stride / 8;
    extent.reader_end += (loop.count - 1) * loop.reader_stride / 8;
  }
  return ItemsResult::kAppended;
}

}  // namespace tensorhub
