// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a link sees of an Ethernet frame, and what a box on the way says to the two ends of a TCP
// connection that it has forgotten. A frame of any content may be given.

#ifndef TENSORHUB_TOOLS_NETLAB_LINK_FRAME_H_
#define TENSORHUB_TOOLS_NETLAB_LINK_FRAME_H_

#include <cstdint>
#include <vector>

#include "tools/netlab_link/packet.h"

namespace tensorhub::netlab {

struct FrameInfo {
  // ARP and IPv6's neighbour discovery. In the field a router answers, at the near end of the link.
  bool neighbours = false;
  // A hash of addresses, protocol and ports, as they are in this direction. Frames that are not IP
  // are one flow.
  uint64_t flow = 0;
  bool tcp = false;
  bool begins = false;  // a SYN
  bool asks = false;    // one that nobody has answered
  bool ends = false;    // a FIN or RST
  bool resets = false;  // a RST
};

FrameInfo Look(Bytes frame);

// Resets of a TCP segment's connection, for whoever gets the segment and for whoever sent it. They
// are empty for anything else, and for a segment that acknowledges nothing, whose sender would not
// believe it.
std::vector<uint8_t> ResetForReceiver(Bytes segment);
std::vector<uint8_t> ResetForSender(Bytes segment);

}  // namespace tensorhub::netlab

#endif  // TENSORHUB_TOOLS_NETLAB_LINK_FRAME_H_
