// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A stream: what a reader takes from one source that is cut in another way, as strided copies from
// the source's byte space to the reader's. Items, and the runs in an item, ascend in both spaces
// without touching what came before: a stream position (bytes since its begin) means one place in
// each of them, and all look-ups are monotone.

#ifndef TENSORHUB_COMMON_READ_STREAM_H_
#define TENSORHUB_COMMON_READ_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/boxes.h"

namespace tensorhub {

// `count` runs of `run_bytes`, in bytes all. Strides are from one run's begin to the next one's.
struct ReadItem {
  uint64_t position = 0;  // in the stream
  uint64_t source_offset = 0;
  uint64_t reader_offset = 0;
  uint64_t run_bytes = 0;
  uint64_t count = 1;
  uint64_t source_stride = 0;
  uint64_t reader_stride = 0;

  uint64_t bytes() const { return run_bytes * count; }
  uint64_t end() const { return position + bytes(); }
  uint64_t source_end() const { return source_offset + (count - 1) * source_stride + run_bytes; }
  uint64_t reader_end() const { return reader_offset + (count - 1) * reader_stride + run_bytes; }
  bool operator==(const ReadItem&) const = default;
};

class ReadStream {
 public:
  const std::vector<ReadItem>& items() const { return items_; }
  uint64_t bytes() const { return items_.empty() ? 0 : items_.back().end(); }

  // Gives the item its position. False, and nothing added, if it does not ascend. One that goes on
  // where the last one ends is made part of it.
  bool Append(ReadItem item);

  // Where the byte at `position`, which is below bytes(), lies in the source.
  uint64_t SourceOffset(uint64_t position) const;
  uint64_t ReaderOffset(uint64_t position) const;
  // The first byte of the reader's that it still has to bring, where it has come to `position`;
  // `reader_bytes`, the size of that space, if none is left.
  uint64_t LowWater(uint64_t position, uint64_t reader_bytes) const;

  // How many of its bytes lie below an offset: how far it can go if its source has so much, and
  // how much of it a reader wants who wants so much.
  uint64_t PositionBelowSource(uint64_t source_offset) const;
  uint64_t PositionBelowReader(uint64_t reader_offset) const;

  // What it carries in [begin, end) of its positions, begin <= end <= bytes(): at most three items
  // for each of items(), of which whole runs stay together.
  std::vector<ReadItem> Cut(uint64_t begin, uint64_t end) const;

 private:
  size_t ItemAt(uint64_t position) const;

  std::vector<ReadItem> items_;
};

// A box that lies dense and row-major at an offset of a byte space.
struct PlacedBox {
  Box box;
  uint64_t byte_offset = 0;
};

enum class ItemsResult { kAppended, kPartOfByte, kTooMany };
// Appends the copies, in order, that bring `cell` (not empty) from one box to another, both of
// which hold it whole. kPartOfByte: elements are smaller than a byte, and a run would begin or end
// within one. kTooMany: it would take more than `items_max`; then nothing is appended.
ItemsResult AppendItems(Box cell, const PlacedBox& source, const PlacedBox& reader,
                        uint32_t element_bits, size_t items_max, std::vector<ReadItem>& items);

// What AppendItems would append, without it.
struct ItemsExtent {
  uint64_t items = 0;
  uint64_t bytes = 0;
  uint64_t source_begin = 0;
  uint64_t source_end = 0;
  uint64_t reader_begin = 0;
  uint64_t reader_end = 0;
};
ItemsResult MeasureItems(Box cell, const PlacedBox& source, const PlacedBox& reader,
                         uint32_t element_bits, size_t items_max, ItemsExtent& extent);

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_READ_STREAM_H_
