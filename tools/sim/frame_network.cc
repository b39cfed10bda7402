// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/frame_network.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace tensorhub::sim {

struct FrameNetwork::Frame {
  Path path;
  double bytes = 0;
  World::Action sent;
  World::Action arrived;
  size_t next_link = 0;
  Nanos end = 0;  // its last byte has left the link before
};

void FrameNetwork::Send(const Path& path, double bytes, World::Action sent, World::Action arrived) {
  Enter({path, bytes, std::move(sent), std::move(arrived)});
}

// A link that is faster than the one before is done with the frame no sooner, but has time for
// others meanwhile.
void FrameNetwork::Enter(Frame frame) {
  const LinkId id = frame.path.links[frame.next_link];
  if (links_.size() <= id) links_.resize(id + 1);
  Link& link = links_[id];
  link.bytes += frame.bytes;
  const Nanos begin = std::max(world_.now(), link.free_at);
  const double seconds = frame.bytes / world_.network().CapacityOf(id);
  link.free_at = begin + static_cast<Nanos>(std::ceil(seconds * 1e9));
  frame.end = std::max(frame.end, link.free_at);
  if (frame.next_link == 0 && frame.sent) world_.At(frame.end, std::move(frame.sent));
  if (++frame.next_link == frame.path.links.size()) {
    world_.At(frame.end + frame.path.latency, std::move(frame.arrived));
    return;
  }
  auto shared = std::make_shared<Frame>(std::move(frame));
  world_.At(begin, [this, shared] { Enter(std::move(*shared)); });
}

}  // namespace tensorhub::sim
