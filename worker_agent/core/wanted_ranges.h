// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which bytes a reader wants of its source, in the source's own byte space: runs of one length, a
// stride apart. A reader that is cut as its source wants runs that are long, one of another layout
// many that are short. The source need not know why.

#ifndef TENSORHUB_WORKER_AGENT_CORE_WANTED_RANGES_H_
#define TENSORHUB_WORKER_AGENT_CORE_WANTED_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker_agent/core/effects.h"

namespace tensorhub::agent {

struct WantedRange {
  uint64_t begin = 0;
  uint64_t run = 0;
  uint64_t stride = 0;  // from one run's begin to the next one's; 0 if there is one
  uint64_t count = 1;

  uint64_t bytes() const { return run * count; }
  uint64_t end() const { return begin + (count - 1) * stride + run; }
  bool operator==(const WantedRange&) const = default;
};

// In as few bytes as a message's text has room for: so many ranges fit, whatever they are.
inline constexpr size_t kRangesPerMessage = 100;
std::string EncodeRanges(const std::vector<WantedRange>& ranges);
// R9: nothing for bytes that EncodeRanges would not have written: of ranges that are empty, that
// run into each other or end beyond 2^60, or that do not ascend.
std::optional<std::vector<WantedRange>> DecodeRanges(std::string_view text);

// At the source: what a reader wants and has not been sent, in the order in which it wants it.
class RangeQueue {
 public:
  // R9: bounds what a reader can make its source remember.
  static constexpr size_t kRangesMax = 4096;

  // False, and nothing is added: it would be too many, or they do not ascend behind those that are
  // there. So what lies in front is valid first, and nothing behind it waits in vain.
  bool Append(const std::vector<WantedRange>& ranges);

  bool empty() const { return ranges_.empty(); }
  // No range that is there ends beyond it.
  uint64_t end() const { return ranges_.empty() ? 0 : ranges_.back().end(); }
  // Position of the next byte to be sent, counted from the first that was ever wanted.
  uint64_t position() const { return position_; }
  // What is wanted in front of it lies below `valid`, which never falls.
  uint64_t AvailableEnd(uint64_t valid);
  // Notes that so many bytes of what is there are sent.
  void Take(uint64_t bytes);

  // Goes ahead of what is sent, and takes nothing. Of a queue that stays as it is meanwhile.
  class Walk {
   public:
    explicit Walk(const RangeQueue& queue) : ranges_(queue.ranges_), taken_(queue.taken_) {}
    // The next piece: in one run, below `valid`, of at most so many bytes. Empty: none yet.
    ByteRange Next(uint64_t valid, uint64_t bytes_max) const;
    // Go on behind so many bytes of it.
    void Pass(uint64_t bytes);

   private:
    const std::deque<WantedRange>& ranges_;
    size_t at_ = 0;
    uint64_t taken_ = 0;  // of that range
  };

 private:
  std::deque<WantedRange> ranges_;
  uint64_t taken_ = 0;  // of the first range
  uint64_t position_ = 0;
  size_t valid_ = 0;        // so many ranges lie whole below `valid`, as it was last
  uint64_t valid_end_ = 0;  // position behind them
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_WANTED_RANGES_H_
