// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One direction of a link: what becomes of a frame that enters it. Time is seconds of any clock,
// and comes with each call; chance comes from a seed. No frame is kept here.
//
// Thread contract: none; one thread.

#ifndef TENSORHUB_TOOLS_NETLAB_LINK_WAY_H_
#define TENSORHUB_TOOLS_NETLAB_LINK_WAY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "common/random.h"
#include "tools/netlab_link/frame.h"
#include "tools/netlab_link/settings.h"

namespace tensorhub::netlab {

// What became of the frames so far.
struct Counts {
  uint64_t frames = 0;  // that got through
  uint64_t bytes = 0;
  uint64_t lost = 0;        // by chance, also on sick paths
  uint64_t overflowed = 0;  // the queue was full
  uint64_t dead = 0;        // while the link was
  uint64_t duplicated = 0;
  uint64_t reset = 0;    // segments of connections that are too old
  uint64_t refused = 0;  // connections that were too many, each time that they were asked for
};

class Way {
 public:
  explicit Way(uint64_t seed) : random_(seed) {}

  // From now on; what is in the queue stays there.
  void Set(const Settings& settings, double now);

  // A frame that does not arrive is lost. `again`: it arrives a second time. `reset`: it does not,
  // and both ends of its connection are to hear a reset, at Arrival of their directions.
  struct Fate {
    std::optional<double> arrives = {};
    std::optional<double> again = {};
    bool reset = false;
  };
  Fate Take(const FrameInfo& frame, size_t bytes, double now);
  // When something arrives that enters now and takes no room, behind what is in the queue.
  double Arrival(double now) const;

  const Counts& counts() const { return counts_; }
  size_t flows() const { return flows_.size(); }

 private:
  struct Flow {
    double begun = 0;
    double last = 0;
    double free_at = 0;
    double recent = 0;  // bytes, of which a second takes two thirds away
    bool open = false;  // a connection that began in this direction
  };

  Flow& Known(const FrameInfo& frame, size_t bytes, double now);
  void Forget(double now);
  // Whether one more connection is one too many. Keeps count of those that are open.
  bool Refuses(const FrameInfo& frame, Flow& flow, double now);
  bool MayBegin(double now);
  bool Happens(double share);
  bool Dead(double now) const;
  bool Sick(const FrameInfo& frame, double now);
  double PlaceOfBusiest(double now) const;
  bool Full(double rate_bit, double free_at, double now) const;
  // When it is through the link's rate, and its flow's; nothing: a queue is full.
  std::optional<double> Through(Flow& flow, double flow_rate_bit, size_t bytes, double now);

  Settings settings_;
  double since_ = 0;
  double free_at_ = 0;
  std::optional<double> sick_from_;  // where in [0, 1) the sick paths begin, once they are
  Random random_;
  std::unordered_map<uint64_t, Flow> flows_;
  size_t open_ = 0;
  double next_begin_ = 0;  // when a connection would begin if they came evenly
  Counts counts_;
};

}  // namespace tensorhub::netlab

#endif  // TENSORHUB_TOOLS_NETLAB_LINK_WAY_H_
