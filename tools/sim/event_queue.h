// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Simulated time: integer nanoseconds, and a queue of what happens when. Things of the same instant
// come out in the order in which they were put in, so that a run depends on its seed alone.

#ifndef TENSORHUB_TOOLS_SIM_EVENT_QUEUE_H_
#define TENSORHUB_TOOLS_SIM_EVENT_QUEUE_H_

#include <cstdint>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

namespace tensorhub::sim {

using Nanos = int64_t;
inline constexpr Nanos kSecond = 1'000'000'000;
inline constexpr Nanos kMillisecond = 1'000'000;
inline constexpr Nanos kMicrosecond = 1'000;

inline double Seconds(Nanos time) { return static_cast<double>(time) * 1e-9; }

template <typename Payload>
class EventQueue {
 public:
  void Push(Nanos at, Payload payload) { heap_.push({at, next_++, std::move(payload)}); }

  std::optional<Nanos> NextTime() const {
    if (heap_.empty()) return std::nullopt;
    return heap_.top().at;
  }

  // Only when NextTime() has a value.
  std::pair<Nanos, Payload> Pop() {
    std::pair<Nanos, Payload> first{heap_.top().at, std::move(heap_.top().payload)};
    heap_.pop();
    return first;
  }

  // Only when NextTime() has a value.
  const Payload& NextPayload() const { return heap_.top().payload; }

  bool empty() const { return heap_.empty(); }

 private:
  struct Entry {
    Nanos at;
    uint64_t number;
    mutable Payload payload;  // moved out by Pop; no part of the order
    bool operator<(const Entry& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  std::priority_queue<Entry> heap_;
  uint64_t next_ = 0;
};

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_EVENT_QUEUE_H_
