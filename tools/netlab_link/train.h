// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a device hands over in one piece: a frame, or many TCP segments behind one header, which the
// kernel would cut up last of all (segmentation offload). A link treats each segment by itself, and
// what stays together goes on together: to read and write each by itself takes a processor for
// 600 Mbit/s.

#ifndef TENSORHUB_TOOLS_NETLAB_LINK_TRAIN_H_
#define TENSORHUB_TOOLS_NETLAB_LINK_TRAIN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/netlab_link/packet.h"

namespace tensorhub::netlab {

// virtio_net_hdr, whose own header file is not C++.
struct OffloadHeader {
  uint8_t flags = 0;
  uint8_t kind = 0;
  uint16_t headers = 0;
  uint16_t segment_bytes = 0;
  uint16_t checksum_from = 0;
  uint16_t checksum_at = 0;
};

class Train {
 public:
  // `given` stays the caller's, for as long as this is used. Anything odd is one segment.
  explicit Train(Bytes given);

  // Empty if there is no frame.
  Bytes frame() const { return frame_; }
  size_t segments() const { return segments_; }
  // On the wire.
  size_t BytesOf(size_t segment) const;
  // These segments as a device takes them.
  std::vector<uint8_t> Cut(size_t first, size_t count) const;

  // A frame that is complete, as a device takes it.
  static std::vector<uint8_t> Whole(Bytes frame);

 private:
  size_t data() const { return frame_.size() - headers_; }

  OffloadHeader header_;
  Bytes frame_;
  Packet packet_;
  size_t headers_ = 0;
  size_t segment_bytes_ = 0;
  size_t segments_ = 1;
};

}  // namespace tensorhub::netlab

#endif  // TENSORHUB_TOOLS_NETLAB_LINK_TRAIN_H_
