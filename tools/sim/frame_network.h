// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The same links, frame by frame: each serves its frames one after the other, in the order in which
// they come, and passes a frame on from its first byte. For clusters that are small enough.

#ifndef TENSORHUB_TOOLS_SIM_FRAME_NETWORK_H_
#define TENSORHUB_TOOLS_SIM_FRAME_NETWORK_H_

#include <vector>

#include "tools/sim/world.h"

namespace tensorhub::sim {

class FrameNetwork {
 public:
  // The links of the world's network.
  explicit FrameNetwork(World& world) : world_(world) {}

  // `sent` when the last byte has left the sender, `arrived` when it has come. Frames of one path
  // arrive in order.
  void Send(const Path& path, double bytes, World::Action sent, World::Action arrived);
  double BytesThrough(LinkId link) const { return link < links_.size() ? links_[link].bytes : 0; }

 private:
  struct Link {
    Nanos free_at = 0;
    double bytes = 0;
  };
  struct Frame;
  void Enter(Frame frame);

  World& world_;
  std::vector<Link> links_;
};

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_FRAME_NETWORK_H_
