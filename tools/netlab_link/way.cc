// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/netlab_link/way.h"

#include <algorithm>
#include <cmath>

namespace tensorhub::netlab {
namespace {

// How much of a rate is made up for when the program was late to look: the kernel's own queues
// (netlab_lib/kernel.py) allow as much.
constexpr double kLate = 0.004;
constexpr size_t kFlowsMax = 1 << 16;
constexpr double kIdle = 60;

// A place has 53 bits, so that it is below 1.
double PlaceOf(uint64_t flow) { return static_cast<double>(flow >> 11) * 0x1p-53; }

double Fraction(double value) { return value - std::floor(value); }

double Decayed(double recent, double seconds) { return recent * std::exp(-seconds); }

double LowerRate(double one, double other) {
  if (one == 0 || other == 0) return std::max(one, other);
  return std::min(one, other);
}

}  // namespace

void Way::Set(const Settings& settings, double now) {
  settings_ = settings;
  since_ = now;
  sick_from_.reset();
}

bool Way::Happens(double share) {
  return share > 0 && static_cast<double>(random_.Next() >> 11) * 0x1p-53 < share;
}

bool Way::Dead(double now) const {
  const double begin = since_ + settings_.dead_after_s;
  return settings_.dead_for_s > 0 && now >= begin && now < begin + settings_.dead_for_s;
}

// Who is idle for a minute is a new flow when it speaks again. If that is not enough, all are.
void Way::Forget(double now) {
  std::erase_if(flows_, [&](const auto& entry) { return now - entry.second.last > kIdle; });
  if (flows_.size() >= kFlowsMax) flows_.clear();
  const auto open = [](const auto& entry) { return entry.second.open; };
  open_ = static_cast<size_t>(std::count_if(flows_.begin(), flows_.end(), open));
}

// A second's worth may begin at once.
bool Way::MayBegin(double now) {
  if (settings_.connections > 0 && static_cast<double>(open_) >= settings_.connections) {
    return false;
  }
  if (settings_.connection_rate == 0) return true;
  if (next_begin_ > now) return false;
  next_begin_ = std::max(next_begin_, now - 1) + 1 / settings_.connection_rate;
  return true;
}

bool Way::Refuses(const FrameInfo& frame, Flow& flow, double now) {
  if (frame.ends && flow.open) {
    flow.open = false;
    --open_;
  }
  if (!frame.asks || flow.open) return false;
  if (!MayBegin(now)) return true;
  flow.open = true;
  ++open_;
  return false;
}

Way::Flow& Way::Known(const FrameInfo& frame, size_t bytes, double now) {
  const bool crowded = settings_.connections > 0 && frame.asks;
  if (flows_.size() >= kFlowsMax || crowded) Forget(now);
  const auto [found, added] = flows_.try_emplace(frame.flow);
  Flow& flow = found->second;
  if (added || frame.begins) flow = {.begun = now, .last = now, .open = flow.open};
  flow.recent = Decayed(flow.recent, now - flow.last) + static_cast<double>(bytes);
  flow.last = now;
  return flow;
}

double Way::PlaceOfBusiest(double now) const {
  double place = 0;
  double most = -1;
  for (const auto& [key, flow] : flows_) {
    const double recent = Decayed(flow.recent, now - flow.last);
    if (recent > most) {
      most = recent;
      place = PlaceOf(key);
    }
  }
  return place;
}

bool Way::Sick(const FrameInfo& frame, double now) {
  if (settings_.sick == 0 || now < since_ + settings_.sick_after_s) return false;
  if (!sick_from_.has_value()) {
    const bool busiest = settings_.sick_busiest != 0;
    sick_from_ = busiest ? Fraction(PlaceOfBusiest(now) - settings_.sick / 2) : 0;
  }
  return Fraction(PlaceOf(frame.flow) - *sick_from_) < settings_.sick;
}

bool Way::Full(double rate_bit, double free_at, double now) const {
  if (rate_bit == 0) return false;
  const double room =
      settings_.queue_bytes > 0 ? settings_.queue_bytes * 8 / rate_bit : settings_.queue_s;
  return free_at - now > room;
}

std::optional<double> Way::Through(Flow& flow, double flow_rate_bit, size_t bytes, double now) {
  if (Full(flow_rate_bit, flow.free_at, now) || Full(settings_.rate_bit, free_at_, now)) {
    return std::nullopt;
  }
  double through = now;
  const auto take = [&](double rate_bit, double& free_at) {
    if (rate_bit == 0) return;
    free_at = std::max(free_at, now - kLate) + static_cast<double>(bytes) * 8 / rate_bit;
    through = std::max(through, free_at);
  };
  take(settings_.rate_bit, free_at_);
  take(flow_rate_bit, flow.free_at);
  return through;
}

double Way::Arrival(double now) const { return std::max(now, free_at_) + settings_.delay_s; }

Way::Fate Way::Take(const FrameInfo& frame, size_t bytes, double now) {
  if (frame.neighbours) return {.arrives = now};
  if (Dead(now)) {
    ++counts_.dead;
    return {};
  }
  Flow& flow = Known(frame, bytes, now);
  const double age = now - flow.begun;
  if (settings_.reset_after_s > 0 && frame.tcp && age > settings_.reset_after_s) {
    ++counts_.reset;
    if (frame.resets) return {.arrives = Arrival(now)};
    return {.reset = true};
  }
  if (Refuses(frame, flow, now)) {
    ++counts_.refused;
    return {};
  }
  const bool sick = Sick(frame, now);
  if (Happens(settings_.loss) || (sick && Happens(settings_.sick_loss))) {
    ++counts_.lost;
    return {};
  }
  const double flow_rate_bit =
      LowerRate(settings_.flow_rate_bit, sick ? settings_.sick_rate_bit : 0);
  const std::optional<double> through = Through(flow, flow_rate_bit, bytes, now);
  if (!through.has_value()) {
    ++counts_.overflowed;
    return {};
  }
  ++counts_.frames;
  counts_.bytes += bytes;
  Fate fate{.arrives = *through + settings_.delay_s};
  if (Happens(settings_.duplicate)) {
    ++counts_.duplicated;
    fate.again = *fate.arrives + settings_.duplicate_delay_s;
  }
  return fate;
}

}  // namespace tensorhub::netlab
