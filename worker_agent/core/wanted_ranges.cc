// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/core/wanted_ranges.h"

#include <algorithm>

#include "common/bytes.h"
#include "common/check.h"

namespace tensorhub::agent {
namespace {

// Beyond any shard, and far from where sums overflow.
constexpr uint64_t kEndMax = uint64_t{1} << 60;

bool IsSound(const WantedRange& range) {
  if (range.run == 0 || range.count == 0 || range.begin > kEndMax || range.run > kEndMax) {
    return false;
  }
  if (range.count == 1) return range.stride == 0 && range.begin + range.run <= kEndMax;
  return range.stride >= range.run && range.begin + range.run <= kEndMax &&
         range.count - 1 <= (kEndMax - range.begin - range.run) / range.stride;
}

}  // namespace

std::string EncodeRanges(const std::vector<WantedRange>& ranges) {
  TH_CHECK(ranges.size() <= kRangesPerMessage);
  std::string text;
  ByteWriter writer(text);
  for (const WantedRange& range : ranges) {
    writer.PutVarint(range.begin);
    writer.PutVarint(range.run);
    writer.PutVarint(range.stride);
    writer.PutVarint(range.count);
  }
  return text;
}

std::optional<std::vector<WantedRange>> DecodeRanges(std::string_view text) {
  std::vector<WantedRange> ranges;
  ByteReader reader(text);
  while (reader.ok() && reader.left() > 0) {
    WantedRange range;
    range.begin = reader.TakeVarint();
    range.run = reader.TakeVarint();
    range.stride = reader.TakeVarint();
    range.count = reader.TakeVarint();
    const bool ascends = ranges.empty() || ranges.back().end() <= range.begin;
    if (!reader.ok() || !IsSound(range) || !ascends) return std::nullopt;
    ranges.push_back(range);
  }
  if (!reader.ok() || ranges.size() > kRangesPerMessage) return std::nullopt;
  return ranges;
}

bool RangeQueue::Append(const std::vector<WantedRange>& ranges) {
  if (ranges.empty()) return true;
  if (ranges_.size() + ranges.size() > kRangesMax || ranges.front().begin < end()) return false;
  ranges_.insert(ranges_.end(), ranges.begin(), ranges.end());
  return true;
}

uint64_t RangeQueue::AvailableEnd(uint64_t valid) {
  while (valid_ < ranges_.size() && ranges_[valid_].end() <= valid) {
    valid_end_ += ranges_[valid_++].bytes();
  }
  uint64_t position = valid_end_;
  if (valid_ < ranges_.size() && ranges_[valid_].begin < valid) {
    const WantedRange& range = ranges_[valid_];
    const uint64_t runs = range.count == 1 ? 0 : (valid - range.begin) / range.stride;
    position += runs * range.run;
    position += std::min(valid - range.begin - runs * range.stride, range.run);
  }
  return std::max(position, position_);
}

ByteRange RangeQueue::Walk::Next(uint64_t valid, uint64_t bytes_max) const {
  if (at_ == ranges_.size()) return {};
  const WantedRange& range = ranges_[at_];
  const uint64_t in_run = taken_ % range.run;
  const uint64_t begin = range.begin + taken_ / range.run * range.stride + in_run;
  if (begin >= valid) return {};
  return {begin, std::min({range.run - in_run, valid - begin, bytes_max})};
}

void RangeQueue::Walk::Pass(uint64_t bytes) {
  taken_ += bytes;
  TH_CHECK(at_ < ranges_.size() && taken_ <= ranges_[at_].bytes());
  if (taken_ < ranges_[at_].bytes()) return;
  ++at_;
  taken_ = 0;
}

void RangeQueue::Take(uint64_t bytes) {
  position_ += bytes;
  taken_ += bytes;
  while (!ranges_.empty() && taken_ >= ranges_.front().bytes()) {
    taken_ -= ranges_.front().bytes();
    if (valid_ > 0) {
      --valid_;
    } else {
      valid_end_ += ranges_.front().bytes();
    }
    ranges_.pop_front();
  }
  TH_CHECK(taken_ == 0 || !ranges_.empty());
}

}  // namespace tensorhub::agent
