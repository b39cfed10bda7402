// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Nodes of plain sockets (relay_role.h), one per host of a laboratory, and what can be made of
// them: a single stream, a static chain, a star, a store.

#ifndef TENSORHUB_BENCH_RELAYS_H_
#define TENSORHUB_BENCH_RELAYS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/lab.h"
#include "tools/child/child.h"

namespace tensorhub::bench {

class Relays {
 public:
  // Who takes from whom, by the number of the host; host 0 has the block.
  struct Edge {
    size_t from = 0;
    size_t to = 0;
    bool is_store = false;  // `to` gives nothing before it has all
  };

  // On the laboratory's first `nodes` hosts.
  static absl::StatusOr<std::unique_ptr<Relays>> Start(const Lab& lab, size_t nodes,
                                                       uint64_t bytes);
  // Seconds from the source's start until the last node had all; every node's bytes are compared.
  absl::StatusOr<double> Run(const std::vector<Edge>& edges);

 private:
  Relays() = default;
  absl::Status Begin(size_t node, const std::vector<Edge>& edges);
  absl::Status Verify(const std::vector<Edge>& edges);

  std::vector<std::unique_ptr<Child>> nodes_;
  std::vector<std::string> addresses_;
};

// Seconds of one stream between two hosts.
absl::StatusOr<double> PlainStream(const Lab& lab, size_t from, size_t to, uint64_t bytes);

std::vector<Relays::Edge> StreamEdges(size_t from, size_t to);
std::vector<Relays::Edge> ChainEdges(size_t readers);
std::vector<Relays::Edge> FanoutEdges(size_t readers);
// Through host `readers` + 1.
std::vector<Relays::Edge> StoreEdges(size_t readers);

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_RELAYS_H_
