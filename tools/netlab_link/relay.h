// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A switch whose ports are far from each other: a port is a datacenter, or what is outside of all
// of them, and between any two of them is a link with two ways. It learns who is where, as any
// switch does. Frames wait here for their time.
//
// Thread contract: none; one thread, the only one of its program.

#ifndef TENSORHUB_TOOLS_NETLAB_LINK_RELAY_H_
#define TENSORHUB_TOOLS_NETLAB_LINK_RELAY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/netlab_link/frame.h"
#include "tools/netlab_link/settings.h"
#include "tools/netlab_link/tap.h"
#include "tools/netlab_link/train.h"
#include "tools/netlab_link/way.h"

namespace tensorhub::netlab {

class Relay {
 public:
  struct Port {
    std::string name;
    Tap tap;
  };
  explicit Relay(std::vector<Port> ports);

  // Takes in what the ports have to say, and gives out what is due. Returns whether there was
  // anything, and then there may be more.
  bool Turn(double now);
  // When the next frame is due.
  std::optional<double> Next() const;

  // "set FROM TO NAME=NUMBER…": what one way is like; "status": what the ways have carried, in
  // JSON. The answer to anything else, or to what cannot be, begins with "error ".
  std::string Order(const std::string& line, double now);

 private:
  struct Waiting {
    double due;
    uint64_t order;  // of frames that are due at once
    size_t port;
    std::vector<uint8_t> frame;  // as a device takes it
  };

  static bool Later(const Waiting& one, const Waiting& other);
  Way& way(size_t from, size_t to) { return ways_[from * ports_.size() + to]; }
  bool TakeIn(size_t port, double now);
  bool GiveOut(double now);
  void Switch(size_t from, const Train& train, double now);
  void Send(size_t from, size_t to, const FrameInfo& info, const Train& train, double now);
  void Reset(size_t from, size_t to, Bytes segment, double now);
  void Keep(double due, size_t port, std::vector<uint8_t> frame);
  std::optional<size_t> PortNamed(std::string_view name) const;
  std::string Set(const std::vector<std::string>& words, double now);
  std::string Status();

  std::vector<Port> ports_;
  std::vector<Way> ways_;
  std::unordered_map<uint64_t, size_t> homes_;  // of hardware addresses
  std::vector<Waiting> waiting_;                // a heap
  size_t waiting_bytes_ = 0;
  uint64_t order_ = 0;
  std::vector<uint8_t> room_;
};

}  // namespace tensorhub::netlab

#endif  // TENSORHUB_TOOLS_NETLAB_LINK_RELAY_H_
