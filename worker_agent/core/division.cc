// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/division.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/check.h"

namespace tensorhub::agent {
namespace {

ReadItem Block(uint64_t begin, uint64_t end) {
  ReadItem item;
  item.source_offset = item.reader_offset = begin;
  item.run_bytes = end - begin;
  return item;
}

}  // namespace

Spread::Spread(const Chunking& chunking, uint32_t first, uint64_t block_bytes)
    : total_bytes_(chunking.total_bytes),
      block_bytes_(std::max<uint64_t>(block_bytes / chunking.chunk_bytes, 1) *
                   chunking.chunk_bytes) {
  const uint64_t begin = std::min(chunking.begin(first), total_bytes_);
  if (begin < total_bytes_) free_[begin] = total_bytes_;
}

// What lies in front of where the stream has come to is the next that anybody brings: it goes back
// for it when it has brought the rest, rather than leave it lying.
std::vector<ReadItem> Spread::Give(uint32_t /*part*/, uint64_t behind, uint64_t horizon) {
  const auto first = free_.begin();
  if (first == free_.end() || first->first < behind || first->first >= horizon) return {};
  const auto [begin, end] = *first;
  const uint64_t until = std::min(end, begin + block_bytes_);
  free_.erase(first);
  if (until < end) free_[until] = end;
  return {Block(begin, until)};
}

void Spread::TakeBack(uint32_t /*part*/, const std::vector<ReadItem>& items) {
  for (const ReadItem& item : items) {
    TH_CHECK(item.count == 1 && item.source_offset == item.reader_offset);
    uint64_t begin = item.reader_offset;
    uint64_t end = item.reader_end();
    auto next = free_.lower_bound(begin);
    TH_CHECK(next == free_.end() || end <= next->first);
    if (next != free_.end() && next->first == end) {
      end = next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin() && std::prev(next)->second == begin) {
      begin = std::prev(next)->first;
    }
    free_[begin] = end;
  }
}

Parts::Parts(ReadParts parts, uint64_t begin, uint64_t total_bytes, uint64_t block_bytes)
    : parts_(std::move(parts)), total_bytes_(total_bytes), block_bytes_(block_bytes) {
  for (const ReadStream& part : *parts_) given_.push_back(part.PositionBelowReader(begin));
}

std::vector<ReadItem> Parts::Give(uint32_t part, uint64_t /*behind*/, uint64_t horizon) {
  if (part >= given_.size()) return {};
  const ReadStream& copies = (*parts_)[part];
  const uint64_t begin = given_[part];
  const uint64_t end = std::min(copies.PositionBelowReader(horizon), begin + block_bytes_);
  if (end <= begin) return {};
  std::vector<ReadItem> items = copies.Cut(begin, end);
  if (items.size() > kItemsAtOnce) items.resize(kItemsAtOnce);
  given_[part] = items.back().end();
  return items;
}

void Parts::TakeBack(uint32_t part, const std::vector<ReadItem>& items) {
  for (const ReadItem& item : items) given_[part] -= item.bytes();
}

uint64_t Parts::LowWater() const {
  uint64_t low = total_bytes_;
  for (size_t part = 0; part < given_.size(); ++part) {
    low = std::min(low, (*parts_)[part].LowWater(given_[part], total_bytes_));
  }
  return low;
}

uint64_t Spread::LowWater() const { return free_.empty() ? total_bytes_ : free_.begin()->first; }

}  // namespace tensorhub::agent
