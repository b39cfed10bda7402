// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A network device whose wire ends in this program. Frames have an OffloadHeader in front
// (train.h).

#ifndef TENSORHUB_TOOLS_NETLAB_LINK_TAP_H_
#define TENSORHUB_TOOLS_NETLAB_LINK_TAP_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace tensorhub::netlab {

class Tap {
 public:
  // In this process' network namespace, which has none of that name. It goes with the Tap.
  static absl::StatusOr<Tap> Make(const std::string& name);
  ~Tap();
  Tap(Tap&& other) noexcept;
  Tap& operator=(Tap&&) = delete;

  int fd() const { return fd_; }
  // The bytes of the next frame, as far as they fit; 0: there is none.
  size_t Read(std::span<uint8_t> room);
  // A frame that the kernel does not take is lost, as on any wire.
  void Write(std::span<const uint8_t> frame);

 private:
  explicit Tap(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace tensorhub::netlab

#endif  // TENSORHUB_TOOLS_NETLAB_LINK_TAP_H_
